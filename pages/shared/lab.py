"""The lab's picture as a Streamlit component: switches, and every head before, after and the difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.shared.compared import Compared
from pages.shared.explorer import bounded
from pages.shared.state import State, keep
from transformer.interventions import InterventionError, Interventions
from transformer.pretrained import Pretrained
from transformer.trace import Trace
from transformer.view.bundle import script, style
from transformer.view.pack import feed_pack, full_pack
from transformer.view.state import View, view_from_browser

KEY = "lab"
PACKS = "lab_packs"  # name of what was packed last, side by side -> bytes

_picture = st.components.v2.component("headscope.lab", js=script("lab.js"), css=style("lab.css"))
_before = st.components.v2.component("headscope.lab_before", js=script("feed.js"))
_after = st.components.v2.component("headscope.lab_after", js=script("feed.js"))
_feed_before = st.components.v2.component("headscope.lab_feed_before", js=script("feed.js"))
_feed_after = st.components.v2.component("headscope.lab_feed_after", js=script("feed.js"))


def merge_browser(state: State, model: Pretrained) -> State:
    """The state after what a person did in the lab since the last run; what does not fit is left as it was."""
    reported = st.session_state.get(KEY)
    values = reported.get("lab") if reported is not None else None
    if not isinstance(values, Mapping) or values.get("revision") != state.revision:
        return state  # older than what Python changed since
    config = model.config
    layers = {"encoder_self": config.encoder_layers} | dict.fromkeys(("decoder_self", "cross"), config.decoder_layers)
    chosen = {name: values[name] for name in ("kind", "layer", "head") if name in values}
    view = view_from_browser(chosen, layers, config.heads, state.view)
    switches = state.switches
    asked = values.get("switches")
    if isinstance(asked, Mapping) and all(isinstance(text, str) for pair in asked.items() for text in pair):
        try:
            switches = Interventions.parse(asked)
            switches.check(config)
        except InterventionError:
            switches = state.switches
    return replace(state, view=view, switches=switches)


def _packed(side: str, trace: Trace, name: tuple[Any, ...], view: View, more: dict[str, Any]) -> bytes:
    """The pack of one side, made once a trace and once a change by Python."""
    kept: dict[str, tuple[tuple[Any, ...], bytes]] = st.session_state.setdefault(PACKS, {})
    if side not in kept or kept[side][0] != name:
        kept[side] = (name, full_pack(trace, view, revision=name[-1], more=more))
    return kept[side][1]


def draw(state: State, compared: Compared) -> State:
    """The picture. What is sent again after a switch is the side after it and two heads' exact numbers."""
    before, after = compared.before, compared.after
    state = keep(bounded(state, before))
    shown = replace(View(), kind=state.view.kind, layer=state.view.layer, head=state.view.head, rows=state.view.rows,
                    pieces=state.view.pieces, summary=state.view.summary, big=state.view.big)  # fmt: skip
    revision = state.revision
    about = {"base": before.id, "trained_scale": compared.model.config.scale}
    asked = {**about, "switches": state.switches.to_params()}
    done = {**about, "switches": compared.interventions.to_params()}
    first = _packed("before", before, (before.id, revision), shown, asked)
    second = _packed("after", after, (before.id, after.id, revision), shown, done)
    _picture(key=KEY, on_lab_change=lambda: None)
    with st.container(key="hs-feeds"):
        _before(key="lab_before", data=first, height=1)
        _after(key="lab_after", data=second, height=1)
        number = shown if shown.kind != "all" else replace(shown, kind="cross")
        _feed_before(key="lab_feed_before", data=feed_pack(before, number), height=1)
        _feed_after(key="lab_feed_after", data=feed_pack(after, number), height=1)
    return state
