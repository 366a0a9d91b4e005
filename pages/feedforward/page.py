"""Feed-forward sub-layers (section 3.3): active neurons, the role of each, and translation without them."""

from __future__ import annotations

from pages.components import probing
from pages.components.comparison import note_waiting_switches
from pages.feedforward import activity, knockouts, neurons, nonlinearity, position_wise
from pages.frame.frame import Content, PageFrame
from pages.frame.state import State
from transformer.texts import _


def parts() -> dict[str, str]:
    return {
        "activity": _("Activity"),
        "neurons": _("Neurons"),
        "nonlinearity": _("Non-linearity"),
        "position": _("Position-wise"),
        "knock": _("Knock out"),
    }


def in_browser(state: State) -> bool:
    """Whether a browser that has the engine draws the open part without the server."""
    return state.chosen.get("feedforward", {}).get("part", "activity") == "activity"


def draw(frame: PageFrame) -> None:
    probing.look()
    if frame.trace is None and not frame.live:
        return
    if frame.part != "knock":
        note_waiting_switches(frame.state.switches)
    if frame.part == "activity":
        activity.draw(frame)
    elif frame.trace is not None:
        draw_part = {
            "neurons": neurons.draw,
            "nonlinearity": nonlinearity.draw,
            "position": position_wise.draw,
            "knock": knockouts.draw,
        }[frame.part]
        draw_part(frame, frame.trace)


CONTENT = Content(draw, parts, ("stack", "layer", "token", "neuron", "threshold", "other"), live=in_browser)
