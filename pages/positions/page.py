"""Positions: the encodings of section 3.5, and what a trained model does without them."""

from __future__ import annotations

from pages.components import probing
from pages.components.comparison import note_waiting_switches
from pages.frame.frame import Content, PageFrame
from pages.frame.messages import message
from pages.frame.state import State
from pages.positions import encoding, lab, learned, relative
from transformer.model.config import ModelConfig
from transformer.texts import _
from transformer.view.position_figures import PARTS
from transformer.view.shared_texts import say


def parts() -> dict[str, str]:
    return {
        **{name: say(f"part_{name}") for name in PARTS},
        "learned": _("Learned positions"),
        "relative": _("Relative positions"),
        "order": _("Without order"),
        "lab": _("Position lab"),
    }


def in_browser(state: State) -> bool:
    """Whether a browser that has the engine draws the open part without the server."""
    return state.chosen.get("positions", {}).get("part", "encoding") in PARTS


def shown(config: ModelConfig, part: str) -> bool:
    """Models with relative positions are few, so that the others do not name the part."""
    return part != "relative" or config.positions == "relative"


def draw(frame: PageFrame) -> None:
    probing.look()
    if frame.pair and frame.trace is None and not frame.live:
        return
    if frame.part != "lab":
        note_waiting_switches(frame.state.switches)
    if frame.part in PARTS:
        if frame.model.config.positions == "relative":
            message(say("no_encodings", model=frame.model.name), "note")
        encoding.draw(frame)
    elif frame.part == "learned":
        learned.draw_learned(frame)
    elif frame.part == "relative":
        relative.draw(frame)
    elif frame.trace is None:
        return
    elif frame.part == "order":
        lab.draw_equivariance(frame, frame.trace)
    elif frame.part == "lab":
        lab.draw(frame, frame.trace)


OPTIONS = ("d_model", "length", "dims", "k", "q", "seed", "trained", "pane", "row")
CONTENT = Content(draw, parts, OPTIONS, shown, alone=("distance", "learned", "relative"), live=in_browser)
