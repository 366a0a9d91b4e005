"""The engine: the browser computes the model itself, and draws while one types.

It loads after the first picture; until then, and for models without graphs, the server computes. Once it is there,
Python learns of a new sentence after a pause, and pages that need no numbers of their own run without a pass
(`PageFrame.live`).
"""

import streamlit as st

from pages.frame.state import State, max_characters, max_tokens
from pages.runtime.engine_files import has_graphs
from pages.runtime.session import reported
from transformer.view.bundle import script

KEY = "live"
PAUSE = "400ms"  # from the last key until the server gets what was typed

_live = st.components.v2.component("headscope.live", js=script("live"))


def engine_model() -> str:
    """The model that this viewer's browser computes now; "" for none."""
    found = reported(KEY, "engine")
    return found if isinstance(found, str) else ""


def draw(state: State, quiet: bool) -> None:
    """Tell the browser what to compute. quiet: the fields ask for no run after each pause; this component asks for one
    where the server has something to say of the text."""
    texts = {"source": state.source, "target": state.target}
    if max(map(len, texts.values())) > max_characters():  # the page refuses it, and need not send it back
        texts = dict.fromkeys(texts, "")
    data = {
        "model": state.checkpoint if has_graphs(state.checkpoint) else "",
        "quiet": quiet,
        "sentence": texts,
        "switches": state.switches.to_params(),
        "limit": max_tokens(),
    }
    with st.container(key="hs-feeds-live"):
        _live(key=KEY, data=data, height=1, on_engine_change=lambda: None, on_typed_change=lambda: None)
