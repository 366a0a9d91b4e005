"""Masking and scaling lab: switch parts of attention off in a trained model and see what breaks."""

import streamlit as st

from pages.shared import lab, leak, measures, probing, sentence, translation, why
from pages.shared.begin import begin, big_button
from pages.shared.compared import compare, of_page
from pages.shared.downloads import link_menu
from pages.shared.state import current, write_address
from pages.shared.texts import _
from transformer.interventions import ATTENTION

begun = begin(_("Lab"))
probing.look()
sentence.fields(begun)
part = lab.parts(begun)
trace = sentence.traced(begun, look=False)
state = begun.state
if trace is None:
    lab.forget()
elif lab.switchable(state):
    state = lab.merge_browser(state, begun.model)
    compared = compare(begun, trace, of_page(state.switches, ATTENTION, begun.model))
    says = st.container(key="hs-says")
    state = lab.draw(state, compared)
    lab.say(says, compared)
    lab.explain(compared)
    if part == "compare":
        translation.draw(compared, given=not trace.own)
        probing.draw(compared)
    elif part == "measures":
        lab.pick(measures.draw(compared, state.view))
    else:
        leak.draw(compared)
else:
    lab.forget()
    if part == "scaling":
        why.draw_scaling(trace, state.view)
    else:
        why.draw_softmax(state.view.big)
write_address(current() or state)
sentence.example_menu(begun)
link_menu(begun)
big_button(begun)
with st.expander(_("What am I looking at?")):
    lab.about()
