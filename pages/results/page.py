"""Results (section 6): BLEU by hand, what scores can be compared with, Table 2, and Table 3."""

from __future__ import annotations

from pages.frame.frame import Content, PageFrame
from pages.results import bleu, comparable, table2, table3
from transformer.texts import _


def parts() -> dict[str, str]:
    return {
        "bleu": _("BLEU by hand"),
        "subsets": _("Comparing scores"),
        "table2": _("Table 2"),
        "tables": _("Table 3"),  # as links had it when it showed both
    }


def draw(frame: PageFrame) -> None:
    {"bleu": bleu, "subsets": comparable, "table2": table2, "tables": table3}[frame.part].draw(frame)


CONTENT = Content(draw, parts, bleu.OPTIONS, sentence=False)
