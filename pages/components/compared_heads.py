"""Two passes as a Streamlit component: switches, and every head before, after and the difference."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from pages.components import translation
from pages.components.comparison import Compared
from pages.components.descriptions import heads_in_words
from pages.components.payloads import bounded, payload, renewed
from pages.frame.messages import message
from pages.frame.state import State, store_state
from pages.runtime import cache
from transformer.analysis.tokens import is_special
from transformer.inference.pretrained import InputError, Pretrained
from transformer.interventions.sets import (
    ATTENTION,
    NONE,
    InterventionError,
    Interventions,
    Where,
    forms,
    layers_of,
    silent_layers,
)
from transformer.text.tokenizer import PIECE_MARK
from transformer.texts import _, semicolon_list
from transformer.tracing.trace import KINDS
from transformer.view.bundle import script, style
from transformer.view.pack import feed_pack, full_pack
from transformer.view.state import View, view_from_browser

KEY = "lab"

_picture = st.components.v2.component("headscope.lab", js=script("lab"), css=style("lab"))
_before = st.components.v2.component("headscope.lab_before", js=script("feed"))
_after = st.components.v2.component("headscope.lab_after", js=script("feed"))
_feed_before = st.components.v2.component("headscope.lab_feed_before", js=script("feed"))
_feed_after = st.components.v2.component("headscope.lab_feed_after", js=script("feed"))


def merge_browser(state: State, model: Pretrained, switch_classes: tuple[type, ...] = ATTENTION) -> State:
    """The state after a person's actions in the lab since the last run; invalid values change nothing.

    switch_classes: the switches that the cards of the picture change.
    """
    reported = st.session_state.get(KEY)
    values = reported.get("lab") if reported is not None else None
    if not isinstance(values, Mapping) or values.get("revision") != state.revision:
        return state  # older than Python's last change
    config = model.config
    layers = {kind: layers_of(config, kind) for kind in KINDS}
    chosen = {name: values[name] for name in ("kind", "layer", "head") if name in values}
    view = view_from_browser(chosen, layers, config.heads, state.view)
    switches = state.switches
    asked = values.get("switches")
    if (
        switch_classes
        and isinstance(asked, Mapping)
        and all(isinstance(text, str) for pair in asked.items() for text in pair)
    ):
        try:
            switches = Interventions.parse(asked).only(*switch_classes) + state.switches.without(*switch_classes)
            switches.check(config)
        except InterventionError:
            switches = state.switches
    return store_state(
        replace(state, view=view, switches=switches)
    )  # stored now, because a click elsewhere may end this run


def draw(state: State, compared: Compared, cards: bool = True, pictures: bool = True) -> State:
    """Cards with the switches of attention, and pictures of every head; without cards where a page has its own
    switches.

    After a switch only the changed side and the exact numbers of two heads are sent again.
    """
    before, after = compared.before, compared.after
    state = store_state(bounded(renewed(state), before))
    shown = replace(View(), kind=state.view.kind, layer=state.view.layer, head=state.view.head, rows=state.view.rows,
                    pieces=state.view.pieces, summary=state.view.summary, big=state.view.big)  # fmt: skip
    revision = state.revision
    d_k = before.cross.queries.shape[-1]
    about = {
        "base": before.id,
        "trained_scale": compared.model.config.scale,
        "d_k": d_k,
        "pictures": pictures,
        "cards": cards,
        "forms": forms(),
    }
    asked = {**about, "switches": state.switches.only(*ATTENTION).to_params()}
    done = {**about, "switches": compared.interventions.to_params()}
    first = payload(
        KEY, "before", (before.id, pictures, cards, revision),
        lambda: full_pack(before, shown, revision=revision, more=asked, entry="lab"),
    )  # fmt: skip
    second = payload(
        KEY, "after", (before.id, after.id, pictures, cards, revision),
        lambda: full_pack(after, shown, revision=revision, more=done, entry="lab"),
    )  # fmt: skip
    _picture(key=KEY, on_lab_change=lambda: None)
    with st.container(key="hs-feeds"):
        _before(key="lab_before", data=first, height=1)
        _after(key="lab_after", data=second, height=1)
        cell_view = shown if shown.kind != "all" else replace(shown, kind="cross")
        _feed_before(key="lab_feed_before", data=feed_pack(before, cell_view), height=1)
        _feed_after(key="lab_feed_after", data=feed_pack(after, cell_view), height=1)
    return state


def draw_translations(container: st.delta_generator.DeltaGenerator, compared: Compared) -> None:
    """The model's translation without and with the switches, in one line each: drawn last, shown at the top."""
    source = compared.before.source_text
    try:
        translations = [
            cache.translate(compared.model, source, switches, compared.limit)
            for switches in (NONE, compared.interventions)
        ]
    except (InterventionError, InputError):
        return  # a pass that can be traced may not be decodable; the section below says why
    words = [translation.words_of(translated) for translated in translations]
    sides = []
    for name, side_words, marks in zip(
        (_("As trained"), _("Switched")), words, translation.apart(*words), strict=False
    ):
        text = ""
        for word, marked in zip(side_words, marks, strict=True):
            if not is_special(word.pieces)[0]:
                shown = html.escape(word.text)
                text += " " * word.pieces[0].startswith(PIECE_MARK) + (f"<b>{shown}</b>" if marked else shown)
        name = html.escape(name)
        whole = html.escape(" ".join(word.text for word in side_words))
        sides.append(
            f'<p class="hs-says" title="{whole}"><small>{name}</small> <span dir="auto">{text.strip()}</span></p>'
        )
    container.html("".join(sides))


def explain(compared: Compared) -> None:
    """Notes on what may surprise a person: a model without the causal mask, layers whose heads are all knocked out."""
    if not compared.model.config.causal:
        message(
            _(
                "This model was trained without the causal mask: its decoder self-attention sees all tokens that are "
                "fed, also later ones (section 3.2.3). The switch for this mask changes nothing here."
            ),
            "note",
        )
    silent = silent_layers(compared.interventions.switches, compared.model.config)
    if silent:
        layers = semicolon_list(heads_in_words(Where(kind, layer)) for kind, layer in silent)
        sentence = (
            _(
                "Every head is knocked out in {layers}. There the sub-layer returns only the bias of W_O, and the "
                "residual connection carries x past it (section 3.1)."
            )
            if compared.model.config.residual
            else _(
                "Every head is knocked out in {layers}. There the sub-layer returns only the bias of W_O. This model "
                "has no residual connection to carry x past it (section 3.1 has one), so nothing of x remains."
            )
        )
        message(sentence.format(layers=layers), "note")
