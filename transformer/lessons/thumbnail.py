"""The little picture of a lesson: a glyph for each page that it leads through, in a square of 24."""

from __future__ import annotations

from transformer.lessons.lesson import Lesson

GLYPHS = {  # path of the page -> of an SVG, to be stroked
    "": "M3 3h18v18H3zM3 9h18M3 15h18M9 3v18M15 3v18M5 5l2 2M11 11l2 2M17 17l2 2",
    "anatomy": "M4 4h6v16H4zM14 4h6v16h-6zM4 9h6M4 14h6M14 9h6M14 14h6M10 7h4",
    "attribution": "M3 5h5v5H3zM3 14h5v5H3zM11 7h10M11 17h6",
    "decoding": "M3 12h5l5-6h8M8 12h13M8 12l5 6h8",
    "feedforward": "M4 5h4v14H4zM16 5h4v14h-4zM8 8l8 8M8 16l8-8",
    "lab": "M3 7h18M3 12h18M3 17h18M8 5v4M16 10v4M11 15v4",
    "paper": "M6 3h9l4 4v14H6zM9 11h7M9 15h7",
    "positions": "M2 12c2-9 5-9 7 0s5 9 7 0 4-6 6-6",
    "results": "M3 20h18M6 20v-7M11 20V7M16 20v-10",
    "roles": "M4 7a2 2 0 1 0 4 0a2 2 0 1 0-4 0M4 17a2 2 0 1 0 4 0a2 2 0 1 0-4 0M11 7h10M11 17h10",
    "training": "M3 3v18h18M5 6c3 9 7 11 15 12",
}
MOST = 4


def glyphs(lesson: Lesson) -> list[str]:
    """Of the first pages that the lesson leads to."""
    pages = dict.fromkeys(stop.view.page for stop in lesson.stops)
    return [GLYPHS[page] for page in pages if page in GLYPHS][:MOST]
