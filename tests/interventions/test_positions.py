"""Position switches: each change against a model that was built that way."""

import copy
import functools
from pathlib import Path

import pytest
import torch

from tests.support.build import T5, VARIANTS, pretrained_variant, tiny_model, tiny_tokenizer, variant_name
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import InterventionError, Interventions, Reposition, Skip
from transformer.model.transformer import Transformer
from transformer.tracing.trace import Trace

TEXT, TARGET = "nu re sta ti vu", "ka lo mi"


def named(model: Transformer) -> Pretrained:
    return Pretrained("tiny", Path("tiny"), model, tiny_tokenizer(), ("a", "b"), {})


@functools.cache
def plain(variant: int = 0) -> Pretrained:
    return named(tiny_model(vocab_size=len(tiny_tokenizer()), **VARIANTS[variant]))


def changed(model: Pretrained) -> Pretrained:
    """A copy of the model, so that its weights can be changed."""
    return named(copy.deepcopy(model.model))


def traced(model: Pretrained, *switches: object) -> Trace:
    return model.trace(TEXT, TARGET, interventions=Interventions(switches))  # type: ignore[arg-type]


def same(one: Trace, two: Trace) -> bool:
    return torch.equal(one.logits, two.logits) and torch.equal(one.cross.weights, two.cross.weights)


def tables(model: Pretrained) -> list[torch.nn.Module]:
    """All that hold a table of positions."""
    network = model.model
    return [one for one in (network.positions, network.encoder_bias, network.decoder_bias) if one is not None]


@pytest.mark.parametrize("variant", range(len(VARIANTS)), ids=[variant_name(variant) for variant in VARIANTS])
def test_positions_removed_are_those_of_a_model_without(variant: int) -> None:
    model = plain(variant)
    without = changed(model)
    for positions in tables(without):
        positions.table.zero_()
    trace = traced(model, Reposition("remove"))
    assert same(trace, traced(without)) and not trace.source_positions.any() and not trace.target_positions.any()
    half = traced(model, Reposition("remove", "target"))
    assert torch.equal(half.source_positions, traced(model).source_positions) and not half.target_positions.any()


@pytest.mark.parametrize("variant", range(len(VARIANTS)), ids=[variant_name(variant) for variant in VARIANTS])
def test_positions_shifted_and_scaled_are_those_of_another_table(variant: int) -> None:
    model = plain(variant)
    other_table = changed(model)
    for positions in tables(other_table):
        positions.table *= 0.25
    other_table.model.positions.table.copy_(other_table.model.positions.table.roll(-4, 0))
    trace = traced(model, Reposition("shift", None, 4), Reposition("scale", None, 0.25))
    assert same(trace, traced(other_table))
    length = len(trace.source_tokens)
    assert trace.source_position_ids.tolist() == list(range(4, 4 + length))


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
    assert len(orders) > 2 and all(sorted(order) == list(range(length)) for order in orders)
    again = traced(model, Reposition("shuffle", "source", 3))
    assert same(again, traced(model, Reposition("shuffle", "source", 3)))
    # One move after the other, in the order given.
    both = traced(model, Reposition("reverse", "source"), Reposition("shift", "source", 2))
    assert both.source_position_ids.tolist() == [2 + position for position in range(length)][::-1]


def test_relative_positions_follow_the_order() -> None:
    model = pretrained_variant(**T5)
    usual = traced(model).encoder_self.bias
    back, shifted = (
        traced(model, Reposition(rule, "source", amount)) for rule, amount in (("reverse", 0), ("shift", 3))
    )
    assert usual is not None and torch.equal(back.encoder_self.bias, usual.flip(-1, -2))
    assert same(shifted, traced(model)) and not same(back, shifted)


def test_a_shift_beyond_the_table_is_refused_and_decoding_ends_before_it() -> None:
    model = plain()
    most = model.config.max_positions
    source = len(model.encode(TEXT))
    with pytest.raises(InterventionError, match=f"at position {most + 1}, but this model has {most}"):
        traced(model, Reposition("shift", "source", most + 1 - source))
    traced(model, Reposition("shift", "source", most - source))
    written = model.translate(TEXT, interventions=Interventions((Reposition("shift", "target", most - 3),)))
    assert len(written.tokens) <= 3
    assert model.translate_all([TEXT], interventions=Interventions((Reposition("shift", "target", most - 3),)))


def test_which_position_switches_prevent_cached_decoding() -> None:
    for value, wanted in (
        (Reposition("reverse", "target"), True),
        (Reposition("shuffle", None, 1), True),
        (Reposition("reverse", "source"), False),
        (Reposition("shift", "target", 1), False),
        (Skip("decoder", 0, "ff"), False),
    ):
        assert Interventions((value,)).replays is wanted
