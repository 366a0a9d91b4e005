"""The lab's picture as a Streamlit component: switches, and every head before, after and the difference."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.components import translation
from pages.components.comparison import Compared, waiting
from pages.components.descriptions import placed
from pages.frame.frame import Begun, message
from pages.frame.state import PARTS, State, change, current, keep
from pages.heads.explorer import bounded, renewed
from pages.runtime import cache
from pages.runtime.texts import _
from transformer.analysis.tokens import is_special
from transformer.inference.pretrained import InputError, Pretrained
from transformer.interventions.sets import (
    ATTENTION,
    NONE,
    InterventionError,
    Interventions,
    Where,
    layers_of,
    silent_layers,
)
from transformer.text.tokenizer import PIECE_MARK
from transformer.tracing.trace import KINDS, Trace
from transformer.view.bundle import script, style
from transformer.view.pack import feed_pack, full_pack
from transformer.view.state import View, view_from_browser

KEY = "lab"
PART = "lab_part"
PACKS = "lab_packs"  # name of what was packed last, side by side -> bytes

_picture = st.components.v2.component("headscope.lab", js=script("lab.js"), css=style("explorer.css", "lab.css"))
_before = st.components.v2.component("headscope.lab_before", js=script("feed.js"))
_after = st.components.v2.component("headscope.lab_after", js=script("feed.js"))
_feed_before = st.components.v2.component("headscope.lab_feed_before", js=script("feed.js"))
_feed_after = st.components.v2.component("headscope.lab_feed_after", js=script("feed.js"))


def merge_browser(state: State, model: Pretrained, sorts: tuple[type, ...] = ATTENTION) -> State:
    """The state after what a person did in the lab since the last run; what does not fit is left as it was.

    sorts: of switches that the picture's own cards change.
    """
    reported = st.session_state.get(KEY)
    values = reported.get("lab") if reported is not None else None
    if not isinstance(values, Mapping) or values.get("revision") != state.revision:
        return state  # older than what Python changed since
    config = model.config
    layers = {kind: layers_of(config, kind) for kind in KINDS}
    chosen = {name: values[name] for name in ("kind", "layer", "head") if name in values}
    view = view_from_browser(chosen, layers, config.heads, state.view)
    switches = state.switches
    asked = values.get("switches")
    if sorts and isinstance(asked, Mapping) and all(isinstance(text, str) for pair in asked.items() for text in pair):
        try:
            switches = Interventions.parse(asked).only(*sorts) + state.switches.without(*sorts)
            switches.check(config)
        except InterventionError:
            switches = state.switches
    return keep(replace(state, view=view, switches=switches))  # at once: a click elsewhere may end this run


def _packed(side: str, trace: Trace, name: tuple[Any, ...], view: View, more: dict[str, Any]) -> bytes:
    """The pack of one side, made once a trace and once a change by Python."""
    kept: dict[str, tuple[tuple[Any, ...], bytes]] = st.session_state.setdefault(PACKS, {})
    if side not in kept or kept[side][0] != name:
        kept[side] = (name, full_pack(trace, view, revision=name[-1], more=more))
    return kept[side][1]


def forget() -> None:
    """A run without the picture: whatever is mounted next knows nothing of what was switched since it was packed."""
    state = current()
    if st.session_state.pop(PACKS, None) is not None and state is not None:
        keep(replace(state, revision=state.revision + 1))


def switchable(state: State) -> bool:
    """Whether the switches reach the chosen part; if not, and some are set, a sentence says so."""
    if state.part in ("scaling", "softmax"):
        waiting(state.switches.only(*ATTENTION))
        return False
    return True


def draw(state: State, compared: Compared, cards: bool = True) -> State:
    """Switches and, in the first part, the pictures; without cards always the pictures, under switches of the page.

    What is sent again after a switch is the side after it and two heads' exact numbers."""
    before, after = compared.before, compared.after
    state = keep(bounded(renewed(state), before))
    shown = replace(View(), kind=state.view.kind, layer=state.view.layer, head=state.view.head, rows=state.view.rows,
                    pieces=state.view.pieces, summary=state.view.summary, big=state.view.big)  # fmt: skip
    revision = state.revision
    pictures = state.part == PARTS[0] or not cards
    d_k = before.cross.queries.shape[-1]
    about = {
        "base": before.id,
        "trained_scale": compared.model.config.scale,
        "d_k": d_k,
        "pictures": pictures,
        "cards": cards,
    }
    asked = {**about, "switches": state.switches.only(*ATTENTION).to_params()}
    done = {**about, "switches": compared.interventions.to_params()}
    first = _packed("before", before, (before.id, pictures, cards, revision), shown, asked)
    second = _packed("after", after, (before.id, after.id, pictures, cards, revision), shown, done)
    _picture(key=KEY, on_lab_change=lambda: None)
    with st.container(key="hs-feeds"):
        _before(key="lab_before", data=first, height=1)
        _after(key="lab_after", data=second, height=1)
        number = shown if shown.kind != "all" else replace(shown, kind="cross")
        _feed_before(key="lab_feed_before", data=feed_pack(before, number), height=1)
        _feed_after(key="lab_feed_after", data=feed_pack(after, number), height=1)
    return state


def say(place: st.delta_generator.DeltaGenerator, compared: Compared) -> None:
    """What the model writes by itself, without and with the switches, in one line each: drawn last, shown above."""
    source = compared.before.source_text
    try:
        found = [cache.translate(compared.model, source, one, compared.limit) for one in (NONE, compared.interventions)]
    except (InterventionError, InputError):
        return  # what can be traced need not be decodable; the section below says why
    words = [translation.words_of(one) for one in found]
    sides = []
    for name, said, marks in zip((_("It says"), _("Switched")), words, translation.apart(*words), strict=False):
        text = ""
        for word, marked in zip(said, marks, strict=True):
            if not is_special(word.pieces)[0]:
                shown = html.escape(word.text)
                text += " " * word.pieces[0].startswith(PIECE_MARK) + (f"<b>{shown}</b>" if marked else shown)
        name = html.escape(name)
        whole = html.escape(" ".join(word.text for word in said))
        sides.append(
            f'<p class="hs-says" title="{whole}"><small>{name}</small> <span dir="auto">{text.strip()}</span></p>'
        )
    place.html("".join(sides))


def explain(compared: Compared) -> None:
    """What a person may not expect of the model and the switches: a mask that is not there, layers whose every head is
    out."""
    if not compared.model.config.causal:
        message(
            _(
                "This model was trained without the causal mask: its decoder self-attention sees all tokens that are "
                "fed, later ones too (section 3.2.3), and the switch of that mask changes nothing."
            ),
            "note",
        )
    silent = silent_layers(compared.interventions.switches, compared.model.config)
    if silent:
        places = "; ".join(placed(Where(kind, layer)) for kind, layer in silent)
        sentence = (
            _(
                "Every head is out in {places}: there the sub-layer returns only the bias of W_O, and the residual "
                "connection carries x past it (section 3.1)."
            )
            if compared.model.config.residual
            else _(
                "Every head is out in {places}: there the sub-layer returns only the bias of W_O, and no residual "
                "connection carries x past it in this model (section 3.1 has one), so that nothing of x goes on."
            )
        )
        message(sentence.format(places=places), "note")


def _choose_part() -> None:
    change(part=st.session_state[PART])


def parts(begun: Begun) -> str:
    """The menu of the lab's parts; returns the one chosen."""
    state = begun.state
    labels = {
        "compare": _("Before and after"),
        "measures": _("Every head in numbers"),
        "leak": _("The leak"),
        "scaling": _("Why √dₖ"),
        "softmax": _("Softmax by hand"),
    }
    if begun.arrived or st.session_state.get(PART) != state.part:
        st.session_state[PART] = state.part
    st.segmented_control(
        _("Part of the lab"),
        PARTS,
        format_func=lambda part: labels[part],
        key=PART,
        on_change=_choose_part,
        required=True,
        label_visibility="collapsed",
    )
    return state.part


def pick(chosen: tuple[str, int, int] | list[Any] | None) -> None:
    """Show the pictures of the head that was chosen in the numbers."""
    state = current()
    if chosen is None or state is None:
        return
    kind, layer, head = chosen
    view = replace(state.view, kind=kind, layer=layer, head=head, cell=None)
    keep(replace(state, view=view, part=PARTS[0], revision=state.revision + 1))
    st.rerun()


def about() -> None:
    st.markdown(
        _(
            "**Before** is the model as it was trained, **after** is the same model with your switches, reading the "
            "same tokens, so that the two can be laid over each other; the **difference** is after minus before. "
            "What the switched model would write by itself stands above the pictures and below them."
        )
    )
    st.latex(
        r"\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right) V,"
        r"\qquad \mathrm{MultiHead} = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O"
    )
    st.markdown(
        _(
            "**Scaling** changes what QKᵀ is multiplied by. **Masks** put −∞ into M: the causal one where a key lies "
            "in the future, the padding one where it is <pad>. **Weights** exchanges what the softmax gave. A head "
            "that is **knocked out** puts zeros into the concatenation. Attention Is All You Need, sections 3.2.1 to "
            "3.2.3."
        )
    )
