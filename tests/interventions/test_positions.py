"""Positions, sub-layers and neurons switched: each against a model that was built that way."""

from __future__ import annotations

import copy
import functools

import pytest
import torch

from tests.interventions.test_sets import refusal
from tests.support.build import D_FF, VARIANTS, tiny_config, tiny_model, tiny_tokenizer, variant_name
from transformer.inference.pretrained import InputError, Pretrained
from transformer.interventions.sets import NONE, InterventionError, Interventions, Reposition, Silence, Skip
from transformer.model.transformer import Transformer
from transformer.tracing.trace import Trace

TEXT, TARGET = "nu re sta ti vu", "ka lo mi"
CONFIG = tiny_config(encoder_layers=3)


def named(model: Transformer) -> Pretrained:
    return Pretrained("tiny", None, model, tiny_tokenizer(), ("a", "b"), {})  # type: ignore[arg-type]


@functools.cache
def plain(variant: int = 0) -> Pretrained:
    return named(tiny_model(vocab_size=len(tiny_tokenizer()), **VARIANTS[variant]))


def changed(model: Pretrained) -> Pretrained:
    """A copy whose weights may be changed."""
    return named(copy.deepcopy(model.model))


def traced(model: Pretrained, *switches: object) -> Trace:
    return model.trace(TEXT, TARGET, interventions=Interventions(switches))  # type: ignore[arg-type]


def same(one: Trace, two: Trace) -> bool:
    return torch.equal(one.logits, two.logits) and torch.equal(one.cross.weights, two.cross.weights)


@pytest.mark.parametrize("variant", range(len(VARIANTS)), ids=[variant_name(one) for one in VARIANTS])
def test_positions_removed_are_those_of_a_model_without(variant: int) -> None:
    model = plain(variant)
    without = changed(model)
    without.model.positions.table.zero_()
    found = traced(model, Reposition("remove"))
    assert same(found, traced(without)) and not found.source_positions.any() and not found.target_positions.any()
    half = traced(model, Reposition("remove", "target"))
    assert torch.equal(half.source_positions, traced(model).source_positions) and not half.target_positions.any()


@pytest.mark.parametrize("variant", range(len(VARIANTS)), ids=[variant_name(one) for one in VARIANTS])
def test_positions_shifted_and_scaled_are_those_of_another_table(variant: int) -> None:
    model = plain(variant)
    other = changed(model)
    other.model.positions.table.copy_(0.25 * model.model.positions.table.roll(-4, 0))
    found = traced(model, Reposition("shift", None, 4), Reposition("scale", None, 0.25))
    assert same(found, traced(other))
    length = len(found.source_tokens)
    assert found.source_position_ids.tolist() == list(range(4, 4 + length))


def test_positions_reversed_and_shuffled() -> None:
    model = plain()
    usual = traced(model)
    length = len(usual.source_tokens)
    back = traced(model, Reposition("reverse", "source"))
    assert back.source_position_ids.tolist() == list(range(length))[::-1]
    assert torch.equal(back.source_positions, usual.source_positions.flip(0))
    assert torch.equal(back.target_position_ids, usual.target_position_ids)
    orders = {
        tuple(traced(model, Reposition("shuffle", "source", seed)).source_position_ids.tolist()) for seed in range(5)
    }
    assert len(orders) > 2 and all(sorted(one) == list(range(length)) for one in orders)
    again = traced(model, Reposition("shuffle", "source", 3))
    assert same(again, traced(model, Reposition("shuffle", "source", 3)))
    # One move after the other, in the order given.
    both = traced(model, Reposition("reverse", "source"), Reposition("shift", "source", 2))
    assert both.source_position_ids.tolist() == [2 + one for one in range(length)][::-1]


@pytest.mark.parametrize("variant", [0, 1], ids=["post", "pre"])
def test_a_skipped_sub_layer_adds_nothing(variant: int) -> None:
    model = plain(variant)
    for stack, part, kind in (
        ("encoder", "self", "encoder_self"),
        ("decoder", "cross", "cross"),
        ("decoder", "ff", ""),
    ):
        found = traced(model, Skip(stack, 1, part))
        trace = found.attention(kind) if kind else found.decoder_ff
        assert not trace.update[1].any() and trace.update[0].any()
        assert torch.equal(trace.sum[1], trace.enters[1])
    without = changed(model)
    for matrix in (without.model.encoder[0].feed_forward.outer, without.model.decoder[1].self_attention.output):
        matrix.weight.zero_(), matrix.bias.zero_()
    assert same(traced(model, Skip("encoder", 0, "ff"), Skip("decoder", 1, "self")), traced(without))


@pytest.mark.parametrize("variant", [0, 2], ids=["relu", "gelu"])
def test_silenced_neurons_are_those_of_a_matrix_with_empty_columns(variant: int) -> None:
    model = plain(variant)
    without = changed(model)
    without.model.decoder[1].feed_forward.outer.weight[:, [0, 5, D_FF - 1]] = 0
    found = traced(model, *(Silence("decoder", 1, one) for one in (0, 5, D_FF - 1)))
    torch.testing.assert_close(found.logits, traced(without).logits)
    assert not found.decoder_ff.activation[1][:, [0, 5, D_FF - 1]].any()
    assert torch.equal(found.decoder_ff.pre_activation[1], traced(model).decoder_ff.pre_activation[1])


def test_a_shift_beyond_the_table_is_refused_and_decoding_ends_before_it() -> None:
    model = plain()
    most = model.config.max_positions
    source = len(model.encode(TEXT))
    with pytest.raises(InterventionError, match=f"at position {most + 1}; this model has {most}"):
        traced(model, Reposition("shift", "source", most + 1 - source))
    traced(model, Reposition("shift", "source", most - source))
    written = model.translate(TEXT, interventions=Interventions((Reposition("shift", "target", most - 3),)))
    assert len(written.tokens) <= 3
    refusal(lambda: Interventions((Reposition("shift", None, most),)).check(model.config), str(most))
    assert model.translate_all([TEXT], interventions=Interventions((Reposition("shift", "target", most - 3),)))
    with pytest.raises(InputError):
        model.trace("ka " * 100, interventions=NONE)


@pytest.mark.parametrize(
    "text, words",
    [
        ("positions=remove.3", ("remove", "alone")),
        ("positions=shift", ("shift.N",)),
        ("positions=shift.0", ("shifted by 0", "from 1")),
        ("positions=shift.1.5", ("whole number",)),
        ("positions=shuffle.99999", ("seed", "9,999")),
        ("positions=scale.-1", ("multiplied by -1", "from 0 to 100")),
        ("positions=scale.nan", ("multiplied by 'nan'",)),
        ("positions=turn@source", ("'turn'", "remove, shuffle, reverse, shift, scale")),
        ("positions=remove@middle", ("'middle'", "source and target")),
        ("skip=encoder.2.cross", ("'cross'", "no sub-layer of the encoder")),
        ("skip=encoder.ff", ("encoder.LAYER.PART",)),
        ("skip=encoder.0.ff", ("counted from 1",)),
        ("neurons=encoder.1.0", ("names no neuron",)),
        ("neurons=cross.1.1", ("names no neuron",)),
    ],
)
def test_texts_that_are_refused(text: str, words: tuple[str, ...]) -> None:
    refusal(lambda: Interventions.parse(text), *words)


@pytest.mark.parametrize(
    "switch, words",
    [
        (Skip("encoder", 3, "ff"), ("encoder.4.ff", "layer 4", "has 3")),
        (Skip("decoder", 2, "self"), ("layer 3", "has 2")),
        (Silence("encoder", 0, D_FF), (f"neuron {D_FF + 1}", f"has {D_FF}")),
        (Silence("decoder", 2, 0), ("layer 3", "has 2")),
    ],
)
def test_places_the_model_has_not(switch: object, words: tuple[str, ...]) -> None:
    refusal(lambda: Interventions((switch,)).check(CONFIG), *words)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Reposition("remove", "source", 1),
        lambda: Reposition("shift", "source", 2.5),
        lambda: Reposition("shift", "source", True),
        lambda: Reposition("scale", "source", float("nan")),
        lambda: Reposition("scale", "source", "2"),
        lambda: Reposition(["remove"]),
        lambda: Skip("both", 0, "ff"),
        lambda: Skip("encoder", -1, "ff"),
        lambda: Silence("encoder", 0, -1),
        lambda: Silence("encoder", 0, 1.0),
        lambda: Silence("encoder", None, 1),
    ],
)
def test_values_that_are_refused(make: object) -> None:
    refusal(make)  # type: ignore[arg-type]


def test_what_decoding_has_to_begin_anew_for() -> None:
    for value, wanted in (
        (Reposition("reverse", "target"), True),
        (Reposition("shuffle", None, 1), True),
        (Reposition("reverse", "source"), False),
        (Reposition("shift", "target", 1), False),
        (Skip("decoder", 0, "ff"), False),
    ):
        assert Interventions((value,)).replays is wanted
