"""Decoding: how a translation is searched for (section 6.1)."""

from __future__ import annotations

from pages.components.comparison import note_waiting_switches
from pages.decoding import beam, given, paint, sampling, step
from pages.frame.frame import Content, PageFrame
from pages.frame.messages import capital, message
from pages.frame.state import State
from transformer.texts import _
from transformer.tracing.finite import NotFiniteError


def parts() -> dict[str, str]:
    return {
        "step": _("Step by step"),
        "beam": _("Beam search"),
        "sampling": _("Sampling"),
        "paint": _("Attention by hand"),
        "given": _("Your words, the model's words"),
    }


def in_browser(state: State) -> bool:
    """Whether a browser that has the engine draws the open part without the server."""
    return state.chosen.get("decoding", {}).get("part", "step") == "step"


def draw(frame: PageFrame) -> None:
    if frame.trace is None and not frame.live:
        return
    note_waiting_switches(frame.state.switches)
    others = {"beam": beam, "sampling": sampling, "paint": paint, "given": given}
    try:
        if frame.part == "step":
            step.draw(frame)
        elif frame.trace is not None:
            others[frame.part].draw(frame, frame.trace)
    except NotFiniteError as error:
        message(capital(error) + ".", "error")


OPTIONS = (*step.OPTIONS, *beam.OPTIONS, *sampling.OPTIONS, *paint.OPTIONS, *given.OPTIONS)
CONTENT = Content(draw, parts, OPTIONS, live=in_browser)
