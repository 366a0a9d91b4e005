"""Anatomy: one sentence through the whole model, what its layers cost, and what attention was before it."""

from __future__ import annotations

from pages.anatomy import complexity, drawing, rnn
from pages.components import payloads
from pages.components.comparison import note_waiting_switches
from pages.frame.frame import Content, PageFrame
from pages.frame.state import State
from transformer.texts import _
from transformer.view.shared_texts import say


def parts() -> dict[str, str]:
    return {"flow": _("The drawing"), "compare": _("How it compares"), "before": _("Before the Transformer")}


def draw(frame: PageFrame) -> None:
    drawable = frame.model.config.usual_parts
    if frame.part == "flow" and drawable and (frame.live or frame.trace is not None):
        drawing.draw(frame)
    else:
        payloads.forget(drawing.KEY)
    if frame.part == "flow":
        if drawable:
            with frame.options.panel("about", say("about")):
                drawing.about(frame.model.config)
        else:
            drawing.instead(frame.model.config)
        return
    note_waiting_switches(frame.state.switches)
    if frame.part == "before":
        rnn.draw(frame)
    elif frame.trace is not None:
        complexity.draw(frame, frame.trace)


def _live(state: State) -> bool:
    part = state.chosen.get("anatomy", {}).get("part", "flow")
    return part == "flow" and drawing.in_browser(state)


CONTENT = Content(
    draw,
    parts,
    (*drawing.OPTIONS, "n", "kernel", "restricted", "letters", "heads"),
    alone=("before",),
    live=_live,
)
