"""Anatomy: one sentence through the whole model, what its layers cost, and what attention was before it."""

from pages.anatomy import complexity, drawing, rnn
from pages.components import payloads
from pages.frame.frame import Content, PageFrame, Part
from pages.frame.messages import note_waiting_switches
from transformer.texts import N_
from transformer.view.shared_texts import say


def draw(frame: PageFrame) -> None:
    if frame.part == "flow":
        draw_flow(frame)
    else:
        payloads.forget(drawing.KEY)
        note_waiting_switches(frame.state.switches)
        CONTENT.draw_part(frame)


def draw_flow(frame: PageFrame) -> None:
    """The drawing; its explanation stays where the text cannot be read."""
    if not frame.model.config.usual_parts:
        payloads.forget(drawing.KEY)
        drawing.instead(frame.model.config)
        return
    if frame.live or frame.trace is not None:
        drawing.draw(frame)
    else:
        payloads.forget(drawing.KEY)
    with frame.options.panel("about", say("about")):
        drawing.about(frame.model.config)


PARTS = {
    "flow": Part(N_("The drawing"), draw_flow, drawing.OPTIONS),
    "compare": Part(N_("How it compares"), complexity.draw, ("n", "kernel", "restricted")),
    "before": Part(N_("Before the Transformer"), rnn.draw, ("letters", "heads"), alone=True),
}
CONTENT = Content(draw, PARTS, live=lambda state, part: part == "flow" and drawing.in_browser(state))
