"""Rules for every figure: title, equation, axes, text size, both themes, and translatable labels."""

import importlib
import json
import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import partial
from inspect import getmembers, isfunction
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.support.build import tiny_pretrained
from tests.support.figures import colour_in
from transformer import figures
from transformer.figures import (
    attention,
    attribution,
    complexity,
    embedding,
    feedforward,
    importance,
    layer_norm,
    learned_positions,
    output,
    permutation,
    positions,
    recipe,
    recurrent,
    relative_positions,
    residual,
    results,
    roles,
    single_neurons,
    training,
)
from transformer.figures.drawing import Drawing, drawing
from transformer.figures.style import PALETTE
from transformer.texts import Language, in_language

# Names of models, tokens and layers are handed over marked with ¤, as translated labels are below.
TOKENS = ("¤the", "¤<b>x</b>", "¤the", "¤</s>")
LAYERS = ("¤self 1", "¤FFN 1", "¤self 2")
KINDS = {kind: f"¤{kind}" for kind in complexity.STROKES}
COUNTS = {kind: [1, 2, 3] for kind in complexity.STROKES}
SIZES = {"n": 12, "d": 256, "kernel": 3, "window": 5}
BOTH = {"encoder": np.array([1, 0]), "decoder": np.array([2, 3])}
# Words of formulas, which are the same in every language.
FORMULA = {"softmax", "tanh", "cos", "sin", "model", "LayerNorm", "Sublayer", "ReLU", "GELU", "swish", "source"}
MARKUP, WORD = re.compile("<[^>]*>"), re.compile("[A-Za-z]{3,}")


class Marked(Mapping[str, str]):
    """Translations that mark every text."""

    def __getitem__(self, text: str) -> str:
        return f"¤{text}"

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def ramp(*shape: int) -> np.ndarray:
    return np.arange(1, 1 + np.prod(shape), dtype=np.float64).reshape(shape) / 7


TABLE, WAVES, VALUES = ramp(40, 34), ramp(17), ramp(3)
CURVES = {name: VALUES for name in ("relu", "gelu", "swish")}
LENGTHS = {name: ramp(3) for name in residual.QUANTITIES}
TABLES = {"¤formula": VALUES, "¤<i>mine": VALUES}
THREE, SQUARE = ("¤a", "¤b", "¤c"), [[0.1, 0.2, 0.3]] * 3
LOGGED = [{"step": "1", "loss": "2", "validation_loss": "3", "bleu": "4"}, {"step": "2", "loss": "1"}]
TRACE = tiny_pretrained().trace("<b>x ka lo", "<i>mine mi")
FIGURES: list[partial[go.Figure]] = [
    partial(attention.head_map, TRACE, "decoder_self", None, None),
    partial(attention.head_grid, TRACE, "decoder_self"),
    partial(attention.weight_map, TRACE, "cross", TRACE.cross.weights[0, 0].tolist(), "¤mean"),
    partial(attention.difference_map, TRACE, "cross", TRACE.cross.weights[0, 0].tolist(), "¤difference"),
    partial(attribution.removal_curves, {"gradient": VALUES, "random": VALUES}, {"gradient": "¤gradient"}),
    partial(attribution.source_share, VALUES, THREE, "¤gradient"),
    partial(complexity.counts, [2, 12, 512], COUNTS, KINDS, SIZES, False),
    partial(complexity.counts, [2, 12, 512], COUNTS, KINDS, SIZES, True),
    partial(complexity.timings, {"attention": [(8, 0.2, 0.1, 0.4)]}, [8, 16], KINDS, SIZES),
    partial(embedding.norm_figure, TOKENS, ramp(4), ramp(4), ramp(4), "source"),
    partial(embedding.neighbour_bars, "¤a", TOKENS, ramp(4)),
    partial(embedding.token_map, TOKENS, ramp(2, 4, 2), ("0", "1"), "encoder"),
    partial(feedforward.curves, VALUES, CURVES, CURVES, "gelu", VALUES, 9, "decoder"),
    partial(feedforward.moved_columns, TOKENS, ramp(3, 4), 1.0, "¤After attention"),
    partial(feedforward.left_out, {"encoder": {"¤self 1": 1.5}, "decoder": {"¤FFN 1": 3.0}}, 1.2),
    partial(relative_positions.bias_by_distance, "encoder", ("3+", "1–2", "0"), ramp(2, 3) - 0.5),
    partial(importance.pruning_curves, "bleu", (3, 2, 1), VALUES, VALUES, [VALUES, VALUES], 2),
    partial(importance.predicted, [("cross", 1, 1), ("encoder_self", 1, 2)], VALUES[:2], VALUES[:2]),
    partial(layer_norm.layer_norm, *ramp(5, 3), "¤<b>x", "¤self 1"),
    partial(layer_norm.what_is_left, VALUES, VALUES, LAYERS),
    partial(learned_positions.tables_beside, TABLE, TABLE, tuple(TABLES), (0, 16)),
    partial(learned_positions.row_norms, TABLES, (0, 1)),
    partial(learned_positions.neighbour_cosines, TABLES, (0, 1)),
    partial(learned_positions.exact_by_length, [4, 5], {"¤one": [1.0, None]}, (1, 4)),
    partial(output.lens_heatmap, ramp(3, 4), ramp(3, 4), LAYERS, TOKENS),
    partial(output.step_bars, TOKENS, ramp(4), 2 * ramp(4)),
    partial(output.candidate_bars, "¤a", TOKENS, ramp(4)),
    partial(output.row_strip, "¤a", ramp(4), ramp(4)),
    partial(permutation.permutation_deviations, VALUES, VALUES, VALUES),
    partial(positions.encoding_heatmap, TABLE, (0, 7)),
    partial(positions.encoding_curves, TABLE, (0, 7), WAVES, TOKENS),
    partial(positions.wavelength_curve, WAVES, (0, 7), 40),
    partial(positions.product_matrix, ramp(40, 40), 4, 17.0),
    partial(positions.products_by_offset, ramp(79), ramp(79), ramp(40), 4, 17.0),
    partial(positions.shift_matrix, ramp(34, 34), 3),
    partial(positions.shifted_beside, TABLE, TABLE, 3),
    partial(recipe.rates, {"¤ours": (VALUES, VALUES)}, (VALUES, VALUES), "¤recorded"),
    partial(recipe.warmup_ends, {0: VALUES, 300: VALUES}),
    partial(recipe.warmup_losses, VALUES, {warmup: SQUARE for warmup in (0, 1, 2, 3)}, 0.1),
    partial(recipe.length_histogram, [3, 3, 5], [4, 4, 9], [3, 3], [4, 4], 2),
    partial(recipe.step_tokens, [3, 5], [4, 9], [0, 2], 2),
    partial(recipe.scatter, THREE, SQUARE, VALUES, 0.1),
    partial(recipe.smoothed_targets, THREE, VALUES, VALUES, 0.1, "¤<b>x"),
    partial(recipe.calibration, {name: (VALUES, VALUES) for name in ("0", "0.1", "0.2")}),
    partial(recurrent.attention_map, ramp(3, 4) / 9, LAYERS, TOKENS, [(0, 1)], "¤map", "¤equation"),
    partial(recurrent.additive_map, ramp(3, 4) / 9, LAYERS, TOKENS, [(0, 1)]),
    partial(recurrent.exact_by_length, [2, 4], {"no-attention": [[1, 0.5]], "transformer": [[1, 1]]}, 4, 200),
    partial(recurrent.cross_map, ramp(2, 2, 3, 4) / 9, LAYERS, TOKENS, [], 16, (1, 0)),
    partial(residual.stream_figure, LENGTHS, LAYERS, "encoder"),
    partial(residual.stream_heatmap, {"sum": ramp(3, 4)}, TOKENS, LAYERS, "encoder"),
    partial(residual.share_heatmap, ramp(3, 4), TOKENS, LAYERS, "decoder"),
    partial(results.subset_bars, THREE, VALUES, (1, 2, 3)),
    partial(results.training_cost, THREE, VALUES, VALUES, (True, False, False)),
    partial(results.variations, THREE, SQUARE, ("same", "other", ""), (0.0, -0.5, None)),
    partial(roles.heads_in_the_plane, ramp(3, 2), [(1, 1), (1, 2), (2, 1)], ["previous", None, None], list(THREE), 1),
    partial(single_neurons.strongest, [1, 2, 3], VALUES, VALUES, "encoder", "¤a"),
    partial(training.training_curve, LOGGED),
    partial(single_neurons.vocabulary, TOKENS, TOKENS, ramp(4), ramp(4), 0, "decoder"),
    partial(single_neurons.silent, BOTH, BOTH, 9, 0.0, "¤pairs"),
]  # fmt: skip


# A test of an analysis may have the examples of its figures.
for path in Path(__file__).parents[1].glob("analysis/test_*.py"):
    if "\nFIGURES = " in path.read_text(encoding="utf-8"):
        FIGURES += importlib.import_module(f"tests.analysis.{path.stem}").FIGURES


def test_the_list_has_every_figure() -> None:
    there = set()
    for module in pkgutil.iter_modules(figures.__path__, "transformer.figures."):
        for name, function in getmembers(importlib.import_module(module.name), isfunction):
            own = function.__module__ == module.name and not name.startswith("_")
            if own and hasattr(function, "__wrapped__"):
                there.add(function)
    assert there == {make.func for make in FIGURES}


def texts_of(figure: go.Figure) -> list[str]:
    """Every text around the numbers of a figure."""
    drawn = figure.to_dict()
    layout = drawn["layout"]
    axes = [layout[name] for name in layout if name[1:5] == "axis"]
    titled = [layout, *axes, *(trace.get("colorbar", {}) for trace in drawn["data"])]
    texts = [element["title"]["text"] for element in titled if element.get("title", {}).get("text")]
    texts += [layout["title"]["subtitle"]["text"], *(note["text"] for note in layout.get("annotations", ()))]
    return texts + [trace["name"] for trace in drawn["data"] if "name" in trace]


@pytest.mark.parametrize("make", FIGURES, ids=lambda make: make.func.__name__)
def test_every_figure_has_its_texts_in_both_themes_and_any_language(make: partial[go.Figure]) -> None:
    for theme, other in (("light", "dark"), ("dark", "light")):
        figure = make(theme=theme)
        sent = drawing(make.func)(*make.args, **make.keywords, theme=theme).to_json()
        assert json.loads(sent) == json.loads(figure.to_json())  # what plotly checked is what pages send
        layout: Any = json.loads(figure.to_json())["layout"]
        assert layout["title"]["text"] and layout["title"]["subtitle"]["text"] and layout["font"]["size"] >= 15
        assert layout["meta"]["palette"][theme][: len(PALETTE)] == [colour_in(theme, colour) for colour in PALETTE]
        assert all("hovertemplate" in trace or trace.hoverinfo == "skip" for trace in figure.data)
        assert all(
            trace.line.width in (None, 0) or trace.line.width >= 1.5 for trace in figure.select_traces("scatter")
        )
        drawn = json.loads(figure.update_layout(meta=None).to_json())
        shown = json.dumps([drawn["data"], drawn["layout"]])
        assert not [colour for colour in PALETTE if f'"{colour_in(other, colour)}"' in shown]
        assert not re.search("<b>x|<i>mine", shown)  # a token or a name of a model never becomes markup
    with in_language(Language("zz", Marked())):
        figure = make()
    texts, measured = texts_of(figure), figure.layout.xaxis.showticklabels is not False
    assert len(texts) >= 2 + measured and not [text for text in texts if "{" in text]
    assert not [text for text in texts if "¤" not in text and set(WORD.findall(MARKUP.sub(" ", text))) - FORMULA]


def test_a_drawing_is_written_as_plotly_writes_it() -> None:
    arrays = [
        np.array(values, kind)
        for values, kind in (
            ([0, 127], np.int64), ([0, -129], np.int64), ([0, 2**20], np.int64), ([0, 2**40], np.int64),
            ([0.5, np.nan], np.float32), ([[1, 2, 3], [4, 5, 6]], np.float64), ([], np.float64), ([True, False], bool),
        )
    ]  # fmt: skip
    figure = Drawing()
    lists = ([1.0, float("nan"), None], (1, 2), [np.float32(0.5), np.int64(3)], ["NaN", "\ud800"])
    for values in (*arrays, *lists):
        figure.add_scatter(y=values, name=None, line={"color": None, "width": 3})
    figure.update_layout(xaxis={"title": "a", "dtick": 1}, meta={"title": "as it is"})
    figure.update_layout(xaxis={"title": {"standoff": 3}, "dtick": None})
    assert json.loads(figure.to_json()) == json.loads(figure.figure().to_json())
    assert figure.layout["xaxis"] == {"title": {"text": "a", "standoff": 3}} and figure.meta == {"title": "as it is"}
