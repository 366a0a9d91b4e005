"""Positions: the encodings of section 3.5, and what a trained model does without them."""

from pages.components import compared_heads, probing
from pages.frame.frame import Content, PageFrame, Part
from pages.positions import encoding, lab, learned, relative
from transformer.model.config import ModelConfig
from transformer.texts import N_
from transformer.view.shared_texts import SHARED_TEXTS

PARTS = {
    "encoding": Part(SHARED_TEXTS["part_encoding"], encoding.draw, ("d_model", "length", "dims")),
    "distance": Part(SHARED_TEXTS["part_distance"], encoding.draw, ("d_model", "length", "k", "q"), alone=True),
    "learned": Part(N_("Learned positions"), learned.draw, alone=True),
    "relative": Part(N_("Relative positions"), relative.draw, alone=True),
    "order": Part(N_("Without order"), lab.draw_equivariance, ("seed",)),
    "lab": Part(N_("Position lab"), lab.draw, ("trained", *compared_heads.OPTIONS), switches=True),
}


def shown(config: ModelConfig, part: str) -> bool:
    """Models with relative positions are few, so that the others do not name the part."""
    return part != "relative" or config.positions == "relative"


def draw(frame: PageFrame) -> None:
    probing.look()
    CONTENT.draw_part(frame)


CONTENT = Content(draw, PARTS, shown=shown, waits=True, live=lambda state, part: part == "encoding")
