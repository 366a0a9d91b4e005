"""Embeddings and the path through the layers: from the table (section 3.4) along the residual stream and back."""

from __future__ import annotations

from pages.components.comparison import note_waiting_switches
from pages.embeddings import inputs, lens, residual
from pages.frame.frame import Content, PageFrame
from transformer.texts import _


def parts() -> dict[str, str]:
    return {
        "norms": _("Lengths"),
        "neighbours": _("Neighbours"),
        "map": _("In two dimensions"),
        "residual": _("Residual stream"),
        "lens": _("Logit lens"),
        "output": _("Output"),
    }


def draw(frame: PageFrame) -> None:
    if frame.trace is None:
        return
    note_waiting_switches(frame.state.switches)
    draw_part = {
        "norms": inputs.draw_norms,
        "neighbours": inputs.draw_neighbours,
        "map": inputs.draw_map,
        "residual": residual.draw,
        "lens": lens.draw_lens,
        "output": lens.draw_output,
    }[frame.part]
    draw_part(frame, frame.trace)


CONTENT = Content(draw, parts, ("side", "token", "word", "step", "stack", "layer", "words", "vector"), figures=True)
