"""Feed-forward sub-layers (section 3.3): active neurons, the role of each, and translation without them."""

from __future__ import annotations

from pages.components import probing
from pages.components.comparison import note_waiting_switches
from pages.feedforward import activity, knockouts, neurons, nonlinearity, position_wise
from pages.frame.frame import Content, PageFrame
from transformer.texts import _


def parts() -> dict[str, str]:
    return {
        "activity": _("Activity"),
        "neurons": _("Neurons"),
        "nonlinearity": _("Non-linearity"),
        "position": _("Position-wise"),
        "knock": _("Knock out"),
    }


def draw(frame: PageFrame) -> None:
    probing.look()
    if frame.trace is None:
        return
    if frame.part != "knock":
        note_waiting_switches(frame.state.switches)
    draw_part = {
        "activity": activity.draw,
        "neurons": neurons.draw,
        "nonlinearity": nonlinearity.draw,
        "position": position_wise.draw,
        "knock": knockouts.draw,
    }[frame.part]
    draw_part(frame, frame.trace)


CONTENT = Content(draw, parts, ("stack", "layer", "token", "neuron", "threshold", "other"), figures=True)
