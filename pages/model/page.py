"""The checkpoint: its size, quality, training and licence."""

from __future__ import annotations

import streamlit as st

from pages.components.sentences import paragraph, point
from pages.components.translation import table
from pages.frame.frame import Content, PageFrame
from pages.model import card
from transformer.texts import _


def draw(frame: PageFrame) -> None:
    model = frame.model
    point(card.summary(model))
    text = card.card(model)
    lead = card.lead(text)
    if lead:
        st.markdown(card.tamed(lead))
    paragraph(card.quality(model))
    card.heads_left_out(frame.state.checkpoint, model)
    card.notes(model)
    card.download(model.name)
    with frame.options.panel("numbers", _("Sizes and scores beside the paper's")):
        st.html(table(("", model.name, _("the paper's base")), card.sizes(model), "hs-model-sizes"))
        card.comparable(model)
        card.architecture(model)
        card.signature(model)
    card.curve(model)
    if text:
        with frame.options.panel("card", _("Model card")):
            st.markdown(card.tamed(text.replace(lead, "", 1)))


CONTENT = Content(draw, sentence=False)
