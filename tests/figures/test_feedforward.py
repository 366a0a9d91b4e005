"""The figures of the feed-forward page: they draw the given data, and each names equation 2."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from transformer.analysis.activations import ACTIVE, nonlinearity
from transformer.figures import feedforward, single_neurons
from transformer.figures.style import BLUE, GREY, INK, ORANGE

STEPS = (0.0, 0.05, 0.1)
RNG = np.random.default_rng(4)
SHARES = {
    "encoder": np.sort(RNG.random((3, 2, 5), dtype=np.float32), 0)[::-1],
    "decoder": np.sort(RNG.random((3, 3, 7), dtype=np.float32), 0)[::-1],
}
TOKENS = {"encoder": ["the", "the", "<b>x</b>", ".", "</s>"], "decoder": ["<s>", *"abcdef"]}


def activity(**more: object) -> go.Figure:
    return feedforward.activity(SHARES, STEPS, TOKENS, **{"published": 0.03, **more})  # type: ignore[arg-type]


def test_the_map_shows_every_share_and_the_means_over_tokens() -> None:
    theme = "dark"
    figure = activity(start=1, theme=theme)
    first, second, third, fourth, line, second_line = figure.data
    for bar, heat, stack, colour in ((first, third, "encoder", BLUE), (second, fourth, "decoder", ORANGE)):
        assert np.allclose(heat.z, 100 * SHARES[stack][1].T) and np.allclose(bar.y, 100 * SHARES[stack][1].mean(-1))
        assert list(heat.x) == list(bar.x) == list(range(1, len(SHARES[stack][1]) + 1))
        assert bar.marker.color == colour[theme] == heat.colorscale[1][1]
        assert (heat.zmin, heat.zmax) == (0, pytest.approx(100 * max(share.max() for share in SHARES.values())))
    for dashes, layers in ((line, 2), (second_line, 3)):
        assert list(dashes.x) == [0.5, layers + 0.5] and list(dashes.y) == [3.0, 3.0]  # one line, unbroken
    assert line.line.color == GREY[theme] and line.line.dash == "dash"
    assert line.name == "3.0% in T5-Base (another model, other data)" and line.showlegend and not second_line.showlegend
    assert figure.layout.yaxis3.range == (6.5, -0.5)  # the first token on top
    assert list(figure.layout.yaxis3.ticktext) == ["the", "the", "&lt;b&gt;x&lt;/b&gt;", ".", "&lt;/s&gt;"]
    assert figure.layout.meta["labels"]["y4"] == TOKENS["decoder"]
    assert "equation 2" in figure.layout.title.subtitle.text and "max(0, " in figure.layout.title.subtitle.text


def test_a_share_of_a_relu_is_compared_with_a_relu_only() -> None:
    for kind in ("gelu", "swish"):
        figure = activity(kind=kind)
        assert len(figure.data) == 4 and not figure.layout.showlegend


def test_a_number_that_the_dashed_line_would_cross_is_in_its_bar() -> None:
    shares = {"encoder": np.array([[[0.2], [0.27], [0.31], [0.6]]]), "decoder": np.array([[[0.1], [0.3]]])}
    tokens = {stack: ["a"] for stack in shares}
    figure = feedforward.activity(shares, [0.0], tokens, published=0.3)
    # The axis ends at 72, so a number takes 14.4 above its bar.
    assert list(figure.data[0].textposition) == ["inside", "inside", "outside", "outside"]
    assert list(figure.data[1].textposition) == ["outside", "outside"]
    assert list(figure.frames[0].data[0].textposition) == list(figure.data[0].textposition)


def test_every_threshold_is_a_frame_and_the_slider_knows_them() -> None:
    figure = activity(start=2)
    assert [frame.name for frame in figure.frames] == ["0.00", "0.05", "0.10"]
    for index, frame in enumerate(figure.frames):
        assert tuple(frame.traces) == (0, 1, 2, 3)
        for column, stack in enumerate(SHARES):
            assert np.allclose(frame.data[column].y, 100 * SHARES[stack][index].mean(-1))
            assert np.allclose(frame.data[column + 2].z, 100 * SHARES[stack][index].T)
            assert frame.data[column].type == "bar" and frame.data[column + 2].type == "heatmap"
    (slider,) = figure.layout.sliders
    assert slider.active == 2 and slider.currentvalue.prefix == "Threshold: " and len(slider.steps) == 3
    top = figure.layout.yaxis.range[1]
    assert top > max(frame.data[0].y.max() for frame in figure.frames) and figure.layout.yaxis2.range[1] == top


def test_a_map_of_many_tokens_is_no_higher_than_a_screen_and_a_half_and_writes_no_numbers() -> None:
    shares = {stack: np.zeros((1, 4, 128), dtype=np.float32) for stack in SHARES}
    figure = feedforward.activity(shares, [0.0], {stack: ["a"] * 128 for stack in shares}, kind="gelu")
    assert figure.layout.height < 1_300 and figure.data[2].texttemplate is None and len(figure.data) == 4
    assert len(figure.layout.yaxis3.ticktext) <= 40
    assert "GELU(" in figure.layout.title.subtitle.text and figure.data[2].zmax > 0  # also where nothing is active


def test_the_histogram_has_every_count() -> None:
    edges, before, after = np.array([-1.0, 0.0, 1.0, 2.0]), np.array([5, 0, 2]), np.array([0, 6, 1])
    first, second = feedforward.histogram(edges, before, after, "decoder", 1).data
    assert list(first.y) == [5, 0, 2] and list(second.y) == [0, 6, 1]
    assert list(first.x) == list(second.x) == [-0.5, 0.5, 1.5] and list(first.width) == [1.0] * 3
    assert np.asarray(first.customdata).tolist() == [[-1, 0], [0, 1], [1, 2]]
    figure = feedforward.histogram(edges, before, after, "decoder", 1, "gelu", theme="dark")
    assert (
        figure.data[0].marker.color == ORANGE["dark"] and figure.layout.yaxis.type == figure.layout.yaxis2.type == "log"
    )
    assert "decoder layer 2" in figure.layout.title.text and "equation 2" in figure.layout.title.subtitle.text


def test_the_spread_has_a_bar_for_every_number_of_tokens() -> None:
    counts = np.array([690, 0, 12, 1])
    figure = feedforward.spread(counts, "encoder", 0, 0.2)
    (bars,) = figure.data
    assert list(bars.x) == [0, 1, 2, 3] and list(bars.y) == [690, 0, 12, 1] and bars.marker.color == BLUE["light"]
    assert "3 in all" in figure.layout.xaxis.title.text and "0.20" in figure.layout.title.subtitle.text
    low, high = figure.layout.yaxis.range
    assert 10**low < 1 and 10**high > 690
    assert feedforward.spread(np.ones(130), "encoder", 0, 0.0).data[0].texttemplate is None


@pytest.mark.parametrize(("kind", "word"), [("relu", "max(0, "), ("gelu", "GELU("), ("swish", "swish(")])
def test_the_strongest_neurons_are_counted_from_1_and_the_chosen_one_stands_out(kind: str, word: str) -> None:
    activation, lengths = np.array([3.0, 2.0, 0.5]), np.array([1.5, 4.0, 0.25])
    figure = single_neurons.strongest([7, 0, 1023], activation, lengths, "decoder", "<b>", chosen=0, kind=kind)
    bars, marks = figure.data
    assert list(bars.y) == [3.0, 2.0, 0.5] and list(marks.y) == [1.5, 4.0, 0.25] and marks.mode == "markers"
    assert list(figure.layout.xaxis.ticktext) == ["8", "1", "1,024"] == list(bars.customdata)
    assert bars.marker.opacity[1] == 1 and max(bars.marker.opacity[0], bars.marker.opacity[2]) < 1
    assert (bars.marker.color, marks.marker.color) == (ORANGE["light"], INK["light"])
    assert figure.layout.yaxis.range[0] == 0 and figure.layout.yaxis.range[1] > 4
    assert "“&lt;b&gt;”" in figure.layout.title.text
    assert "equation 2" in figure.layout.title.subtitle.text and word in figure.layout.title.subtitle.text
    for chosen in (None, 5):  # no bar is the chosen one: none stands back
        without_chosen = single_neurons.strongest([1, 2], activation[:2], lengths[:2], "encoder", "a", chosen)
        assert list(without_chosen.data[0].marker.opacity) == [1.0, 1.0]
    below = single_neurons.strongest([1], np.array([-0.1]), np.array([0.2]), "encoder", "a", kind="gelu")
    assert below.layout.yaxis.range[0] < -0.1


def test_the_vocabulary_keeps_signs_and_shows_markup_as_text() -> None:
    scores, deviations = np.array([0.5, 0.25, -0.75]), np.array([4.0, 2.0, -6.0])
    labels, pieces = ["<i>", "b", "b"], ["▁<i>", "▁b", "b"]
    figure = single_neurons.vocabulary(labels, pieces, scores, deviations, 41, "encoder", theme="dark")
    (bars,) = figure.data
    assert list(bars.x) == [0.5, 0.25, -0.75]
    assert list(bars.marker.color) == [BLUE["dark"], BLUE["dark"], INK["dark"]]
    assert list(figure.layout.yaxis.ticktext) == ["&lt;i&gt;", "b", "b"]
    assert list(bars.text) == ["+0.50", "+0.25", "−0.75"]  # a minus as long as the plus
    expected = [["▁&lt;i&gt;", "+0.500", "+4.0"], ["▁b", "+0.250", "+2.0"], ["b", "−0.750", "−6.0"]]
    assert [list(row) for row in bars.customdata] == expected
    assert "42" in figure.layout.title.text and figure.layout.xaxis.range[0] < -0.75
    assert figure.layout.xaxis.range[0] == -figure.layout.xaxis.range[1]


def test_silent_neurons_per_layer() -> None:
    never = {"encoder": np.array([230, 4]), "decoder": np.array([2, 0, 1])}
    always = {"encoder": np.array([0, 1]), "decoder": np.array([0, 0, 3])}
    figure = single_neurons.silent(never, always, 1024, 0.2, "120 <pairs>")
    assert [list(bars.y) for bars in figure.data] == [[230, 4], [0, 1], [2, 0, 1], [0, 0, 3]]
    assert [list(bars.text) for bars in figure.data] == [["230", "4"], ["", "1"], ["2", "", "1"], ["", "", "3"]]
    assert [bars.name for bars in figure.data[:2]] == ["encoder, never", "encoder, always"]
    assert figure.data[1].marker.pattern.shape == "/" and figure.layout.yaxis.title.text == "neurons of 1,024"
    assert "&gt; 0.20" in figure.layout.title.subtitle.text and "120 &lt;pairs&gt;" in figure.layout.title.subtitle.text
    nothing = {stack: np.zeros(2, dtype=int) for stack in never}
    assert single_neurons.silent(nothing, nothing, 8, 0.0).layout.yaxis.range[1] > 0


@pytest.mark.parametrize("kind", ACTIVE)
def test_the_models_own_function_is_bold(kind: str) -> None:
    z = np.linspace(-2, 2, 41)
    curves = {name: nonlinearity(name, z) for name in ACTIVE}
    ticks = np.array([-1.5, -0.5, 1.0], dtype=np.float32)
    values, slopes = ({name: getattr(curve, part) for name, curve in curves.items()} for part in ("value", "slope"))
    figure = feedforward.curves(z, values, slopes, kind, ticks, 1_280, "encoder")
    first, derivative, second, _, third, _, rug = figure.data
    assert np.array_equal(first.y, curves[kind].value) and np.array_equal(
        derivative.y, curves[kind].slope, equal_nan=True
    )
    assert first.name.endswith(", this model") and not second.name.endswith(", this model")
    assert {first.name.split(",")[0], second.name, third.name} == set(feedforward.NAMES.values())
    assert len({first.line.dash, second.line.dash, third.line.dash}) == 3
    assert first.line.width > second.line.width and (first.line.color, second.line.color) == (
        BLUE["light"],
        INK["light"],
    )
    assert (first.yaxis, derivative.yaxis, rug.yaxis) == ("y", "y2", "y3") and first.line.dash == "solid"
    assert list(rug.x) == [-1.5, -0.5, 1.0] and rug.name == "3 of 1,280 pre-activations"
    assert "equation 2" in figure.layout.title.subtitle.text
