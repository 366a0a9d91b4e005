"""The checkpoint on the bench: how big, how good, trained on what, under which licence."""

import html

import streamlit as st

from pages.frame.frame import begin
from pages.frame.state import write_address
from pages.model import card
from pages.runtime import session_models
from pages.runtime.texts import _

begun = begin(_("Model"))
write_address(begun.state)
card.sizes(begun.model)
card.architecture(begun.model)
session_models.download(begun.model.name)
left, right = st.columns(2, gap="large")
with left:
    st.html(f'<h2 class="hs-tr-title">{html.escape(_("Training"))}</h2>')
    card.curve(begun.model)
with right:
    card.card(begun.model)
