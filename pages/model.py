"""The checkpoint on the bench: how big, how good, trained on what, under which licence."""

import html

import streamlit as st

from pages.shared import card, own
from pages.shared.begin import begin
from pages.shared.state import write_address
from pages.shared.texts import _

begun = begin(_("Model"))
write_address(begun.state)
card.sizes(begun.model)
card.architecture(begun.model)
own.download(begun.model.name)
left, right = st.columns(2, gap="large")
with left:
    st.html(f'<h2 class="hs-tr-title">{html.escape(_("Training"))}</h2>')
    card.curve(begun.model)
with right:
    card.card(begun.model)
