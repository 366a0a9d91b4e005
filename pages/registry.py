"""The pages of the app, in the order of the header. Nothing else lists them."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages.runtime.texts import _


@dataclass(frozen=True)
class Page:
    """name: its folder, and its path in links; title: in the header and the browser's tab.

    The first page has an empty path."""

    name: str
    title: str
    first: bool = False

    @property
    def script(self) -> str:
        """The script that draws it, from the folder of app.py."""
        return f"pages/{self.name}/page.py"

    def streamlit_page(self) -> StreamlitPage:
        return st.Page(self.script, title=self.title, url_path=None if self.first else self.name, default=self.first)


def pages() -> tuple[Page, ...]:
    return (
        Page("heads", _("Heads"), first=True),
        Page("lab", _("Lab")),
        Page("positions", _("Positions")),
        Page("embeddings", _("Embeddings")),
        Page("feedforward", _("Feed-forward")),
        Page("anatomy", _("Anatomy")),
        Page("training", _("Training")),
        Page("model", _("Model")),
    )
