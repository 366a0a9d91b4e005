"""The figures of the feed-forward page: they draw the given data, and each names equation 2."""

import numpy as np
import pytest

from tests.support.figures import in_theme
from transformer.analysis.activations import ACTIVE, nonlinearity
from transformer.figures import feedforward, single_neurons
from transformer.figures.style import BLUE, DARK, INK, ORANGE


@pytest.mark.parametrize(("kind", "word"), [("relu", "max(0, "), ("gelu", "GELU("), ("swish", "swish(")])
def test_the_strongest_neurons_are_counted_from_1_and_the_chosen_one_stands_out(kind: str, word: str) -> None:
    activation, lengths = np.array([3.0, 2.0, 0.5]), np.array([1.5, 4.0, 0.25])
    figure = single_neurons.strongest([7, 0, 1023], activation, lengths, "decoder", "<b>", chosen=0, kind=kind)
    bars, marks = figure.data
    assert list(bars.y) == [3.0, 2.0, 0.5] and list(marks.y) == [1.5, 4.0, 0.25] and marks.mode == "markers"
    assert list(figure.layout.xaxis.ticktext) == ["8", "1", "1,024"] == list(bars.customdata)
    assert bars.marker.opacity[1] == 1 and max(bars.marker.opacity[0], bars.marker.opacity[2]) < 1
    assert (bars.marker.color, marks.marker.color) == (ORANGE, INK)
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
    figure = in_theme(single_neurons.vocabulary)(labels, pieces, scores, deviations, 41, "encoder")
    (bars,) = figure.data
    assert list(bars.x) == [0.5, 0.25, -0.75]
    assert list(bars.marker.color) == [DARK[BLUE], DARK[BLUE], DARK[INK]]
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
    assert first.line.width > second.line.width and (first.line.color, second.line.color) == (BLUE, INK)
    assert (first.yaxis, derivative.yaxis, rug.yaxis) == ("y", "y2", "y3") and first.line.dash == "solid"
    assert list(rug.x) == [-1.5, -0.5, 1.0] and rug.name == "3 of 1,280 pre-activations"
    assert "equation 2" in figure.layout.title.subtitle.text
