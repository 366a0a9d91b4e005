"""Figures of heads: numbers, labels, masks, arguments; `browser/test_head_figures.py` compares them with the page."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.build import tiny_pretrained
from transformer.figures.attention import head_grid, head_map, palette
from transformer.interventions.sets import Interventions
from transformer.texts import UserError
from transformer.tracing.trace import KINDS, Trace


@pytest.fixture(scope="module")
def trace() -> Trace:
    return tiny_pretrained().trace("ka lo mi nu", "re sta")


def test_a_head_shows_its_exact_weights_and_leaves_masked_cells_out(trace: Trace) -> None:
    drawn = np.asarray(head_map(trace, "decoder_self", 1, 2).data[-1].z, float)
    weights, mask = trace.decoder_self.weights[1, 2].numpy(), trace.decoder_self.mask[1, 2].numpy()
    assert not mask.all() and np.array_equal(np.isnan(drawn), ~mask) and np.array_equal(drawn[mask], weights[mask])
    mean = np.asarray(head_map(trace, "cross", None, None).data[-1].z, float)
    np.testing.assert_allclose(mean, trace.cross.weights.mean((0, 1)).numpy(), atol=1e-6)
    largest = np.asarray(head_map(trace, "cross", 0, None, summary="max").data[-1].z, float)
    assert np.array_equal(largest, trace.cross.weights[0].amax(0).numpy())


def test_rows_are_labelled_by_the_token_predicted_or_fed_in(trace: Trace) -> None:
    for rows, labels, name in (
        ("predicted", trace.target_out_labels, "← predicted"), ("fed", trace.target_in_labels, "← fed in"),
    ):  # fmt: skip
        figure = head_map(trace, "cross", rows=rows)
        assert figure.layout.meta["labels"] == {"y": list(labels), "x": list(trace.source_labels)}
        assert (figure.layout.yaxis.title.text, figure.layout.xaxis.title.text) == (name, "source →")
        assert figure.layout.yaxis.autorange == "reversed"
    assert head_map(trace, "decoder_self").layout.meta["labels"]["x"] == list(trace.target_in_labels)


@pytest.mark.parametrize("kind", ["cross", "decoder_self"])
def test_maps_beside_one_another_have_equal_cells_and_space_for_labels(trace: Trace, kind: str) -> None:
    other = tiny_pretrained().trace("ka lo mi nu", "re sta vu re sta re")
    one, two = (head_map(left, kind, beside=right).layout for left, right in ((trace, other), (other, trace)))
    assert one.height == two.height and one.meta["margin"] == two.meta["margin"]
    for axis, side in (("x", "source" if kind == "cross" else "target_in"), ("y", "target_out")):
        counts = [len(getattr(of, f"{side}_labels")) for of in (trace, other)]
        shares = [float(np.ptp(layout[f"{axis}axis"].domain)) for layout in (one, two)]
        assert shares[0] / counts[0] == pytest.approx(shares[1] / counts[1])
        start = 0 if axis == "x" else -1  # from the left, and from the top
        assert one[f"{axis}axis"].domain[start] == two[f"{axis}axis"].domain[start] == abs(start)
    assert "margin" not in head_map(trace, kind).layout.meta


def test_the_grid_has_layers_down_and_heads_across_with_summaries_last(trace: Trace) -> None:
    figure = head_grid(trace, "encoder_self")
    names = [tile.name for tile in figure.data]
    assert names[:4] == ["Layer 1, head 1", "Layer 1, head 2", "Layer 1, head 3", "Layer 1, mean of 3 heads"]
    assert names[-2:] == ["Head 3, mean of 2 layers", "Mean of all 6 heads"] and len(names) == 12
    by_name = {tile.name: tile for tile in figure.data}
    for layer in range(2):
        for head in range(3):
            tile = by_name[f"Layer {layer + 1}, head {head + 1}"]
            assert np.array_equal(np.asarray(tile.z, np.float32), trace.encoder_self.weights[layer, head].numpy())
    assert by_name["Layer 2, head 1"].y0 > by_name["Layer 1, head 1"].y0
    assert by_name["Layer 1, head 2"].x0 > by_name["Layer 1, head 1"].x0
    assert list(figure.layout.xaxis.ticktext) == ["H1", "H2", "H3", "mean"]
    assert list(figure.layout.yaxis.ticktext) == ["L1", "L2", "mean"]


def test_what_was_changed_stands_in_the_title(trace: Trace) -> None:
    model = tiny_pretrained()
    changed = model.retrace(trace, Interventions.parse("causal=off"), edits={"logits": torch.zeros_like})
    title = head_map(changed, "decoder_self").layout.title.text
    assert title == "Decoder self: Layer 1, head 1 · changed: causal=off logits"
    assert head_map(trace, "decoder_self").layout.title.text == "Decoder self (masked): Layer 1, head 1"
    assert len(head_map(changed, "decoder_self").data) == 1  # no masked cells


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_colours_are_monotonic_in_lightness(kind: str, theme: str) -> None:
    sums = [sum(json.loads(f"[{colour[4:-1]}]")) for colour in palette(kind, theme)]
    assert sums == sorted(sums, reverse=theme == "light") and len(set(sums)) > 200


WRONG: dict[str, tuple[Callable[[Any], object], str]] = {
    "no trace": (lambda _: head_map(3), "trace must be a Trace, as model.trace returns it; this is 3, of type int"),  # type: ignore[arg-type]
    "kind": (lambda trace: head_grid(trace, "crosss"), "unknown attention kind 'crosss'; choose encoder_self, "
             "decoder_self or cross; did you mean cross?"),
    "layer": (lambda trace: head_map(trace, "cross", "x"), "layer must be an index from 0, or None for all; this is "
              "'x', of type str"),
    "far head": (lambda trace: head_map(trace, "cross", 0, 3), "head is 3; give an index from 0 to 2, or None for all"),
    "rows": (lambda trace: head_map(trace, rows="predict"), "rows is 'predict'; choose predicted or fed; did you mean "
             "predicted?"),
    "theme": (lambda trace: head_grid(trace, theme="drak"), "theme is 'drak'; choose light or dark; did you mean "
              "dark?"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_wrong_arguments_give_one_sentence(trace: Trace, what: str) -> None:
    call, sentence = WRONG[what]
    with pytest.raises(UserError) as refused:
        call(trace)
    assert str(refused.value) == sentence
