"""Results (section 6): BLEU by hand, what scores can be compared with, and Tables 2 and 3."""

from __future__ import annotations

from pages.frame.frame import Content, PageFrame
from pages.results import comparable, scored, tables
from pages.runtime.streamlit import load_plotly
from transformer.texts import _


def parts() -> dict[str, str]:
    return {"bleu": _("BLEU by hand"), "subsets": _("Comparing scores"), "tables": _("Tables 2 and 3")}


def draw(frame: PageFrame) -> None:
    if frame.part != "bleu":
        load_plotly()
    {"bleu": scored, "subsets": comparable, "tables": tables}[frame.part].draw(frame)


CONTENT = Content(draw, parts, scored.OPTIONS, sentence=False)
