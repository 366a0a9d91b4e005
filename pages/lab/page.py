"""Masking and scaling lab: switch parts of attention off in a trained model and see what breaks."""

import streamlit as st

from pages.components import probing, translation
from pages.components.comparison import compare, of_page
from pages.frame import sentence
from pages.frame.downloads import link_menu
from pages.frame.frame import begin, big_button
from pages.frame.state import current, write_address
from pages.lab import heads, leak, measures, scaling
from pages.runtime.texts import _
from transformer.interventions.sets import ATTENTION

begun = begin(_("Lab"))
probing.look()
sentence.fields(begun)
part = heads.parts(begun)
trace = sentence.traced(begun, look=False)
state = begun.state
if trace is None:
    heads.forget()
elif heads.switchable(state):
    state = heads.merge_browser(state, begun.model)
    compared = compare(begun, trace, of_page(state.switches, ATTENTION, begun.model))
    says = st.container(key="hs-says")
    state = heads.draw(state, compared)
    heads.say(says, compared)
    heads.explain(compared)
    if part == "compare":
        translation.draw(compared, given=not trace.own)
        probing.draw(compared)
    elif part == "measures":
        heads.pick(measures.draw(compared, state.view))
    else:
        leak.draw(compared)
else:
    heads.forget()
    if part == "scaling":
        scaling.draw_scaling(trace, state.view)
    else:
        scaling.draw_softmax(state.view.big)
write_address(current() or state)
sentence.example_menu(begun)
link_menu(begun)
big_button(begun)
with st.expander(_("What am I looking at?")):
    heads.about()
