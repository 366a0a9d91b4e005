"""The attention view as a Streamlit component, and the exact numbers that follow it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.frame.state import State, current, keep
from pages.heads import formation
from transformer.inference.pretrained import Pretrained
from transformer.tracing.trace import Trace
from transformer.view.bundle import script, style
from transformer.view.pack import feed_pack, full_pack
from transformer.view.state import fit_cell, view_from_browser

KEY = "explorer"
PACK = "explorer_pack"

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
    return keep(replace(state, view=replace(view, big=state.view.big)))  # big is Python's own


def bounded(state: State, trace: Trace) -> State:
    """The same state, its chosen cell forgotten where the picture has none such."""
    rows = len(trace.source_tokens if state.view.kind == "encoder_self" else trace.target_in)
    columns = len(trace.target_in if state.view.kind == "decoder_self" else trace.source_tokens)
    return replace(state, view=fit_cell(state.view, rows, columns))


def forget() -> None:
    """A run without the picture: what is mounted next knows nothing of what was chosen since it was packed."""
    state = current()
    if st.session_state.pop(PACK, None) is not None and state is not None:
        keep(replace(state, revision=state.revision + 1))


def renewed(state: State) -> State:
    """The state with a new revision if Python changed something that the browser is to take over."""
    return keep(replace(state, renew=False, revision=state.revision + 1)) if state.renew else state


def draw(state: State, trace: Trace, model: Pretrained) -> State:
    """The picture of a trace, below the slider over the model's training where that is open.

    The pack is made once a trace and once a change by Python: what a person does in the picture stays in the browser,
    only the chosen head's exact numbers travel. A component's script and styles (140 KB) are sent again whenever its
    data changed. The picture's component therefore has none, so that Streamlit sends it to a browser once; the data
    comes through two small components."""
    state = keep(bounded(renewed(merge_browser(state, trace)), trace))
    state = formation.draw(state, trace, model)
    name = (trace.id, state.revision)
    kept = st.session_state.get(PACK)
    if kept is None or kept[0] != name:
        more = {"recorded": formation.available(model)}
        kept = (name, full_pack(trace, state.view, revision=state.revision, more=more))
        st.session_state[PACK] = kept
    _picture(key=KEY, on_view_change=lambda: None, on_formation_change=formation.toggle)
    with st.container(key="hs-feeds"):
        _pack(key="explorer_picture", data=kept[1], height=1)
        _feed(key="explorer_feed", data=feed_pack(trace, state.view), height=1)
    return state
