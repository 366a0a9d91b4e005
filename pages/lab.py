"""Masking and scaling lab: switch parts of attention off in a trained model and see what breaks."""

from pages.shared import lab, sentence
from pages.shared.begin import begin
from pages.shared.compared import compare
from pages.shared.downloads import link_menu
from pages.shared.state import write_address
from pages.shared.texts import _

begun = begin(_("Lab"))
sentence.fields(begun)
trace = sentence.traced(begun)
state = begun.state
if trace is not None:
    state = lab.merge_browser(state, begun.model)
    compared = compare(begun, trace, state.switches)
    state = lab.draw(state, compared)
write_address(state)
link_menu(begun)
