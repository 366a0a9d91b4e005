"""Figures of embeddings, residual stream and output: they draw the given data, and no token becomes markup."""

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.support.figures import in_theme
from transformer.figures import embedding, output, residual
from transformer.figures.style import BLUE, DARK, GREY, INK, ORANGE, PAPER, TEAL

TOKENS = ("the", "<b>x</b>", "the", "</s>")
SUBLAYERS = ("self 1", "FFN 1", "self 2")
COUNTED = ["1 · the", "2 · &lt;b&gt;x&lt;/b&gt;", "3 · the", "4 · &lt;/s&gt;"]  # as hover texts name TOKENS
VECTORS = {"enters": "x", "update": "Sublayer(x)", "sum": "x + Sublayer(x)", "normed": "after LayerNorm"}


def ramp(*shape: int) -> np.ndarray:
    return np.arange(1, 1 + np.prod(shape), dtype=np.float64).reshape(shape) / 7


def ticks(figure: go.Figure, axis: str) -> tuple[str, ...]:
    axis_layout = figure.layout[f"{axis}axis"]
    assert list(axis_layout.tickvals) == list(range(len(axis_layout.ticktext)))
    return tuple(axis_layout.ticktext)


def test_lengths_at_the_input() -> None:
    row, scaled, positions = ramp(4), 8 * ramp(4), ramp(4)[::-1]
    row_name, scaled_name = "embedding E(<i>t</i>), factor off", "√<i>d</i><sub>model</sub> · E(<i>t</i>)"
    position_name = "position encoding PE(<i>p</i>)"
    for side, colour in (("source", BLUE), ("target", ORANGE)):
        figure = in_theme(embedding.norm_figure)(TOKENS, row, scaled, positions, side)
        drawn = {trace.name: trace for trace in figure.data}
        for name, values in ((scaled_name, scaled), (row_name, row), (position_name, positions)):
            np.testing.assert_allclose(drawn[name].y, values, rtol=1e-6)
            assert list(drawn[name].customdata) == COUNTED
        assert drawn[row_name].marker.color == DARK[colour]
        assert drawn[position_name].line.color == DARK[TEAL]
        assert ticks(figure, "x") == ("the", "&lt;b&gt;x&lt;/b&gt;", "the", "&lt;/s&gt;")
        assert figure.layout.title.text.endswith(side) and figure.layout.yaxis.range is None
    figure = in_theme(embedding.norm_figure)(TOKENS, row, scaled, positions, "source", most=20)
    assert tuple(figure.layout.yaxis.range) == (0, 21)


def test_neighbours() -> None:
    cosines = np.array([0.9, 0.5, -0.1])
    figure = in_theme(embedding.neighbour_bars)("<b>x</b>", TOKENS[:3], cosines)
    (bars,) = figure.data
    np.testing.assert_allclose(bars.x, cosines, rtol=1e-6)
    assert list(bars.customdata) == ["0.9000", "0.5000", "−0.1000"]
    assert list(bars.text) == ["0.90", "0.50", "−0.10"] and ticks(figure, "y")[0] == "the"
    assert figure.layout.xaxis.range[0] < -0.1 and figure.layout.yaxis.autorange == "reversed"
    assert "&lt;b&gt;x&lt;/b&gt;" in figure.layout.title.text
    assert in_theme(embedding.neighbour_bars)("x", (), np.zeros(0)).data


@pytest.mark.parametrize(("stack", "colour"), [("encoder", BLUE), ("decoder", ORANGE)])
def test_the_map_shows_tokens_and_their_paths(stack: str, colour: dict[str, str]) -> None:
    points = ramp(3, 4, 2) - 1
    figure = in_theme(embedding.token_map)(TOKENS, points, ("start", "layer 1", "layer 2"), stack)
    assert [frame.name for frame in figure.frames] == ["start", "layer 1", "layer 2"]
    assert [step.label for step in figure.layout.sliders[0].steps] == ["start", "layer 1", "layer 2"]
    for index, frame in enumerate(figure.frames):
        trail, dots = frame.data
        assert [token for token, _, _ in dots.customdata] == COUNTED
        assert [
            [float(number_text.replace("−", "-")) for number_text in row[1:]] for row in dots.customdata
        ] == pytest.approx(np.round(points[index], 2), abs=0.006)
        np.testing.assert_allclose(np.stack((dots.x, dots.y), 1), points[index], rtol=1e-6)
        assert len(trail.x) == 12 and np.isnan(trail.x[2::3]).all()
        if index:
            np.testing.assert_allclose(np.stack((trail.x, trail.y), 1)[1::3], points[index], rtol=1e-6)
            np.testing.assert_allclose(np.stack((trail.x, trail.y), 1)[0::3], points[index - 1], rtol=1e-6)
        else:
            assert np.isnan(trail.x).all()
    trail, dots = figure.data
    np.testing.assert_allclose(np.stack((dots.x, dots.y), 1), points[0], rtol=1e-6)
    assert dots.marker.color == DARK[colour] and dots.text[1] == "&lt;b&gt;x&lt;/b&gt;"
    for axis, coordinates in zip("xy", points.transpose(2, 0, 1), strict=True):
        low, high = figure.layout[f"{axis}axis"].range
        assert low < coordinates.min() and high > coordinates.max()
    assert figure.layout.yaxis.scaleanchor == "x"


def test_labels_in_a_plane_do_not_overlap() -> None:
    near = np.array([[0.0, 0.0], [0.2, 0.0], [9.0, 9.0]])
    figure = embedding.token_map(("first", "second", "far"), np.stack((near, near * 5)), ("a", "b"), "encoder")
    first, second, far = figure.data[1].textposition
    assert first != second and far == "top center"
    assert list(figure.frames[0].data[1].textposition) == [first, second, far]
    assert {direction[0] for direction in embedding.LABEL_SIDES} >= {first, second}


def test_of_many_tokens_in_a_plane_those_that_fit_have_their_names() -> None:
    names = [f"token {i}" for i in range(90)]
    crowd = np.random.default_rng(3).normal(size=(2, len(names), 2))
    crowd[:, 0] = 9, 9  # far from all the others
    figure = in_theme(embedding.token_map)(names, crowd, ("a", "b"), "encoder")
    for frame, points in zip(figure.frames, crowd, strict=True):
        dots = frame.data[1]
        colours, unit = (
            np.array(dots.textfont.color),
            float(np.ptp([figure.layout.yaxis.range])) / embedding.PLANE_PIXELS[1],
        )
        assert set(colours) == {DARK[INK], embedding.HIDDEN} and colours[0] == DARK[INK]
        assert len(dots.customdata) == len(names)
        named = np.flatnonzero(colours == DARK[INK])
        assert 5 < len(named) < 80
        directions = {name: (right, up) for name, right, up in embedding.LABEL_SIDES}
        middles = []
        for token in named:
            right, up = directions[dots.textposition[token]]
            width = 0.27 * 15 * len(names[token])
            middles.append(points[token] / unit + (right * (2 * width + 14), up * 1.25 * 15))
        for index, first in enumerate(middles):
            for second in middles[:index]:
                apart = np.abs(first - second)
                assert apart[0] > 50 or apart[1] >= 18.7
    assert figure.data[1].mode == "markers+text" and list(figure.data[1].text) == names
    large = in_theme(embedding.token_map)(names, crowd, ("a", "b"), "encoder", grow=1.3).data[1]
    assert list(large.textfont.color).count(DARK[INK]) < list(figure.data[1].textfont.color).count(DARK[INK])
    assert large.textfont.size is None  # the page's own, so that it grows with all other text


@pytest.mark.parametrize("points", [np.zeros((2, 1, 2)), np.full((1, 3, 2), 4.0), ramp(2, 5, 2) * (1, 0)])
def test_a_plane_of_any_points_has_finite_bounds(points: np.ndarray) -> None:
    names = ["a"] * points.shape[1]
    figure = embedding.token_map(names, points, [f"{index}" for index in range(len(points))], "decoder")
    (left, right), (low, high) = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert left < points[..., 0].min() <= points[..., 0].max() < right
    assert low < points[..., 1].min() <= points[..., 1].max() < high
    assert 0.74 <= (high - low) / (right - left) <= 1 / 0.74


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(-0.4, 0, "0"), (-1.2, 0, "−1"), (0.126, 2, "0.13"), (-0.001, 2, "0.00"), (-12.34, 1, "−12.3")],
)
def test_signed_numbers_have_a_long_minus(value: float, digits: int, text: str) -> None:
    assert embedding.signed(value, digits) == text


def test_lengths_on_the_way_through() -> None:
    lengths = {name: ramp(3) * factor for factor, name in enumerate(residual.QUANTITIES, 1)}
    for equation in ("LayerNorm(<i>x</i> + Sublayer(<i>x</i>))", "<i>x</i> + Sublayer(LayerNorm(<i>x</i>))"):
        figure = in_theme(residual.stream_figure)(lengths, SUBLAYERS, "decoder", equation)
        for trace, name in zip(figure.data, residual.QUANTITIES, strict=True):
            np.testing.assert_allclose(trace.y, lengths[name], rtol=1e-6)
            assert trace.name == VECTORS[name]
        assert ticks(figure, "x") == SUBLAYERS and figure.data[2].line.color == DARK[ORANGE]
        assert figure.layout.title.subtitle.text == equation


def test_equations_name_the_matrix_of_the_output() -> None:
    equation = "softmax(<i>x</i> E<sup>⊤</sup>), <i>s</i> = E<i>w<sub>i</sub></i>"
    assert output.with_table(equation, tied=True, bias=False) == equation
    other = "softmax(<i>x</i> W<sup>⊤</sup> + <i>b</i>), <i>s</i> = W<i>w<sub>i</sub></i>"
    assert output.with_table(equation, tied=False, bias=True) == other


def test_lengths_token_by_token() -> None:
    lengths = {name: ramp(3, 4) * factor for factor, name in enumerate(residual.QUANTITIES, 1)}
    figure = in_theme(residual.stream_heatmap)(lengths, TOKENS, SUBLAYERS, "encoder")
    for frame, name in zip(figure.frames, residual.QUANTITIES, strict=True):
        assert frame.name == VECTORS[name]
        np.testing.assert_allclose(frame.data[0].z, lengths[name].T, rtol=1e-6)
    np.testing.assert_allclose(figure.data[0].z, lengths["sum"].T, rtol=1e-6)
    assert figure.layout.sliders[0].active == 2
    every = np.concatenate([values.ravel() for values in lengths.values()])
    assert (figure.data[0].zmin, figure.data[0].zmax) == (0, pytest.approx(np.quantile(every, 0.99)))
    assert figure.data[0].colorbar.ticktext == ("0", "3.29", "≥ 6.59")
    assert ticks(figure, "x") == SUBLAYERS and len(ticks(figure, "y")) == 4
    assert np.asarray(figure.data[0].customdata).tolist() == [[token] * 3 for token in COUNTED]


@pytest.mark.parametrize(("stack", "colour"), [("encoder", BLUE), ("decoder", ORANGE)])
def test_shares(stack: str, colour: dict[str, str]) -> None:
    shares = ramp(5, 4) - 1
    parts = ("embedding", "positions", *SUBLAYERS)
    figure = in_theme(residual.share_heatmap)(shares, TOKENS, parts, stack)
    (cells,) = figure.data
    np.testing.assert_allclose(cells.z, 100 * shares.T, rtol=1e-5)
    assert cells.zmid == 0 and cells.zmin == -cells.zmax and ticks(figure, "x") == parts
    assert [colour for _, colour in cells.colorscale] == [DARK[INK], DARK[PAPER], DARK[colour]]
    assert cells.texttemplate and cells.text[0][0] == "−86" and cells.text[0][4] == "143"
    assert list(cells.customdata[1][0]) == [COUNTED[1], "−71.4"]
    many = residual.MOST_NUMBERS + 1
    assert not in_theme(residual.share_heatmap)(ramp(5, many), ["a"] * many, parts, stack).data[0].texttemplate


def test_the_lens() -> None:
    probability, rank = ramp(3, 4) / 2, np.arange(92, 104).reshape(3, 4)
    for pre in (False, True):
        figure = in_theme(output.lens_heatmap)(probability, rank, SUBLAYERS, TOKENS, pre)
        (cells,) = figure.data
        np.testing.assert_allclose(cells.z, probability, rtol=1e-6)
        assert [[cell[1] for cell in row] for row in cells.customdata] == rank.tolist()
        assert [[cell[0] for cell in row] for row in cells.customdata] == [COUNTED] * 3
        assert [*cells.text[0], *cells.text[1]] == ["92", "93", "94", "95", "96", "97", "98", "99"]
        assert [*cells.text[2]] == [""] * 4  # too long for a cell
        assert (cells.zmin, cells.zmax) == (0, 1) and ticks(figure, "y") == SUBLAYERS
        assert figure.layout.yaxis.autorange == "reversed"
        assert ("LayerNorm" in figure.layout.title.subtitle.text) == pre
        assert cells.texttemplate and "rank" in figure.layout.title.subtitle.text
    many = output.MOST_RANKS + 1
    figure = output.lens_heatmap(ramp(3, many), ramp(3, many), SUBLAYERS, ["a"] * many)
    assert not figure.data[0].texttemplate and "rank" not in figure.layout.title.subtitle.text


def test_how_sure_every_step_is() -> None:
    shown, likeliest = np.array([0.9, 0.2, 0.5, 1.0]), np.array([0.9, 0.6, 0.5, 1.0])
    figure = in_theme(output.step_bars)(TOKENS, shown, likeliest)
    np.testing.assert_allclose(figure.data[0].y, shown, rtol=1e-6)
    assert list(figure.data[1].x) == [1] and figure.data[1].y[0] == pytest.approx(0.6)
    assert [token for token, _ in figure.data[0].customdata] == COUNTED and figure.layout.showlegend
    assert [bool(more) for _, more in figure.data[0].customdata] == [False, True, False, False]
    assert "0.6000" in figure.data[0].customdata[1][1]
    assert figure.data[1].hoverinfo == "skip"  # a click there means the step, whose bar lies below
    figure = in_theme(output.step_bars)(TOKENS, shown, shown)
    assert len(figure.data) == 1 and not figure.layout.showlegend


def test_candidates() -> None:
    values = np.array([0.7, 0.2, 0.0001])
    figure = in_theme(output.candidate_bars)("<b>x</b>", TOKENS[:3], values, 1)
    (bars,) = figure.data
    np.testing.assert_allclose(bars.x, values, rtol=1e-6)
    assert list(bars.text) == ["0.700", "0.200", "&lt;.001"]
    assert list(bars.marker.color) == [DARK[GREY], DARK[ORANGE], DARK[GREY]]
    assert set(in_theme(output.candidate_bars)("a", TOKENS, ramp(4), None).data[0].marker.color) == {DARK[GREY]}


def test_a_row_at_input_and_output() -> None:
    entering, leaving = ramp(6) - 0.5, -ramp(6)
    figure = in_theme(output.row_strip)("<b>x</b>", entering, leaving)
    (cells,) = figure.data
    np.testing.assert_allclose(cells.z, np.stack((entering, leaving)), rtol=1e-6)
    assert cells.zmid == 0 and ticks(figure, "y") == ("input", "output")


def test_a_long_sentence_has_fewer_labels_and_no_endless_figure() -> None:
    labels, lengths = [f"t{i}" for i in range(128)], {name: ramp(3, 128) for name in residual.QUANTITIES}
    figure = residual.stream_heatmap(lengths, labels, SUBLAYERS, "encoder")
    assert len(figure.layout.yaxis.tickvals) <= 18 and figure.layout.height < 640
    assert figure.layout.meta["labels"]["y"] == tuple(labels) or figure.layout.meta["labels"]["y"] == labels
    figure = residual.share_heatmap(ramp(3, 128), labels, SUBLAYERS, "encoder")
    assert len(figure.layout.yaxis.tickvals) <= 48 and figure.layout.height < 1200
