"""Training recipe (section 5): learning rate, dropout, label smoothing, batches, cost."""

from __future__ import annotations

from pages.frame.frame import Content, PageFrame
from pages.recipe import batches, cost, dropout, rate, smoothing
from transformer.texts import _


def parts() -> dict[str, str]:
    return {
        "rate": _("Learning rate"),
        "dropout": _("Dropout"),
        "smoothing": _("Label smoothing"),
        "batches": _("Batches"),
        "cost": _("Cost"),
    }


def draw(frame: PageFrame) -> None:
    if frame.part == "rate":
        rate.draw(frame)
    elif frame.part == "batches":
        batches.draw(frame)
    elif frame.part == "cost":
        cost.draw(frame)
    elif frame.trace is not None:
        {"dropout": dropout, "smoothing": smoothing}[frame.part].draw(frame, frame.trace)


OPTIONS = (*rate.OPTIONS, *dropout.OPTIONS, *smoothing.OPTIONS, *batches.OPTIONS, *cost.OPTIONS)
CONTENT = Content(draw, parts, OPTIONS, alone=("rate", "batches", "cost"))
