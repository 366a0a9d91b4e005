"""Training: a Transformer learns in front of the class, and the same with one part of the paper taken away."""

import streamlit as st

from pages.frame.frame import begin
from pages.frame.options import Options
from pages.runtime.texts import _
from pages.training import controls, form, live

begun = begin(_("Training"), "training")
options = Options(begun, "training", figures=False)
chosen = form.form(options)
with chosen.place:
    controls.begin_buttons(chosen)
live.draw()
controls.load_file()
options.finish(examples=False)
with st.expander(_("What am I looking at?")):
    controls.about()
