"""The part "before": what models can do with longer inputs, one input by three models, and two attention maps."""

import functools
import html
import re
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer
from pages.anatomy.rnn import KINDS, LETTERS, recorded, right_letters
from tests.support.app import address, array, figures, messages, open_page, page_text
from tests.support.figures import in_theme
from transformer import rnn
from transformer.cost.complexity import Sizes, path
from transformer.figures.recurrent import MARKED, additive_map, cross_map
from transformer.rnn.alignment import alignment, best_head, right_cells

pytestmark = pytest.mark.slow  # many cold pages

MODELS = ("recurrent, no attention", "recurrent, attention", "Transformer")
BUNDLED = Path(transformer.__file__).resolve().parent.parent / "checkpoints"


open_before = functools.partial(open_page, "anatomy", part="before", target="")


def rows(app: AppTest) -> dict[str, list[str]]:
    """Both tables: name of a row -> its cells."""
    bodies = [element.proto.body for element in app.get("html") if "hs-tr-table" in element.proto.body]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", "".join(bodies))]
    return {html.unescape(row[0]): [html.unescape(cell_text) for cell_text in row[1:]] for row in cells}


def outputs(app: AppTest) -> list[str]:
    """What the models write, and whether it is right: without attention, with attention, the Transformer."""
    return [f"{rows(app)[name][0]} {rows(app)[name][1][0]}" for name in MODELS]


# -- the page ---------------------------------------------------------------------------------------------------------


PATH = "longest path, in steps from the input of the first token to the output at the last"


@pytest.mark.parametrize("heads", ["best", "mean"])
def test_both_maps_are_those_of_the_models(heads: str) -> None:
    app = open_before(heads=heads)
    assert not messages(app)
    old = rnn.load("reverse-recurrent").trace(LETTERS)
    new = transformer.load(BUNDLED / "reverse").trace(LETTERS)
    drawn = figures(app)
    del drawn["input-length"]
    np.testing.assert_allclose(array(drawn["before-additive-attention"]["data"][0]["z"]), old.weights, atol=1e-6)
    head = best_head(new.cross.weights)
    wanted = new.cross.weights[head] if heads == "best" else new.cross.weights.mean((0, 1))
    np.testing.assert_allclose(array(drawn["before-cross-attention"]["data"][0]["z"]), wanted, atol=1e-6)
    for figure, trace in zip(drawn.values(), (old, new), strict=True):
        labels = figure["layout"]["meta"]["labels"]
        assert labels == {"x": list(trace.source_labels), "y": list(trace.target_out_labels)}
        assert (figure["data"][0]["zmin"], figure["data"][0]["zmax"]) == (0, 1)
        assert len(figure["layout"]["shapes"]) == 16
    assert drawn["before-additive-attention"]["layout"]["height"] == drawn["before-cross-attention"]["layout"]["height"]
    table, aligned = rows(app), alignment(old.weights)
    assert outputs(app)[1:] == [f"{LETTERS[::-1]} ✓"] * 2
    without = rnn.load("reverse-no-attention").trace(LETTERS)
    assert table[MODELS[0]] == [without.target_text, f"✗ {right_letters(without)} of 16"]
    assert table["weight on the right letter, mean"][0] == f"{aligned.weight:.3f}"
    assert table["weight on the right letter, mean"][1].startswith(f"{alignment(wanted).weight:.3f} (")
    assert table["probability of its least certain letter"][1] == f"{float(new.probabilities.min()):.3f}"
    assert table["probability of everything it wrote"][0] == f"{float(old.probabilities.double().prod()):.3f}"
    assert table["largest weight on the right letter"][0] == "16 of 16 letters"
    assert table["sequential steps to read"] == ["17, one per token", "2 layers, all tokens at once"]
    sizes = Sizes(17, 64)  # 16 letters and </s>: one definition on the whole page
    assert table[PATH] == [str(path("recurrent", sizes)), f"{path('attention', sizes)}, in each layer"]
    assert table[PATH][0] == "17" and "a path of length 17 from the first to the last" in page_text(app)
    hits = alignment(wanted).hits
    assert f"the recurrent one for 16 of 16 letters, the Transformer for {hits} of 16" in page_text(app)
    assert table["parameters"] == ["150,848", "169,408"]
    assert "17 × 128 = 2,176 numbers" in page_text(app) and "128 numbers, however long" in page_text(app)
    assert len(app.get("expander")) == 1 and "3.2.1" in app.expander[0].markdown[0].value
    assert [latex.value.count("e_{ij}") for latex in app.latex] == [1, 1]


def test_a_checkpoint_of_another_task_gets_its_own_letters() -> None:
    app = open_before()
    assert "The open model, tiny, reads Invented" in page_text(app)
    app.text_input("anatomy_letters").input("abc").run()
    assert not app.exception and outputs(app) == ["cba ✓"] * 3
    assert open_before(letters="abc").text_input("anatomy_letters").value == address(app)["letters"] == "abc"
    app.button_group("anatomy_heads").set_value("mean").run()
    assert address(app)["heads"] == "mean" and "(mean of all heads)" in rows(app)["weight on the right letter, mean"][1]


def test_letters_right_are_counted_from_the_first() -> None:
    trace = rnn.load("reverse-recurrent").trace
    counted = [right_letters(trace("abc", written)) for written in ("cba", "cbx", "xcba", "cb")]
    assert counted == [3, 2, 0, 2]
    app = open_before(letters="q")
    assert rows(app)[PATH] == ["2", "1, in each layer"]


def test_a_checkpoint_that_reverses_begins_with_the_source() -> None:
    app = open_before(checkpoint="reverse-gelu", source="Hello")
    assert outputs(app) == ["olleh ✓"] * 3
    assert [field.key for field in app.text_input] == ["anatomy_letters"]  # no sentence beside the letters
    assert "Transformer reverse-gelu" in page_text(app) and "The open model" not in page_text(app)
    gelu_trace = transformer.load(BUNDLED / "reverse-gelu").trace("Hello")
    drawn = array(figures(app)["before-cross-attention"]["data"][0]["z"])
    np.testing.assert_allclose(drawn, gelu_trace.cross.weights[best_head(gelu_trace.cross.weights)], atol=1e-6)


@pytest.mark.parametrize(
    ("letters", "right"),
    [
        ("abcdef", (True, True, True)),
        ("abcdefghijklmnopqr", (False, True, False)),
        ("abcdefghijklmnopqrstuvwxyz", (False, False, False)),
    ],
)
def test_which_model_still_writes_without_an_error(letters: str, right: tuple[bool, ...]) -> None:
    app = open_before(letters=letters)
    assert [output[-1] == "✓" for output in outputs(app)] == list(right)
    assert [output[:-2] == letters[::-1] for output in outputs(app)] == list(right)
    assert (f"These are {len(letters)} letters" in messages(app, notes=True)) == (len(letters) > 16)


def test_the_point_and_the_curves_are_the_recorded_numbers() -> None:
    app, found = open_before(), recorded()
    assert list(found["lengths"]) == sorted(found["lengths"]) and found["trained"] in found["lengths"]
    at = found["lengths"].index(found["trained"])
    curves = figures(app)["input-length"]["data"]
    for number, kind in enumerate(KINDS):
        runs = found[kind]["exact"]
        assert len(runs) == len(found["seeds"]) == 3 and all(len(run) == len(found["lengths"]) for run in runs)
        mean = [sum(values) / 3 for values in zip(*runs, strict=True)]
        assert curves[4 * number]["y"] == pytest.approx(mean) and curves[4 * number]["name"] == MODELS[number]
        assert f"{mean[at]:.0%}" in page_text(app)
    none, with_attention = (found[kind]["exact"] for kind in KINDS[:2])
    assert max(run[at] for run in none) < min(run[at] for run in with_attention)  # the page's point, in every seed


@pytest.mark.parametrize(
    ("letters", "sentence"),
    [
        ("a" * 1000, "The source text has 1,001 tokens; at most 40 are allowed, shorten it."),
        ("   ", "The source text is empty; type a sentence of up to 40 tokens."),
        ("straße 5!", "These models know the letters a to z and the space; leave out: ß 5!"),
        ("<b>", "leave out: < >"),
    ],
)
def test_letters_that_cannot_be_read_get_one_sentence_and_stay(letters: str, sentence: str) -> None:
    app = open_before(letters=letters)
    assert list(figures(app)) == ["input-length"]
    assert sentence in html.unescape(messages(app)) and "<b>" not in messages(app)
    assert app.text_input("anatomy_letters").value == letters
    app.text_input("anatomy_letters").input("ab").run()
    assert not app.exception and not messages(app) and outputs(app)[0] == "ba ✓"


def test_a_source_that_cannot_be_traced_gives_one_message() -> None:
    for source in ("", "a" * 1000):
        app = open_before(checkpoint="reverse", source=source)
        assert list(figures(app)) == ["input-length"]
        assert messages(app).count("hs-message") == 1
    app = open_before(source="")  # of the other checkpoint: the letters here are others
    assert len(figures(app)) == 3


def test_without_the_bundled_transformer(folder: Path) -> None:
    (folder / "tiny").rename(folder / "reverse")  # first in the order of the folders searched
    app = open_before(checkpoint="reverse")
    assert "The checkpoint &#x27;reverse&#x27; does not reverse letters." in messages(app)


# -- the figures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_map_says_what_it_shows(theme: str) -> None:
    values = np.array([[0.1, 0.7, 0.2], [0.5, 0.4, 0.1], [0.0, 0.0, 1.0]])
    make = in_theme(additive_map, theme)
    figure = make(values, ("b", "<i>a", "</s>"), ("<i>a", "b", "</s>"), right_cells(3, 3))
    (heat,) = figure.data
    np.testing.assert_allclose(heat.z, values, atol=1e-7)
    assert (
        figure.layout.title.text == "Recurrent: its only attention map" and "tanh" in figure.layout.title.subtitle.text
    )
    assert figure.layout.yaxis.autorange == "reversed" and heat.customdata[1][0] == ["&lt;i&gt;a", "&lt;i&gt;a"]
    frames = [(shape.x0, shape.x1, shape.y0, shape.y1) for shape in figure.layout.shapes]
    assert frames == [(0.5, 1.5, -0.5, 0.5), (-0.5, 0.5, 0.5, 1.5)]
    assert heat.colorscale[1][1] == {"light": "#7a2f8f", "dark": "#d795ea"}[theme]


def test_cross_attention_of_a_head_and_the_mean_of_all() -> None:
    values = np.random.default_rng(1).random((2, 3, 5, 4))
    labels = ("a", "b", "c", "d", "</s>"), ("a", "b", "c", "</s>")
    single = cross_map(values, *labels, right_cells(4, 5), 16, (1, 2))
    np.testing.assert_allclose(single.data[0].z, values[1, 2], atol=1e-6)
    assert "layer 2, head 3" in single.layout.title.text and "= 16" in single.layout.title.subtitle.text
    mean = cross_map(values, *labels, right_cells(4, 5), 16)
    np.testing.assert_allclose(mean.data[0].z, values.mean((0, 1)), atol=1e-6)
    assert "all 6 heads" in mean.layout.title.text


def test_long_maps_are_not_framed_and_not_endless() -> None:
    count = MARKED + 1
    long = additive_map(np.eye(count), ["a"] * count, ["a"] * count, right_cells(count, count))
    assert not long.layout.shapes
    short = additive_map(np.eye(3), ["a"] * 3, ["a"] * 3, right_cells(3, 3), rows=count)
    assert not short.layout.shapes and short.layout.height == long.layout.height
    longest = additive_map(np.eye(63), ["a"] * 63, ["a"] * 63, right_cells(63, 63))
    assert longest.layout.height == additive_map(np.eye(40), ["a"] * 40, ["a"] * 40, []).layout.height < 760
