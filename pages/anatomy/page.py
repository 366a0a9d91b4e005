"""Anatomy: one sentence through the whole model, what its layers cost, and what attention was before it."""

import streamlit as st

from pages.anatomy import complexity, drawing, rnn
from pages.components import figure
from pages.components.comparison import waiting
from pages.frame import sentence
from pages.frame.frame import begin
from pages.frame.options import Options
from pages.runtime.texts import _

begun = begin(_("Anatomy"), "anatomy")
options = Options(begun, "anatomy", figures=False)
sentence.fields(begun)
part = options.parts({"flow": _("The drawing"), "compare": _("How it compares"), "before": _("Before the Transformer")})
trace = sentence.traced(begun, look=False)
if part == "flow" and trace is not None:
    drawing.draw(begun, options, trace)
else:
    drawing.forget()
if part != "flow":
    waiting(begun.state.switches)
    figure.prepare()
if part == "compare" and trace is not None:
    complexity.draw(begun, options, trace)
elif part == "before":
    rnn.draw(begun, options, trace)
options.finish()
if part == "flow":
    with st.expander(_("What am I looking at?")):
        drawing.about(begun.model.config)
