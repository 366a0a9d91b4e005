"""The checkpoint: its size, quality, training and licence."""

from __future__ import annotations

import html

import streamlit as st

from pages.frame.frame import Content, PageFrame
from pages.model import card
from transformer.texts import _


def draw(frame: PageFrame) -> None:
    card.sizes(frame.model)
    card.architecture(frame.model)
    card.download(frame.model.name)
    left, right = st.columns(2, gap="large")
    with left:
        st.html(f'<h2 class="hs-tr-title">{html.escape(_("Training"))}</h2>')
        card.curve(frame.model)
    with right:
        card.card(frame.model)


CONTENT = Content(draw, sentence=False, menus=False)
