"""Figures of positions: they draw the given data, and tokens stay text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from transformer.analysis.positions import by_offset, dot_products, shift_map, shifted, wavelengths
from transformer.figures import learned_positions as learned
from transformer.figures import positions as figures
from transformer.figures.style import GREY, GUIDE, INK, TEAL, diverging, ramp, short
from transformer.model.positions import sinusoidal

LENGTH, D_MODEL = 50, 34
TABLE = sinusoidal(LENGTH, D_MODEL)
WAVES = wavelengths(D_MODEL).numpy()
PRODUCTS = dot_products(TABLE)
TOKENS = ("The", "<b>cat</b>", "a token of very many letters", "</s>")
NAMES = ("formula", "my<i>model")
ROWS = {name: np.linspace(0, end, LENGTH) for end, name in enumerate(NAMES, 1)}
LENGTHS = [4, 5, 6]
EXACT: dict[str, list[float | None]] = {"one": [1.0, 0.5, 0.0], "two": [0.25, None, None]}


def by_distance(**more: Any) -> go.Figure:
    offsets = by_offset(PRODUCTS)
    return figures.products_by_offset(offsets.offsets.numpy(), offsets.mean.numpy(), **more)


def test_the_heatmap_is_the_table() -> None:
    for theme in ("light", "dark"):
        (cells,) = figures.encoding_heatmap(TABLE.numpy(), theme=theme).data
        assert np.array_equal(cells.z, TABLE.numpy()) and (cells.zmin, cells.zmid, cells.zmax) == (-1, 0, 1)
        assert [list(stop) for stop in cells.colorscale] == diverging(theme)
    rows = figures.encoding_heatmap(TABLE.numpy()[:6], (), TOKENS).layout
    assert rows.yaxis.autorange == "reversed" and len(TOKENS) == 4
    assert list(rows.yaxis.ticktext) == [*map(short, TOKENS), "4", "5"]


def test_curves_are_the_sines_themselves_with_dots_at_the_positions() -> None:
    figure = figures.encoding_curves(TABLE.numpy(), (0, 7, 20), WAVES, TOKENS)
    lines, dots = figure.data[:6], figure.data[6:]
    assert [trace.visible for trace in figure.data] == ([True] * 3 + [False] * 3) * 2
    for line, dot, dimension in zip(lines, dots, (0, 7, 20), strict=False):
        assert list(dot.x) == list(range(LENGTH)) and np.array_equal(dot.y, TABLE[:, dimension].numpy())
        assert line.name == dot.name and line.name.startswith(f"dim. {dimension}: ")
        # At every position the line passes through the dot.
        assert np.interp(dot.x, line.x, line.y) == pytest.approx(dot.y, abs=0.005)
        assert (line.x[0], line.x[-1]) == (0, LENGTH - 1) and line.meta == GUIDE and line.hoverinfo == "skip"
    fast = np.asarray(lines[0].y)
    assert fast.max() > 0.998 and fast.min() < -0.998
    rising = np.asarray(lines[0].x)[:-1][(fast[:-1] < 0) & (fast[1:] >= 0)]
    assert np.diff(rising) == pytest.approx(2 * math.pi, abs=0.25)
    assert lines[1].name.endswith(figures.wavelength_text(2 * math.pi * 10000 ** (6 / D_MODEL)))
    assert len({line.line.dash for line in lines}) == 6  # told apart without colours
    assert {dot.marker.opacity for dot in dots} == {1}
    long = figures.encoding_curves(np.zeros((figures.DOTTED + 1, D_MODEL)), (0,), WAVES)
    assert {dot.marker.opacity for dot in long.data[6:12]} == {0}
    # 50 positions have room for every second label; all stay in meta.
    assert list(figure.layout.xaxis.tickvals) == list(range(0, LENGTH, 2))
    assert list(figure.layout.xaxis.ticktext)[:3] == ["The", "a token of very m…", "4"]
    assert tuple(figure.layout.meta["labels"]["x"]) == (*TOKENS, *map(str, range(4, LENGTH)))
    assert figure.layout.xaxis.range == (-0.5, LENGTH - 0.5)


def test_chosen_columns_are_marked_in_the_colours_of_their_curves() -> None:
    ticks = figures.encoding_heatmap(TABLE.numpy(), (3, 9), theme="dark").layout.shapes
    lines = figures.encoding_curves(TABLE.numpy(), (3, 9), WAVES, theme="dark").data[:6]
    assert [(tick.x0, tick.x1, tick.visible) for tick in ticks[:3]] == [(3, 3, True), (9, 9, True), (0, 0, False)]
    assert [tick.line.color for tick in ticks] == [line.line.color for line in lines]
    assert all(1 < tick.y0 < tick.y1 for tick in ticks)  # above the cells


@pytest.mark.parametrize("count", [2, 5, 6])
def test_few_places_are_numbered_by_whole_numbers(count: int) -> None:
    few = count <= figures.FEW
    table = sinusoidal(count, 2 * count)
    products = dot_products(table)
    there, mapped = (part.numpy() for part in shifted(table, 0))
    waves = wavelengths(2 * count).numpy()
    for figure, names in (
        (figures.encoding_heatmap(table.numpy()[:, :count]), ("xaxis",)),
        (figures.product_matrix(products.numpy()), ("xaxis", "yaxis")),
        (figures.shift_matrix(shift_map(1, 2 * count).numpy()[:count, :count], 1), ("xaxis", "yaxis")),
        (figures.shifted_beside(there[:, :count], mapped[:, :count], 0), ("xaxis", "xaxis2", "yaxis", "yaxis2")),
    ):
        assert [figure.layout[name].dtick for name in names] == [1 if few else None] * len(names)
    assert figures.wavelength_curve(waves).layout.xaxis.dtick == (2 if 2 * count - 2 <= 2 * figures.FEW else None)
    offsets = by_offset(products)
    by = figures.products_by_offset(offsets.offsets.numpy(), offsets.mean.numpy())
    assert by.layout.xaxis.dtick == (1 if 2 * count - 1 <= figures.FEW else None)


def test_a_short_table_has_every_token_and_a_long_sentence_is_cut() -> None:
    whole = figures.encoding_curves(TABLE.numpy()[:4], (0,), WAVES, TOKENS)
    assert list(whole.layout.xaxis.tickvals) == [0, 1, 2, 3]
    cut = figures.encoding_curves(TABLE.numpy()[:2], (0,), WAVES, TOKENS)
    assert list(cut.layout.xaxis.ticktext) == [*map(short, TOKENS[:2])]
    bare = figures.encoding_curves(TABLE.numpy(), (), WAVES)
    assert not any(trace.visible for trace in bare.data)


def test_too_many_curves_are_refused() -> None:
    with pytest.raises(ValueError, match="7 curves were asked for; 6 can be told apart"):
        figures.encoding_curves(TABLE.numpy(), range(7), WAVES)


def test_wavelengths_on_a_logarithmic_axis_between_the_papers_ends() -> None:
    figure = figures.wavelength_curve(WAVES, (0, 7), 64)
    line, marks = figure.data
    assert list(line.x) == list(range(0, D_MODEL, 2)) and np.allclose(line.y, WAVES)
    assert list(marks.x) == [0, 6] and list(marks.y) == [WAVES[0], WAVES[3]]
    assert figure.layout.yaxis.type == "log"
    assert [shape.y0 for shape in figure.layout.shapes] == [2 * math.pi, 20000 * math.pi, 64]
    low, high = figure.layout.yaxis.range
    for shape, note in zip(figure.layout.shapes, figure.layout.annotations, strict=True):
        assert shape.y0 == shape.y1 == pytest.approx(10**note.y) and low < note.y < high  # notes count in powers of ten
    assert [note.text for note in figure.layout.annotations][2] == "length shown: 64"
    sides = {length: [note.yanchor for note in figures.wavelength_curve(WAVES, (), length).layout.annotations]
             for length in (2, 6, 7, 64)}  # fmt: skip
    assert sides[2] == sides[6] == ["bottom", "bottom", "top"]  # the lower of two lines has its label below
    assert sides[7] == sides[64] == ["top", "bottom", "bottom"]
    without = figures.wavelength_curve(WAVES)
    assert without.layout.shapes[2].visible is False and without.data[1].visible is False


@pytest.mark.parametrize(
    ("value", "text"),
    [(2 * math.pi, "6.28"), (9.994, "9.99"), (9.996, "10.0"), (62.83, "62.8"), (99.96, "100"), (199.4, "199"),
     (1234.0, "1,230"), (62831.85, "62,800")],
)  # fmt: skip
def test_a_wavelength_has_three_figures(value: float, text: str) -> None:
    assert figures.wavelength_text(value) == text


def test_products_and_their_column() -> None:
    figure = figures.product_matrix(PRODUCTS.numpy(), 4, D_MODEL / 2)
    (cells,) = figure.data
    assert np.array_equal(cells.z, PRODUCTS.numpy().astype(np.float32))
    assert PRODUCTS.min() > 0 and (cells.zmin, cells.zmid, cells.zmax) == (0, None, D_MODEL / 2)
    assert [list(stop) for stop in cells.colorscale] == ramp(TEAL, "light")
    (cells,) = figures.product_matrix(-PRODUCTS.numpy(), 4, D_MODEL / 2).data
    assert (cells.zmin, cells.zmid, cells.zmax) == (-D_MODEL / 2, 0, D_MODEL / 2)
    assert [list(stop) for stop in cells.colorscale] == diverging("light")
    (frame,) = figure.layout.shapes
    assert (frame.x0, frame.x1, frame.visible) == (3.5, 4.5, True) and figure.layout.annotations[0].text == "q = 4"
    bare = figures.product_matrix(3 * PRODUCTS.numpy())
    assert bare.layout.shapes[0].visible is False and bare.data[0].zmax == pytest.approx(3 * D_MODEL / 2, rel=1e-6)


def test_a_column_of_products_equals_the_mean() -> None:
    figure = by_distance(row=PRODUCTS[:, 4].numpy(), q=4, half=D_MODEL / 2)
    line, row = figure.data
    assert list(line.x) == list(range(1 - LENGTH, LENGTH)) and list(row.x) == list(range(-4, LENGTH - 4))
    mean = dict(zip(line.x, line.y, strict=True))
    assert all(mean[x] == pytest.approx(y, abs=1e-4) for x, y in zip(row.x, row.y, strict=True))
    assert figure.layout.shapes[0].y0 == mean[0] == pytest.approx(D_MODEL / 2)
    assert figure.layout.annotations[0].text.endswith("= 17") and line.line.color == TEAL["light"]
    assert row.mode == "markers" and by_distance(row=np.zeros(figures.RINGS)).data[1].mode == "markers"
    assert by_distance(row=np.zeros(figures.RINGS + 1)).data[1].mode == "lines"
    assert by_distance().data[1].visible is False and by_distance().layout.shapes[0].visible is False


def test_the_map_shows_its_first_dimensions_and_says_so() -> None:
    figure = figures.shift_matrix(shift_map(3, D_MODEL).numpy(), 3)
    (cells,) = figure.data
    assert np.allclose(cells.z, shift_map(3, D_MODEL).numpy()[: figures.SHOWN, : figures.SHOWN])
    assert "for k = 3" in figure.layout.title.text and "dimensions 0 to 31 of 34" in figure.layout.title.text
    small = figures.shift_matrix(shift_map(3, 6).numpy(), 3)
    assert small.data[0].z.shape == (6, 6) and "dimensions 0 to 5 of 6" in small.layout.title.text


def test_shifted_and_mapped_side_by_side_are_one() -> None:
    there, mapped = (part.numpy() for part in shifted(TABLE, 3))
    figure = figures.shifted_beside(there, mapped, 3)
    left, right = figure.data
    assert np.array_equal(left.z, TABLE.numpy()[3 : 3 + figures.SHOWN, : figures.SHOWN])
    assert np.abs(left.z - right.z).max() < 1e-6 and left.z.shape == right.z.shape == (32, 32)
    assert (right.xaxis, right.yaxis) == ("x2", "y2") and not left.showscale
    assert (left.zmin, left.zmax) == (right.zmin, right.zmax) and left.colorscale == right.colorscale
    assert figure.layout.xaxis2.matches == "x" and figure.layout.yaxis2.matches == "y"
    names = figure.layout.annotations
    assert [name.text for name in names] == [f"<b>{figures.LABELS[key]}</b>" for key in ("there", "mapped")]
    assert all(name.y == 1 > figure.layout.yaxis.domain[1] for name in names)  # above the cells


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
    figure = make(ROWS, (0, 16), theme="dark")
    for line, (table, values) in zip(figure.data, ROWS.items(), strict=True):
        assert line.name == table.replace("<", "&lt;").replace(">", "&gt;")
        assert list(line.x) == list(range(LENGTH)) and np.allclose(line.y, values)
    assert [line.line.color for line in figure.data] == [TEAL["dark"], INK["dark"]]
    assert len({(line.line.dash, line.marker.symbol) for line in figure.data}) == 2
    (area,) = figure.layout.shapes
    assert (area.x0, area.x1, area.fillcolor) == (-0.5, last, GREY["dark"])
    bare = make(ROWS)
    assert not bare.layout.shapes and not bare.layout.annotations


def test_exact_answers_in_per_cent_and_gaps_where_nothing_was_measured() -> None:
    figure = learned.exact_by_length(LENGTHS, EXACT, (1, 5))
    first, two = figure.data
    assert list(first.x) == LENGTHS and list(first.y) == [100, 50, 0]
    assert two.y[0] == 25 and np.isnan(two.y[1:]).all()
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].x1) == (0.5, 5.5)
