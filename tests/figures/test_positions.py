"""Figures of positions at their limits, and of learned positions: they draw the given data, and names stay text.

tests/pages/positions/test_reference.py compares those of the formula with what the browser draws."""

import math
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.support.figures import in_theme
from transformer.figures import learned_positions as learned
from transformer.figures import positions as figures
from transformer.figures.style import DARK, GREY, INK, TEAL, diverging, ramp
from transformer.model.positions import sinusoidal

LENGTH, D_MODEL = 50, 34
TABLE = sinusoidal(LENGTH, D_MODEL)
WAVES = 2 * math.pi * 10000 ** (np.arange(0, D_MODEL, 2) / D_MODEL)
PRODUCTS = (TABLE @ TABLE.T).numpy()
NAMES = ("formula", "my<i>model")
ROWS = {name: np.linspace(0, end, LENGTH) for end, name in enumerate(NAMES, 1)}
LENGTHS = [4, 5, 6]
EXACT: dict[str, list[float | None]] = {"one": [1.0, 0.5, 0.0], "two": [0.25, None, None]}


def test_of_many_positions_a_curve_has_no_dots_and_a_column_no_rings() -> None:
    for length in (figures.DOTTED, figures.DOTTED + 1):
        dots = figures.encoding_curves(np.zeros((length, D_MODEL)), (0,), WAVES).data[6:]
        assert {dot.marker.opacity for dot in dots} == {float(length == figures.DOTTED)}
    for length in (figures.RINGS, figures.RINGS + 1):
        by = figures.products_by_offset(np.arange(-3, 4), np.zeros(7), np.zeros(length))
        assert by.data[1].mode == ("markers" if length == figures.RINGS else "lines")


def test_products_below_0_have_a_scale_of_two_colours() -> None:
    for products, ends, scale in (
        (PRODUCTS, (0, None, D_MODEL / 2), ramp(TEAL)),
        (-PRODUCTS, (-D_MODEL / 2, 0, D_MODEL / 2), diverging()),
    ):
        (cells,) = figures.product_matrix(products, 4, D_MODEL / 2).data
        assert (cells.zmin, cells.zmid, cells.zmax) == ends and [list(stop) for stop in cells.colorscale] == scale


def test_too_many_curves_are_refused() -> None:
    with pytest.raises(ValueError, match="7 curves were asked for; 6 can be told apart"):
        figures.encoding_curves(TABLE.numpy(), range(7), WAVES)


def test_of_many_dimensions_and_positions_the_first_are_shown() -> None:
    matrix = np.arange(D_MODEL * D_MODEL).reshape(D_MODEL, D_MODEL)
    figure = figures.shift_matrix(matrix, 3)
    (cells,) = figure.data
    assert np.array_equal(cells.z, matrix[: figures.SHOWN, : figures.SHOWN])
    assert "for k = 3" in figure.layout.title.text and "dimensions 0 to 31 of 34" in figure.layout.title.text
    left, right = figures.shifted_beside(TABLE.numpy(), -TABLE.numpy(), 3).data
    assert np.array_equal(left.z, TABLE.numpy()[: figures.SHOWN, : figures.SHOWN]) and np.array_equal(right.z, -left.z)


def test_two_tables_have_one_scale_and_a_line_where_training_ended() -> None:
    figure = learned.tables_beside(TABLE.numpy(), 3 * TABLE.numpy(), NAMES, (0, 16))
    left, right = figure.data
    assert np.array_equal(left.z, TABLE.numpy()) and np.array_equal(right.z, 3 * TABLE.numpy())
    assert left.zmax == right.zmax == -left.zmin == pytest.approx(3)
    assert [shape.y0 for shape in figure.layout.shapes] == [16.5, 16.5]
    texts = [note.text for note in figure.layout.annotations]
    assert texts == ["<b>formula</b>", "<b>my&lt;i&gt;model</b>", "trained range"]
    assert figure.layout.annotations[2].xref == "x2 domain"
    assert not learned.tables_beside(TABLE.numpy(), TABLE.numpy(), NAMES).layout.shapes


@pytest.mark.parametrize(("make", "last"), [(learned.row_norms, 16.5), (learned.neighbour_cosines, 15.5)])
def test_rows_of_tables_and_the_trained_range(make: Callable[..., go.Figure], last: float) -> None:
    figure = in_theme(make)(ROWS, (0, 16))
    for line, (table, values) in zip(figure.data, ROWS.items(), strict=True):
        assert line.name == table.replace("<", "&lt;").replace(">", "&gt;")
        assert list(line.x) == list(range(LENGTH)) and np.allclose(line.y, values)
    assert [line.line.color for line in figure.data] == [DARK[TEAL], DARK[INK]]
    assert len({(line.line.dash, line.marker.symbol) for line in figure.data}) == 2
    (area,) = figure.layout.shapes
    assert (area.x0, area.x1, area.fillcolor) == (-0.5, last, DARK[GREY])
    bare = make(ROWS)
    assert not bare.layout.shapes and not bare.layout.annotations


def test_exact_answers_in_per_cent_and_gaps_where_nothing_was_measured() -> None:
    figure = learned.exact_by_length(LENGTHS, EXACT, (1, 5))
    first, two = figure.data
    assert list(first.x) == LENGTHS and list(first.y) == [100, 50, 0]
    assert two.y[0] == 25 and np.isnan(two.y[1:]).all()
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].x1) == (0.5, 5.5)
