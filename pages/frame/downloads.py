"""Downloads that need the server."""

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.frame.menus import open_menu
from pages.frame.state import State
from transformer.texts import _
from transformer.tracing.export import npz
from transformer.tracing.trace import Trace
from transformer.view.page import html_page


def download_menu(header: DeltaGenerator, trace: Callable[[], Trace], state: State) -> None:
    """The menu of downloads; files, and the trace if the browser computed it, are made when a person asks for them."""
    menu = open_menu(header, _("Download"), "hs-download")
    if menu is None:
        return
    with menu:
        st.download_button(
            _("This picture as an HTML page"),
            lambda: html_page(trace(), state.view),
            "headscope.html",
            "text/html",
            on_click="ignore",
            help=_("One file that works offline: hover, click, and every head's exact numbers."),
            width="stretch",
        )
        st.download_button(
            _("The whole trace (.npz)"),
            lambda: npz(trace()),
            "headscope-trace.npz",
            "application/octet-stream",
            on_click="ignore",
            help=_("Every tensor of the pass as a NumPy array; index.json describes them."),
            width="stretch",
        )
        if state.view.training is not None:
            st.caption(_("Page and trace show the trained model, not the training state on the screen."))
        st.caption(_("To save what you see as PNG, SVG or CSV, use Save beside the colour scale."))
