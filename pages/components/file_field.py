"""A file from a visitor's machine, through a component of ours: Streamlit's own address for uploads stays closed."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.frame.state import current_state
from transformer.view.bundle import script, style
from transformer.view.languages import browser_texts

_field = st.components.v2.component("headscope.training_file", js=script("training_file"), css=style("training"))


def file_field(key: str, label: str, accept: str, loaded: Callable[[], None]) -> None:
    """Draw a button that loads a file. key: unique in the app; accept: ending of files; loaded: callback, for which the
    session's value for `key` has under "file" what `read_file` reads."""
    state = current_state()
    big = state is not None and state.view.big
    data = {"label": label, "accept": accept, "big": big, "texts": browser_texts("training_file")}
    _field(key=key, data=data, on_file_change=loaded)
