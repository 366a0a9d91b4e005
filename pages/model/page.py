"""The checkpoint: its size, quality, training and licence."""

from __future__ import annotations

import streamlit as st

from pages.components.sentences import point
from pages.components.translation import table
from pages.frame.frame import Content, PageFrame
from pages.model import card
from transformer.texts import _


def draw(frame: PageFrame) -> None:
    model = frame.model
    point(card.summary(model))
    left, right = st.columns(2, gap="large")
    with left:
        st.html(table(("", model.name, _("the paper's base")), card.sizes(model), "hs-model-sizes"))
        card.comparable(model)
        card.architecture(model)
        card.heads_left_out(frame.state.checkpoint, model)
        card.download(model.name)
    with right:
        card.curve(model)
    card.card(model)
    card.signature(model)


CONTENT = Content(draw, sentence=False)
