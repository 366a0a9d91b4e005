"""The steps of the ends and their order, in every kind of model and under every switch, and what is refused.

tests/view/test_anatomy_number.py computes every number of every step again from those that it comes from."""

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.anatomy import LAYERS, SWITCHES, tiny, traced
from tests.support.build import PAIRWISE, variant_name
from transformer.analysis.anatomy import (
    LIKELIEST,
    EmbeddingSteps,
    OutputSteps,
    attention_steps,
    embedding_steps,
    feed_forward_steps,
    output_steps,
    places,
    predictions,
    steps,
)
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import NONE
from transformer.model.tap import SIDES
from transformer.tracing.trace import Trace

MARIAN = {"activation": "swish", "layout": "halves", "output_bias": True}
APART = {**MARIAN, "embedding_scale": False, "tied_output": False, "target_vocab_size": 67}
MODELS = [*PAIRWISE, MARIAN, APART]
# Every model with everything switched, and with one of the switches alone.
CASES = [(changes, "everything") for changes in MODELS] + list(zip(MODELS, itertools.cycle(SWITCHES), strict=False))


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{variant_name(case[0])}-{case[1]}")
def case(request: pytest.FixtureRequest) -> tuple[Pretrained, Trace, str]:
    """Model, trace, name of the switches."""
    changes, switched = request.param
    model = tiny(**changes)
    return model, traced(model, switched), switched


def same(found: Tensor, expected: Tensor) -> None:
    """Equal to 1e-5, of the largest number where those are large."""
    assert found.shape == expected.shape
    finite = expected[expected.isfinite()]
    size = max(1.0, float(finite.abs().max())) if finite.numel() else 1.0
    torch.testing.assert_close(found.double(), expected.double(), rtol=0, atol=1e-5 * size)


def test_tokens_become_vectors(case: tuple[Pretrained, Trace, str]) -> None:
    model, trace, switched = case
    for side in SIDES:
        one = embedding_steps(trace, model.model, side)
        ids = trace.source_ids if side == "source" else trace.target_in_ids
        own = model.model.target_embedding if side == "target" else None
        table = (own or model.model.embedding).weight
        assert torch.equal(one.rows, torch.stack([table[number] for number in ids]))
        scale = math.sqrt(model.config.d_model) if model.config.embedding_scale else 1
        same(one.rows * scale, one.embedding)
        assert one.factor == pytest.approx(scale)
        factor = 2.5 if switched in ("reposition", "everything") and side == "target" else 1
        same(model.model.positions.table[one.position_ids] * factor, one.positions)
        assert torch.equal(one.embedding + one.positions, one.x)


def test_places_follow_each_other(case: tuple[Pretrained, Trace, str]) -> None:
    """What leaves a place enters the next, and what leaves the last layer of each stack is its output."""
    model, trace, _ = case
    x: Tensor | None = None
    for name in places(LAYERS):
        one = steps(trace, model.model, name)
        if isinstance(one, EmbeddingSteps):
            x = one.x
        elif isinstance(one, OutputSteps):
            assert one.hidden is trace.decoder_output
        else:
            assert x is not None and torch.equal(one.x, x)
            x = one.leaves
        if name in ("encoder.2.ff", "decoder.1.ff") and x is not None:
            output = trace.encoder_output if name.startswith("encoder") else trace.decoder_output
            norm = model.model.encoder_norm if name.startswith("encoder") else model.model.decoder_norm
            same(norm(x.clone()), output)


def test_steps_report_knocked_out_parts() -> None:
    model = tiny()
    trace = traced(model, "everything")
    assert feed_forward_steps(trace, model.model, "decoder.1.ff").silenced == (2, 6)
    assert feed_forward_steps(trace, model.model, "decoder.0.ff").silenced == ()
    skipped = [name for name in places(LAYERS) if getattr(steps(trace, model.model, name), "skipped", False)]
    assert skipped == ["encoder.0.ff", "encoder.2.self", "decoder.1.cross"]
    plain = traced(model)
    assert not any(getattr(steps(plain, model.model, name), "skipped", False) for name in places(LAYERS))


@pytest.mark.parametrize("changes", [{}, MARIAN, APART], ids=variant_name)
def test_the_likeliest_tokens_are_those_of_the_logits(changes: dict[str, Any]) -> None:
    model = tiny(**changes)
    trace = traced(model)
    found = predictions(trace)
    for t, row in enumerate(trace.logits.double()):
        order = sorted(range(len(row)), key=lambda number: -float(row[number]))
        assert found.ids[t].tolist() == order[:LIKELIEST]
        total = sum(math.exp(value) for value in row.tolist())
        for place, number in enumerate(order[:LIKELIEST]):
            assert float(found.probability[t, place]) == pytest.approx(math.exp(row[number]) / total, rel=1e-5)
            assert float(found.logit[t, place]) == trace.logits[t, number]
        assert int(found.chosen_rank[t]) == order.index(trace.target_out_ids[t])
        assert float(found.chosen_logit[t]) == trace.logits[t, trace.target_out_ids[t]]
        one = output_steps(trace, model.model, t)
        assert torch.equal(one.ids, found.ids[t]) and torch.equal(one.logits, trace.logits[t])
        assert (one.biases is None) == (model.model.output_bias is None)
        same(one.rows @ one.hidden[t] + (0 if one.biases is None else one.biases), found.logit[t])
    assert torch.equal(found.chosen_probability, trace.probabilities)
    assert found.chosen.tolist() == list(trace.target_out_ids)


def test_tokens_of_another_pass_can_be_asked_for() -> None:
    model = tiny()
    before, after = traced(model), traced(model, "scale")
    ids = predictions(after).ids
    assert torch.equal(predictions(before, ids).probability, before.logits.softmax(-1).gather(1, ids))


def test_a_vocabulary_of_few_is_named_whole() -> None:
    model = tiny()
    few = replace(traced(model), logits=traced(model).logits[:, :4], target_out_ids=(3,) * len(traced(model).target_in))
    assert predictions(few).ids.shape[1] == 4


def test_equal_logits_have_places_that_agree() -> None:
    trace = traced(tiny())
    flat = replace(trace, logits=torch.zeros_like(trace.logits))
    found = predictions(flat)
    named = {number: place for place, number in enumerate(found.ids[0].tolist())}
    assert int(found.chosen_rank[0]) == named.get(trace.target_out_ids[0], 0)


def test_switches_leave_the_cached_trace_alone() -> None:
    model = tiny()
    trace = traced(model)
    copies = [trace.cross.scores.clone(), trace.encoder_ff.sum.clone()]
    for name in places(LAYERS):
        steps(trace, model.model, name)
    assert torch.equal(trace.cross.scores, copies[0]) and torch.equal(trace.encoder_ff.sum, copies[1])
    assert trace.interventions == NONE


@pytest.mark.parametrize(
    "name", ["", "encoder", "encoder.0", "encoder.3.self", "encoder.0.cross", "decoder.2.ff", "cross.0", "encoder.x.ff"]
)
def test_unknown_places_are_refused(name: str) -> None:
    model = tiny()
    with pytest.raises(ValueError, match="unknown sub-layer"):
        steps(traced(model), model.model, name)


def test_unknown_steps_and_kinds_are_refused() -> None:
    model = tiny()
    trace = traced(model)
    with pytest.raises(ValueError, match="choose 0 to"):
        output_steps(trace, model.model, len(trace.target_in))
    with pytest.raises(ValueError, match="unknown side"):
        embedding_steps(trace, model.model, "middle")
    with pytest.raises(ValueError, match="not an attention"):
        attention_steps(trace, model.model, "encoder.0.ff")
    with pytest.raises(ValueError, match="not a feed-forward"):
        feed_forward_steps(trace, model.model, "encoder.0.self")
