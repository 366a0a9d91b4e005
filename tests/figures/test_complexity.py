"""Figures of complexity: they draw the given counts and times."""

import math

import pytest

from tests.support.figures import colour_in, in_theme
from transformer.cost.complexity import KINDS, Sizes, order
from transformer.figures import complexity as figures
from transformer.figures.style import BLUE, INK

NAMES = {kind: f"<b>{kind}" for kind in figures.STROKES}
VALUES = {"n": 12, "d": 256, "kernel": 3, "window": 5}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_figures_draw_the_given_numbers(theme: str) -> None:
    lengths = [2, 12, 512]
    counted = {kind: [order(kind, Sizes(n, 256)) for n in lengths] for kind in KINDS}
    orders, exact = (
        in_theme(figures.counts, theme)(lengths, counted, NAMES, VALUES, exact_counts) for exact_counts in (False, True)
    )
    points = {"attention": [(8, 0.002, 0.001, 0.004), (16, 0.003, 0.003, 0.003)], "recurrent": [(8, 0.5, 0.25, 1.0)]}
    timed = in_theme(figures.timings, theme)(points, [8, 16, 32], NAMES, VALUES)
    for figure in (orders, exact):
        assert [list(line.y) for line in figure.data] == [
            [order(kind, Sizes(n, 256)) for n in (2, 12, 512)] for kind in KINDS
        ]
        assert [shape.x0 for shape in figure.layout.shapes] == [12, 256]
        assert [note.text for note in figure.layout.annotations] == ["n = 12", "n = d = 256"]
        assert [note.x for note in figure.layout.annotations] == pytest.approx([math.log10(12), math.log10(256)])
    assert "256" in orders.layout.title.subtitle.text and orders.layout.title.text != exact.layout.title.text
    low, high, middle, *others = timed.data
    assert (list(low.y), list(high.y), list(middle.y)) == ([1, 3], [4, 3], [2, 3]) and len(others) == 3
    assert high.fill == "tonexty"
    assert (middle.line.color, others[2].line.color) == (colour_in(theme, BLUE), colour_in(theme, INK))
    assert [shape.x0 for shape in timed.layout.shapes] == [12]  # n = d lies outside
    palette = timed.layout.meta["palette"]
    assert high.fillcolor in palette[theme] and len(palette["light"]) == len(palette["dark"]) == len(
        set(palette[theme])
    )
