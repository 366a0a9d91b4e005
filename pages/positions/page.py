"""Positions: the encodings of section 3.5, and what a trained model does without them."""

from __future__ import annotations

from pages.components import probing
from pages.components.comparison import note_waiting_switches
from pages.frame.frame import Content, PageFrame
from pages.positions import encoding, lab, learned
from transformer.texts import _


def parts() -> dict[str, str]:
    return {
        "encoding": _("The encoding"),
        "distance": _("Distance and shift"),
        "learned": _("Learned positions"),
        "order": _("Without order"),
        "lab": _("Position lab"),
    }


def draw(frame: PageFrame) -> None:
    probing.look()
    if frame.trace is None:
        return
    if frame.part != "lab":
        note_waiting_switches(frame.state.switches)
    if frame.part == "encoding":
        encoding.draw_encoding(frame, frame.trace)
    elif frame.part == "distance":
        encoding.draw_distance(frame, frame.trace)
    elif frame.part == "learned":
        learned.draw_learned(frame)
    elif frame.part == "order":
        lab.draw_equivariance(frame, frame.trace)
    elif frame.part == "lab":
        lab.draw(frame, frame.trace)


CONTENT = Content(
    draw, parts, ("d_model", "length", "dims", "k", "q", "seed", "trained", "pane", "row", "panel"), figures=True
)
