"""Feed-forward sub-layers (section 3.3): active neurons, the role of each, and translation without them."""

from pages.components import probing
from pages.feedforward import activity, knockouts, neurons, nonlinearity, position_wise
from pages.frame.frame import Content, PageFrame, Part
from transformer.texts import N_

PARTS = {
    "activity": Part(N_("Activity"), activity.draw, ("stack", "layer", "threshold")),
    "neurons": Part(N_("Neurons"), neurons.draw, ("stack", "layer", "token", "neuron")),
    "nonlinearity": Part(N_("Non-linearity"), nonlinearity.draw, ("stack", "layer", "token")),
    "position": Part(N_("Position-wise"), position_wise.draw, ("stack", "layer", "token", "other")),
    "knock": Part(N_("Knock out"), knockouts.draw, ("stack", "layer"), switches=True),
}


def draw(frame: PageFrame) -> None:
    probing.look()
    CONTENT.draw_part(frame)


CONTENT = Content(draw, PARTS, waits=True, live=lambda state, part: part == "activity")
