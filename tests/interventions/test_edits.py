"""The effect of each switch on a pass: checked against a reference in loops and against equations, and nothing else
changes."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tests.support.build import (
    SOURCE,
    TARGET,
    VARIANTS,
    padded_sources,
    random_ids,
    targets_in,
    tiny_model,
    variant_name,
)
from tests.support.reference import COMBINED, OPEN, reference
from transformer.analysis.attention import check
from transformer.interventions.edits import edits_of
from transformer.interventions.sets import (
    NONE,
    Hide,
    InterventionError,
    Interventions,
    KnockOut,
    Pad,
    Replace,
    Scale,
    Silence,
    Unmask,
    Where,
)
from transformer.model.tap import KINDS, OFF, EditingTap, Tap, scope
from transformer.model.transformer import Transformer
from transformer.tracing.trace import AttentionTrace, FeedForwardTrace, trace_pass

FIELDS = ("enters", "queries", "keys", "values", "mask", "scores", "weights", "head_outputs", "update", "sum", "leaves")
TOLERANCE = 1e-4  # float32 against float64: measured 8e-6 on weights, 3e-5 on head outputs, 2e-5 on logits


@functools.cache
def model_of(number: int) -> Transformer:
    return tiny_model(seed=11 + number, **VARIANTS[number])


def ids(seed: int = 2) -> tuple[Tensor, Tensor]:
    """A source [1, SOURCE] that ends in </s>, and what the decoder is fed, [1, TARGET]."""
    return padded_sources(seed, (SOURCE,)), targets_in(seed, 1)


def run(model: Transformer, value: Interventions = NONE, seed: int = 2) -> dict[str, object]:
    source, target = ids(seed)
    padding = torch.full((1, value.pads), model.config.pad_id)
    return trace_pass(model, torch.cat((source, padding), 1), target, interventions=value)


def agree(model: Transformer, value: Interventions, seed: int = 2) -> float:
    """Compare a pass with the reference. Returns the smallest gap that decided an argmax."""
    source, target = (side[0].tolist() for side in ids(seed))
    expected, trace = reference(model, source, target, value), run(model, value, seed)
    if expected.gap < TOLERANCE:
        return expected.gap
    for (kind, layer, head), weights in expected.weights.items():
        part = trace[kind]
        assert isinstance(part, AttentionTrace)
        wanted = torch.tensor(weights, dtype=torch.float64)
        torch.testing.assert_close(part.weights[layer, head].double(), wanted, rtol=0, atol=TOLERANCE)
        assert not part.weights[layer, head][wanted == 0].any()  # hidden: 0 exactly
        outputs = torch.stack(expected.heads[kind, layer, head])
        torch.testing.assert_close(part.head_outputs[layer, head].double(), outputs, rtol=0, atol=TOLERANCE)
        scores = torch.tensor(expected.scores[kind, layer, head]).masked_fill(~part.mask[layer, head], -math.inf)
        torch.testing.assert_close(part.scores[layer, head], scores, rtol=1e-4, atol=TOLERANCE)
    for (kind, layer), updates in expected.updates.items():
        torch.testing.assert_close(
            trace[kind].update[layer].double(), torch.stack(updates), rtol=0, atol=TOLERANCE  # type: ignore[attr-defined]
        )  # fmt: skip
    logits = trace["logits"]
    assert isinstance(logits, Tensor)
    torch.testing.assert_close(logits.double(), torch.stack(expected.logits), rtol=1e-4, atol=TOLERANCE)
    return expected.gap


# -- against the reference ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(VARIANTS)), ids=lambda number: variant_name(VARIANTS[number]))
@pytest.mark.parametrize("value", COMBINED, ids=lambda value: str(Interventions(value)).replace(" ", "+")[:60])
def test_switches_together_against_loops(number: int, value: tuple) -> None:
    assert agree(model_of(number), Interventions(value)) > TOLERANCE


# -- scaling --------------------------------------------------------------------------------------------------------


def test_a_factor_the_model_has_already_changes_nothing() -> None:
    plain, same = run(model_of(7)), run(model_of(7), Interventions((Scale(1.0),)))  # scaling=False
    assert torch.equal(plain["logits"], same["logits"])  # type: ignore[arg-type]


@pytest.mark.parametrize("factor", [1e-4, 1e3])
def test_the_smallest_and_largest_factors_are_flat_and_sharp(factor: float) -> None:
    part = run(model_of(0), Interventions((Scale(factor),)))["cross"]
    assert isinstance(part, AttentionTrace) and part.weights.isfinite().all()
    if factor < 1:
        torch.testing.assert_close(part.weights, torch.full_like(part.weights, 1 / SOURCE), rtol=0, atol=1e-3)
    else:
        assert part.weights.amax(-1).mean() > 0.95


# -- masks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(VARIANTS)), ids=lambda number: variant_name(VARIANTS[number]))
def test_nothing_flows_from_the_future_until_the_mask_is_off(number: int) -> None:
    model, (source, target) = model_of(number), ids()
    leaks = 0
    for value in (NONE, Interventions((OPEN,))):
        plain = run(model, value)["logits"]
        assert isinstance(plain, Tensor)
        for position in range(TARGET):
            changed = target.clone()
            changed[0, position] = 4 + (int(target[0, position]) - 3) % 30  # another ordinary piece
            assert changed[0, position] != target[0, position]
            moved = trace_pass(model, source, changed, interventions=value)["logits"]
            assert isinstance(moved, Tensor)
            before = (moved - plain)[:position].abs()
            assert (moved - plain)[position:].abs().amax(-1).min() > 0  # the past and the present do flow
            if value or not model.config.causal:
                leaks += int((before > 0).any())
            else:
                assert not before.any()  # by 0 exactly, in every row before it
    # Every place but the first, which has no row before it; of a model that was built without the mask at both.
    assert leaks == (TARGET - 1) * (1 if model.config.causal else 2)


@pytest.mark.parametrize("number", [0, 4])
def test_padding_is_invisible_until_its_mask_is_off(number: int) -> None:
    model, pads = model_of(number), 3
    plain, hidden = run(model), run(model, Interventions((Pad(pads),)))
    unmasked = run(model, Interventions((Pad(pads), Unmask("padding"))))
    for kind in ("encoder_self", "cross"):
        real = slice(0, SOURCE) if kind == "encoder_self" else slice(0, TARGET)
        on, off, before = hidden[kind], unmasked[kind], plain[kind]
        assert isinstance(on, AttentionTrace) and isinstance(off, AttentionTrace) and isinstance(before, AttentionTrace)
        assert not on.weights[..., -pads:].any() and not on.mask[..., -pads:].any()  # 0 exactly, as q.k is -inf
        assert (off.weights[..., -pads:] > 0).all() and off.mask.all()
        # Not bitwise: longer rows are added up in another order by the matrix products.
        torch.testing.assert_close(on.weights[:, :, real, :SOURCE], before.weights[:, :, real], rtol=0, atol=1e-5)
        torch.testing.assert_close(on.leaves[:, real], before.leaves, rtol=0, atol=1e-5)
        assert (off.leaves[:, real] - before.leaves).abs().max() > 1e-3
    torch.testing.assert_close(hidden["logits"], plain["logits"], rtol=0, atol=2e-5)
    assert (unmasked["logits"] - plain["logits"]).abs().max() > 1e-3  # type: ignore[operator]


@pytest.mark.parametrize("value", [(OPEN,), (OPEN, Unmask("padding")), (Unmask("padding", Where(None, 0, 1)),)])
def test_target_padding_has_its_own_switch(value: tuple) -> None:
    # A batch pads its shorter targets: the future in sight is no <pad> in sight.
    model, (source, target) = model_of(0), ids()
    target = torch.cat((target, torch.full((1, 2), model.config.pad_id)), 1)
    part = trace_pass(model, source, target, interventions=Interventions(value))["decoder_self"]
    expected = reference(model, source[0].tolist(), target[0].tolist(), Interventions(value))
    assert isinstance(part, AttentionTrace)
    for layer, head in itertools.product(range(2), range(3)):
        wanted = torch.tensor(expected.weights["decoder_self", layer, head], dtype=torch.float64)
        torch.testing.assert_close(part.weights[layer, head].double(), wanted, rtol=0, atol=TOLERANCE)
        assert torch.equal(part.mask[layer, head], wanted > 0)


def test_a_hidden_token_is_out_of_sight_and_out_of_the_sum() -> None:
    part = run(model_of(0), Interventions((Hide("source", 2, Where("cross")),)))["cross"]
    plain = run(model_of(0))["cross"]
    assert isinstance(part, AttentionTrace) and isinstance(plain, AttentionTrace)
    assert not part.weights[..., 2].any() and not part.mask[..., 2].any()
    visible = [key for key in range(SOURCE) if key != 2]
    rest = plain.weights[0][..., visible] / plain.weights[0][..., visible].sum(-1, keepdim=True)
    torch.testing.assert_close(part.weights[0][..., visible], rest, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ((Hide("target", 0),), "row 1 of decoder-self attention (layer 1, head 1)"),
        ((Hide("target", 0, Where("decoder_self", 1, 2)),), "row 1 of decoder-self attention (layer 2, head 3)"),
        (
            tuple(Hide("source", key, Where("cross")) for key in range(SOURCE)),
            "row 1 of cross attention (layer 1, head 1)",
        ),
        (
            (*(Hide("source", key) for key in range(SOURCE)), Pad(2)),
            "row 1 of encoder-self attention (layer 1, head 1)",
        ),
        ((*(Hide("target", key) for key in (0, 1)), Scale(1.0)), "row 1 of decoder-self attention (layer 1, head 1)"),
    ],
)
def test_a_row_without_visible_keys_is_refused(value: tuple, place: str) -> None:
    with pytest.raises(InterventionError) as error:
        run(model_of(0), Interventions(value))
    assert place in str(error.value) and "nothing to attend to" in str(error.value)
    assert "leave it at least one key" in str(error.value)


def test_hiding_the_first_token_is_allowed_where_the_future_is_in_sight() -> None:
    part = run(model_of(0), Interventions((Hide("target", 0), OPEN)))["decoder_self"]
    assert isinstance(part, AttentionTrace) and not part.weights[..., 0].any()
    torch.testing.assert_close(part.weights.sum(-1), torch.ones(2, 3, TARGET))


# -- heads ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_all_heads_knocked_out_leave_the_bias_of_w_o(kind: str) -> None:
    model, value = model_of(0), Interventions((KnockOut(Where(kind, 0)),))
    part = run(model, value)[kind]
    assert isinstance(part, AttentionTrace)
    stack = model.encoder if kind == "encoder_self" else model.decoder
    bias = getattr(stack[0], "cross_attention" if kind == "cross" else "self_attention").output.bias
    assert torch.equal(part.update[0], bias.expand_as(part.update[0]))
    assert not torch.equal(part.update[1], bias.expand_as(part.update[1]))
    singly = Interventions(tuple(KnockOut(Where(kind, 0, head)) for head in range(3)))
    assert torch.equal(run(model, singly)[kind].update[0], part.update[0])


def test_every_head_of_the_model_knocked_out() -> None:
    value = Interventions((KnockOut(Where()),))
    trace = run(model_of(0), value)
    assert trace["logits"].isfinite().all()  # type: ignore[attr-defined]
    agree(model_of(0), value)


def test_a_silenced_neuron_is_zero_and_the_others_of_its_layer_stay() -> None:
    def activation(*switches: Silence) -> Tensor:
        part = run(model_of(0), Interventions(switches))["encoder_ff"]
        assert isinstance(part, FeedForwardTrace)
        return part.activation[0]

    neuron = int(activation().sum(0).argmax())
    wanted = activation().index_fill(-1, torch.tensor([neuron]), 0.0)
    assert torch.equal(activation(Silence("encoder", 0, neuron)), wanted) and not torch.equal(wanted, activation())


def test_weights_that_are_exchanged() -> None:
    for rule, value in (("uniform", Replace("uniform")), ("argmax", Replace("argmax"))):
        plain, changed = run(model_of(0)), run(model_of(0), Interventions((value,)))
        for kind in KINDS:
            part = changed[kind]
            assert isinstance(part, AttentionTrace)
            visible = part.mask.sum(-1, keepdim=True)
            best = part.scores.argmax(-1, keepdim=True)
            wanted = (
                part.mask / visible if rule == "uniform" else torch.zeros_like(part.weights).scatter_(-1, best, 1.0)
            )
            assert torch.equal(part.weights, wanted)
            assert torch.equal(part.scores[0], plain[kind].scores[0]) or kind != "encoder_self"  # type: ignore[attr-defined]
            assert check(part).hold


def test_the_best_key_is_that_of_the_scores_even_where_float32_weights_are_equal() -> None:
    # 1e-8 apart: both weights round to 0.5. What is shown beside the weights are the scores.
    edits = edits_of(Interventions((Replace("argmax", Where("cross", 0)),)), model_of(0).config)
    scores = torch.tensor([0.0, 1e-8]).expand(1, 3, 1, 2)
    scores = edits["decoder.0.cross.scores"](scores)
    assert edits["decoder.0.cross.weights"](scores.softmax(-1))[0, :, 0].argmax(-1).tolist() == [1, 1, 1]


@pytest.mark.parametrize("factor", [1e-4, 1.0, 30.0, 1e3])
def test_the_checks_hold_under_every_factor(factor: float) -> None:
    trace = run(model_of(0), Interventions((Scale(factor),)))
    assert all(check(trace[kind]).hold for kind in KINDS), [check(trace[kind]) for kind in KINDS]  # type: ignore[arg-type]


# -- and nothing else -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "sort",
    [
        functools.partial(Scale, 1.0),
        KnockOut,
        functools.partial(Replace, "uniform"),
        functools.partial(Hide, "source", 1),
    ],
    ids=["scale", "zero", "uniform", "hide"],
)
def test_unswitched_tensors_do_not_change_by_one_bit(kind: str, sort: Callable[..., object]) -> None:
    if kind == "decoder_self" and isinstance(sort, functools.partial) and sort.func is Hide:
        sort = functools.partial(Hide, "target", 1)
    layer, head = 1, 1
    plain, changed = run(model_of(0)), run(model_of(0), Interventions((sort(Where(kind, layer, head)),)))  # type: ignore[arg-type]
    a, b = plain[kind], changed[kind]
    assert isinstance(a, AttentionTrace) and isinstance(b, AttentionTrace)
    for name in FIELDS:
        assert torch.equal(getattr(a, name)[0], getattr(b, name)[0])  # the layer before
    for name in ("enters", "queries", "keys", "values"):
        assert torch.equal(getattr(a, name)[layer], getattr(b, name)[layer])
    for name in ("mask", "scores", "weights", "head_outputs"):
        others = [other_head for other_head in range(3) if other_head != head]
        assert torch.equal(getattr(a, name)[layer, others], getattr(b, name)[layer, others])
    assert not torch.equal(a.head_outputs[layer, head], b.head_outputs[layer, head])
    if kind != "encoder_self":
        assert torch.equal(plain["encoder_output"], changed["encoder_output"])  # type: ignore[arg-type]
    assert not torch.equal(plain["logits"], changed["logits"])  # type: ignore[arg-type]


def test_only_switched_tensors_are_edited() -> None:
    config = model_of(0).config
    assert edits_of(NONE, config) == {} and edits_of(Interventions((Pad(3),)), config) == {}
    assert set(edits_of(Interventions((Scale(1.0, Where("cross", 1, 0)),)), config)) == {"decoder.1.cross.scores"}
    assert set(edits_of(Interventions((OPEN,)), config)) == {"decoder.0.self.mask", "decoder.1.self.mask"}
    assert set(edits_of(Interventions((KnockOut(Where("encoder_self", 0)),)), config)) == {
        "encoder.0.self.head_outputs"
    }
    with pytest.raises(InterventionError, match="asks for layer 3"):
        edits_of(Interventions((KnockOut(Where("cross", 2)),)), config)


def test_edits_are_made_anew_for_each_pass() -> None:
    value = Interventions((Replace("uniform"), OPEN))
    first, two = edits_of(value, model_of(0).config), edits_of(value, model_of(0).config)
    assert set(first) == set(two) and not any(first[name] is two[name] for name in first)
    # The second of two sizes must not meet the first one's mask.
    for length in (5, 3, 5):
        tap = Tap(edits_of(value, model_of(0).config))
        model_of(0)(random_ids(3, 1, length), targets_in(3, 1, length), tap)
        assert tap.finish()["decoder.0.cross.weights"].shape[-1] == length


@pytest.mark.parametrize("many", COMBINED, ids=lambda value: str(Interventions(value)).replace(" ", "+")[:60])
def test_an_editing_tap_equals_a_recording_tap_with_the_same_edits(many: tuple) -> None:
    model, value = model_of(0), Interventions(many)
    source, target = ids()
    source = torch.cat((source, torch.full((1, value.pads), model.config.pad_id)), 1)
    with torch.inference_mode():
        tap = EditingTap(edits_of(value, model.config))
        assert torch.equal(model(source, target, tap), model(source, target, Tap(edits_of(value, model.config))))
        assert not tap.records
        if not value:
            assert torch.equal(model(source, target, tap), model(source, target, OFF))


def test_names_of_the_edits_are_names_of_the_tap() -> None:
    value = Interventions((Scale(1.0), OPEN, Replace("uniform"), KnockOut(Where())))
    edits = edits_of(value, model_of(0).config)
    tap = Tap(edits)
    model_of(0)(*ids(), tap)
    assert len(edits) == 6 * 4 and set(edits) <= set(tap.finish())
    assert {name.rsplit(".", 1)[0] + "." for name in edits} == {
        scope(kind, layer) for kind in KINDS for layer in (0, 1)
    }
