"""The attention view as a Streamlit component, and the exact numbers that follow it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.components.payloads import bounded, payload, renewed
from pages.frame.state import State, store_state
from pages.heads import formation
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
    """Layers of every kind, and heads."""
    kinds = ("encoder_self", "decoder_self", "cross")
    return {kind: trace.attention(kind).layers for kind in kinds}, trace.cross.heads


def merge_browser(state: State, trace: Trace) -> State:
    """The state after what a person did in the view since the last run."""
    reported = st.session_state.get(KEY)
    values = reported.get("view") if reported is not None else None
    if not isinstance(values, dict) or values.get("revision") != state.revision:
        return state  # older than what Python changed since
    layers, heads = sizes(trace)
    view = view_from_browser({k: v for k, v in values.items() if k != "revision"}, layers, heads, state.view)
    return store_state(replace(state, view=replace(view, big=state.view.big)))  # big is Python's own


def draw(state: State, trace: Trace, model: Pretrained) -> State:
    """The picture of a trace, below the slider over the model's training where that is open.

    The pack is made once a trace and once a change by Python: what a person does in the picture stays in the browser,
    only the chosen head's exact numbers travel. A component's script and styles (140 KB) are sent again whenever its
    data changed. The picture's component therefore has none, so that Streamlit sends it to a browser once; the data
    comes through two small components."""
    state = store_state(bounded(renewed(merge_browser(state, trace)), trace))
    state = formation.draw(state, trace, model)
    more = {"recorded": formation.available(model)}
    data = payload(
        KEY, "pack", (trace.id, state.revision),
        lambda: full_pack(trace, state.view, revision=state.revision, more=more),
    )  # fmt: skip
    _picture(key=KEY, on_view_change=lambda: None, on_formation_change=formation.toggle)
    with st.container(key="hs-feeds"):
        _pack(key="explorer_picture", data=data, height=1)
        _feed(key="explorer_feed", data=feed_pack(trace, state.view), height=1)
    return state
