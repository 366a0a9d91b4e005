"""Two passes as a Streamlit component: switches, and every head before, after and the difference."""

import html
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import streamlit as st

from pages.components import translation
from pages.components.comparison import Compared
from pages.components.descriptions import in_words
from pages.components.payloads import bounded, payload, renewed
from pages.frame.options import Options
from pages.frame.state import State, store_state
from pages.runtime import cache
from pages.runtime.session import reported_since
from transformer.analysis.tokens import is_special
from transformer.inference.pretrained import InputError, Pretrained
from transformer.interventions.sets import (
    ATTENTION,
    NONE,
    InterventionError,
    Interventions,
    layers_of,
)
from transformer.text.tokenizer import PIECE_MARK
from transformer.texts import _
from transformer.tracing.trace import KINDS
from transformer.view.bundle import script, style
from transformer.view.pack import Writer, feed_pack, full_pack
from transformer.view.state import View, view_from_browser

KEY = "lab"
PANES = ("after", "before", "difference")
OPTIONS = ("pane", "row")

_picture = st.components.v2.component("headscope.lab", js=script("lab"), css=style("lab"))
_before = st.components.v2.component("headscope.lab_before", js=script("feed"))
_after = st.components.v2.component("headscope.lab_after", js=script("feed"))
_says = st.components.v2.component("headscope.lab_says", js=script("feed"))
_feed_before = st.components.v2.component("headscope.lab_feed_before", js=script("feed"))
_feed_after = st.components.v2.component("headscope.lab_feed_after", js=script("feed"))


def report(state: State) -> Mapping[str, Any]:
    """What the browser reported last; empty if that is older than Python's last change."""
    return reported_since(state.revision, KEY, "lab")


def merge_browser(
    state: State, model: Pretrained, switch_classes: tuple[type, ...] = ATTENTION, shown: Interventions = NONE
) -> State:
    """The state after a person's actions in the lab since the last run; invalid values change nothing.

    switch_classes: the switches that the cards of the picture change. shown: the switches that the page shows while
    none is set; they are not set by being reported.
    """
    values = report(state)
    if not values:
        return state
    config = model.config
    layers = {kind: layers_of(config, kind) for kind in KINDS}
    chosen = {name: values[name] for name in ("kind", "layer", "head") if name in values}
    view = view_from_browser(chosen, layers, config.heads, state.view)
    switches = state.switches
    asked = values.get("switches")
    unchanged = asked == shown.to_params() and not state.switches.only(*switch_classes)
    if (
        switch_classes
        and not unchanged
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


@dataclass(frozen=True)
class Layout:
    """What the picture shows besides heads.

    tries: buttons that switch one part of attention off each, and the sentence computed from the numbers. cards: every
    switch; without them a page has its own switches. opened: whether the cards are unfolded. pictures: of the heads.
    row: number of the row whose scores and weights are shown, from 1; 0: the one that changes most. pane: which of
    PANES a narrow screen shows; a wide one shows "before" and one of the others.
    """

    tries: bool = True
    cards: bool = True
    opened: bool = False
    pictures: bool = True
    row: int = 0
    pane: str = PANES[0]


def choices(values: Mapping[str, Any], options: Options, compared: Compared, kind: str) -> tuple[int, str]:
    """The row and the pane of a Layout: what the browser reported, or what the link asks for."""
    if values.get("pane") in PANES:
        options.report("pane", values["pane"], PANES[0])
    if type(values.get("row")) in (int, float):
        options.report("row", int(values["row"]), 0)
    rows = compared.before.attention("cross" if kind == "all" else kind).mask.shape[-2]
    return options.value("row", 0, rows, 0), str(options.choice("pane", PANES, PANES[0]))


def draw(state: State, compared: Compared, layout: Layout, asked: Interventions = NONE) -> State:
    """Switches of attention, and pictures of every head and of one row. asked: the switches that the cards show.

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
        "residual": compared.model.config.residual,
        "d_k": d_k,
        **asdict(layout),
        "pads": compared.interventions.pads,
        "in_words": in_words(compared.interventions, compared.model.config),
    }
    wanted = {**about, "switches": asked.to_params()}
    done = {**about, "switches": compared.interventions.to_params()}
    first = payload(
        KEY, "before", (before.id, layout.tries, layout.cards, layout.pictures, revision),
        lambda: full_pack(before, shown, revision=revision, more=wanted, entry="lab"),
    )  # fmt: skip
    second = payload(
        KEY, "after", (before.id, after.id, layout.tries, layout.cards, layout.pictures, revision),
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


def _translations(compared: Compared) -> dict[str, list[tuple[str, bool]]]:
    """The model's translation "before" and "after": pieces of text, and whether they differ. Empty if the model cannot
    decode with the switches, which another part of the page says."""
    source = compared.before.source_text
    try:
        translations = [
            cache.translate(compared.model, source, switches, compared.limit)
            for switches in (NONE, compared.interventions)
        ]
    except (InterventionError, InputError):
        return {}
    words = [translation.words_of(translated) for translated in translations]
    return {
        side: [
            (" " * word.pieces[0].startswith(PIECE_MARK) + word.text, marked)
            for word, marked in zip(side_words, marks, strict=True)
            if not is_special(word.pieces)[0]
        ]
        for side, side_words, marks in zip(("before", "after"), words, translation.apart(*words), strict=True)
    }


def send_translations(compared: Compared) -> None:
    """Both translations for the picture, drawn last because they take longest."""
    says = {"format": 1, "id": compared.after.id, "exact": [], "says": _translations(compared)}
    with st.container(key="hs-feeds-says"):
        _says(key="lab_says", data=Writer().finish(says), height=1)


def draw_translations(container: st.delta_generator.DeltaGenerator, compared: Compared) -> None:
    """The model's translation without and with the switches: drawn last, shown at the top."""
    names = {"before": _("As trained"), "after": _("With the switches")}
    sides = []
    for side, pieces in _translations(compared).items():
        shown = "".join(
            f"<b>{html.escape(text)}</b>" if marked else html.escape(text) for text, marked in pieces
        ).strip()
        sides.append(
            f'<p class="hs-says"><small>{html.escape(names[side])}</small> <span dir="auto">{shown}</span></p>'
        )
    container.html("".join(sides))
