"""The attention view as a Streamlit component, and the exact numbers that follow it."""

from dataclasses import replace
from typing import Any

import streamlit as st

from pages.components.payloads import bounded, payload, renewed
from pages.frame.state import State, store_state
from pages.heads import formation
from pages.runtime.session import reported_since
from pages.runtime.shared import shared
from transformer.analysis.heads import alignment_from_json
from transformer.checkpoints.folder import HEADS, LARGEST_BESIDE
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import layers_of
from transformer.tracing.trace import KINDS, Trace
from transformer.view.bundle import script, style
from transformer.view.pack import feed_pack, full_pack, has_meanings, light_pack, uncausal_wording
from transformer.view.state import view_from_browser

KEY = "explorer"

_picture = st.components.v2.component("headscope.explorer", js=script("explorer"), css=style("explorer"))
_pack = st.components.v2.component("headscope.pack", js=script("feed"))
_feed = st.components.v2.component("headscope.feed", js=script("feed"))


def merge_browser(state: State, model: Pretrained) -> State:
    """The state after a person's actions in the view since the last run."""
    values = reported_since(state.revision, KEY, "view")
    if not values:
        return state
    layers = {kind: layers_of(model.config, kind) for kind in KINDS}
    asked = {name: value for name, value in values.items() if name != "revision"}
    view = view_from_browser(asked, layers, model.config.heads, state.view)
    return store_state(replace(state, view=replace(view, big=state.view.big)))  # only Python changes big


@shared()
def alignment(model: Pretrained) -> dict[str, Any] | None:
    """How well every head of the cross-attention aligns words, if it was measured for this checkpoint."""
    try:
        data = model.beside(HEADS, LARGEST_BESIDE[HEADS])
    except OSError:
        return None
    return alignment_from_json(data, model.config.decoder_layers, model.config.heads) if data else None


def _pack_of(state: State, trace: Trace | None, model: Pretrained) -> bytes:
    more: dict[str, Any] = {"recorded": formation.available(model), "alignment": alignment(model)}
    if trace is None:
        more["wording"] = {} if model.config.causal else uncausal_wording()
        more["meanings"] = "asked" if any(map(has_meanings, model.languages)) else None
        return light_pack(model.name, state.view, state.revision, more)
    return full_pack(trace, state.view, revision=state.revision, more={**more, "live": not server_only(state)})


def server_only(state: State) -> bool:
    """Whether the picture shows what the engine in the browser does not know: a recorded training, or meanings."""
    return state.view.training is not None or state.view.meanings == "on"


def draw(state: State, trace: Trace | None, model: Pretrained) -> State:
    """The picture of a trace, below the training slider where that is open; None: the browser computes it itself.

    The data is packed once per trace and once per change by Python: a person's actions stay in the browser, and only
    the exact numbers of the chosen head travel. Streamlit sends a component's script and styles (140 KB) again whenever
    its data changes. So the picture's component has no data and is sent once; the data comes through two small
    components.
    """
    state = renewed(merge_browser(state, model))
    if trace is not None:
        state = formation.draw(store_state(bounded(state, trace)), trace, model)
    name = (trace.id if trace is not None else model.name, state.revision)
    data = payload(KEY, "pack", name, lambda: _pack_of(state, trace, model))
    _picture(key=KEY, on_view_change=lambda: None, on_formation_change=formation.toggle)
    with st.container(key="hs-feeds"):
        _pack(key="explorer_picture", data=data, height=1)
        if trace is not None:
            _feed(key="explorer_feed", data=feed_pack(trace, state.view), height=1)
    return state
