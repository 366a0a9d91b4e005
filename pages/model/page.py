"""The checkpoint: its size, quality, training and licence."""

import streamlit as st

from pages.components.sentences import paragraph, point
from pages.components.translation import table
from pages.frame.examples import examples
from pages.frame.frame import Content, PageFrame
from pages.model import card
from transformer.texts import _


def draw(frame: PageFrame) -> None:
    model = frame.model
    point(card.summary(model))
    text = card.card(model)
    _example(frame)
    lead = card.lead(text)
    if lead:
        st.markdown(card.tamed(lead))
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


def _example(frame: PageFrame) -> None:
    """What the model writes, and the way to see how."""
    found = next((example for example in examples(frame.model) if example.translation and not example.target), None)
    if found is not None:
        with st.container(key="hs-model-example"):
            paragraph(_("{source} → {target}", source=found.source, target=found.translation))
            st.page_link(
                frame.link_to("heads"), label=_("See how it wrote this →"), query_params={"source": found.source}
            )


CONTENT = Content(draw, sentence=False)
