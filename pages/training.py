"""Training: a Transformer learns in front of the class, and the same with one part of the paper taken away."""

import streamlit as st

from pages.shared import live, training, training_form
from pages.shared.begin import begin
from pages.shared.options import Options
from pages.shared.texts import _

begun = begin(_("Training"), "training")
options = Options(begun, "training", figures=False)
chosen = training_form.form(options)
with chosen.place:
    training.begin_buttons(chosen)
live.draw()
training.load_file()
options.finish(examples=False)
with st.expander(_("What am I looking at?")):
    training.about()
