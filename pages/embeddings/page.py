"""Embeddings and the path through the layers: from the table (section 3.4) along the residual stream and back."""

from __future__ import annotations

from pages.components.comparison import note_waiting_switches
from pages.embeddings import inputs, layer_norm, lens, residual
from pages.frame.frame import Content, PageFrame
from transformer.texts import _


def parts() -> dict[str, str]:
    return {
        "neighbours": _("Neighbours"),
        "norms": _("Lengths"),
        "map": _("In two dimensions"),
        "residual": _("Residual stream"),
        "layernorm": _("LayerNorm"),
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
        "layernorm": layer_norm.draw,
        "lens": lens.draw_lens,
        "output": lens.draw_output,
    }[frame.part]
    draw_part(frame, frame.trace)


OPTIONS = ("side", "token", "word", "step", "stack", "layer", "words", "vector", "sublayer")
CONTENT = Content(draw, parts, OPTIONS)
