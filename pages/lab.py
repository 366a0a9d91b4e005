"""Masking and scaling lab: switch parts of attention off in a trained model and see what breaks."""

from dataclasses import replace

import streamlit as st

from pages.shared import lab, leak, measures, probing, sentence, translation, why
from pages.shared.begin import begin, big_button
from pages.shared.compared import compare
from pages.shared.downloads import link_menu
from pages.shared.state import current, write_address
from pages.shared.texts import _

begun = begin(_("Lab"))
sentence.fields(begun)
trace = sentence.traced(begun, look=False)
state = begun.state
if trace is not None:
    state = lab.merge_browser(state, begun.model)
    compared = compare(begun, trace, state.switches)
    if lab.has_picture(state):
        says = st.container(key="hs-says")
        state = lab.draw(state, compared)
        lab.say(says, compared)
        lab.explain(compared)
    part = lab.parts(state)
    if part == "translation":
        translation.draw(compared, given=not trace.own)
        probing.draw(compared)
    elif part == "measures":
        lab.pick(measures.draw(compared, state.view))
    elif part == "leak":
        leak.draw(compared)
    elif part == "scaling":
        why.draw_scaling(compared.before, replace(state.view, kind="all"))
    else:
        why.draw_softmax(state.view.big)
write_address(current() or state)
sentence.example_menu(begun)
link_menu(begun)
big_button(begun)
with st.expander(_("What am I looking at?")):
    lab.about()
