"""Positions: the encodings of section 3.5, and what a trained model does without them."""

from pages.shared import learned_positions, position_lab, positions, probing, sentence
from pages.shared.begin import begin
from pages.shared.compared import waiting
from pages.shared.options import Options
from pages.shared.texts import _

begun = begin(_("Positions"), "positions")
options = Options(begun, "positions")
probing.look()
sentence.fields(begun)
part = options.parts(
    {
        "encoding": _("The encoding"),
        "distance": _("Distance and shift"),
        "learned": _("Learned positions"),
        "order": _("Without order"),
        "lab": _("Position lab"),
    }
)
trace = sentence.traced(begun, look=False)
if trace is not None:
    if part != "lab":
        waiting(begun.state.switches)
    if part == "encoding":
        positions.draw_encoding(begun, options, trace)
    elif part == "distance":
        positions.draw_distance(begun, options, trace)
    elif part == "learned":
        learned_positions.draw_learned(begun, options)
    elif part == "order":
        position_lab.draw_equivariance(begun, options, trace)
    elif part == "lab":
        position_lab.draw(begun, trace)
options.finish()
