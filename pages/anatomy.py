"""Anatomy: one sentence through the whole model, what its layers cost, and what attention was before it."""

import streamlit as st

from pages.shared import anatomy, before, complexity, figure, sentence
from pages.shared.begin import begin
from pages.shared.compared import waiting
from pages.shared.options import Options
from pages.shared.texts import _

begun = begin(_("Anatomy"), "anatomy")
options = Options(begun, "anatomy", figures=False)
sentence.fields(begun)
part = options.parts({"flow": _("The drawing"), "compare": _("How it compares"), "before": _("Before the Transformer")})
trace = sentence.traced(begun, look=False)
if part == "flow" and trace is not None:
    anatomy.draw(begun, options, trace)
else:
    anatomy.forget()
if part != "flow":
    waiting(begun.state.switches)
    figure.prepare()
if part == "compare" and trace is not None:
    complexity.draw(begun, options, trace)
elif part == "before":
    before.draw(begun, options, trace)
options.finish()
if part == "flow":
    with st.expander(_("What am I looking at?")):
        anatomy.about(begun.model.config)
