"""Positions: the encodings of section 3.5, and what a trained model does without them."""

from pages.components import probing
from pages.components.comparison import waiting
from pages.frame import sentence
from pages.frame.frame import begin
from pages.frame.options import Options
from pages.positions import encoding, lab, learned
from pages.runtime.texts import _

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
        encoding.draw_encoding(begun, options, trace)
    elif part == "distance":
        encoding.draw_distance(begun, options, trace)
    elif part == "learned":
        learned.draw_learned(begun, options)
    elif part == "order":
        lab.draw_equivariance(begun, options, trace)
    elif part == "lab":
        lab.draw(begun, trace)
options.finish()
