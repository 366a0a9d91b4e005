"""The attention view as a Streamlit component, and the exact numbers that follow it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from pages.components.payloads import bounded, payload, renewed
from pages.frame.state import State, store_state
from pages.heads import formation
from transformer.analysis.heads import alignment_from_json
from transformer.checkpoints.folder import HEADS, LARGEST_BESIDE
from transformer.inference.pretrained import Pretrained
from transformer.tracing.trace import Trace
from transformer.view.bundle import script, style
from transformer.view.pack import feed_pack, full_pack
from transformer.view.state import view_from_browser

KEY = "explorer"

_picture = st.components.v2.component("headscope.explorer", js=script("explorer"), css=style("explorer"))
_pack = st.components.v2.component("headscope.pack", js=script("feed"))
_feed = st.components.v2.component("headscope.feed", js=script("feed"))


def sizes(trace: Trace) -> tuple[dict[str, int], int]:
    """Layers of every kind, and number of heads."""
    kinds = ("encoder_self", "decoder_self", "cross")
    return {kind: trace.attention(kind).layers for kind in kinds}, trace.cross.heads


def merge_browser(state: State, trace: Trace) -> State:
    """The state after a person's actions in the view since the last run."""
    reported = st.session_state.get(KEY)
    values = reported.get("view") if reported is not None else None
    if not isinstance(values, dict) or values.get("revision") != state.revision:
        return state  # older than Python's last change
    layers, heads = sizes(trace)
    view = view_from_browser({k: v for k, v in values.items() if k != "revision"}, layers, heads, state.view)
    return store_state(replace(state, view=replace(view, big=state.view.big)))  # only Python changes big


def alignment(model: Pretrained) -> dict[str, Any] | None:
    """How well every head of the cross-attention aligns words, if it was measured for this checkpoint."""
    try:
        data = model.beside(HEADS, LARGEST_BESIDE[HEADS])
    except OSError:
        return None
    return alignment_from_json(data, model.config.decoder_layers, model.config.heads) if data else None


def draw(state: State, trace: Trace, model: Pretrained) -> State:
    """The picture of a trace, below the training slider where that is open.

    The data is packed once per trace and once per change by Python: a person's actions stay in the browser, and only
    the exact numbers of the chosen head travel. Streamlit sends a component's script and styles (140 KB) again whenever
    its data changes. So the picture's component has no data and is sent once; the data comes through two small
    components.
    """
    state = store_state(bounded(renewed(merge_browser(state, trace)), trace))
    state = formation.draw(state, trace, model)

    def pack() -> bytes:
        more = {"recorded": formation.available(model), "alignment": alignment(model)}
        return full_pack(trace, state.view, revision=state.revision, more=more)

    data = payload(KEY, "pack", (trace.id, state.revision), pack)
    _picture(key=KEY, on_view_change=lambda: None, on_formation_change=formation.toggle)
    with st.container(key="hs-feeds"):
        _pack(key="explorer_picture", data=data, height=1)
        _feed(key="explorer_feed", data=feed_pack(trace, state.view), height=1)
    return state
