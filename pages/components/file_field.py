"""A file from a visitor's machine, through a component of ours: Streamlit's own address for uploads stays closed."""

from collections.abc import Callable

import streamlit as st

from pages.components.live_picture import for_browser
from transformer.view.bundle import script, style

_field = st.components.v2.component("headscope.training_file", js=script("training_file"), css=style("training"))


def file_field(key: str, label: str, accept: str, loaded: Callable[[], None]) -> None:
    """Draw a button that loads a file. key: unique in the app; accept: ending of files; loaded: callback, for which the
    session's value for `key` has under "file" what `read_file` reads."""
    _field(key=key, data={"label": label, "accept": accept, **for_browser("training_file")}, on_file_change=loaded)
