"""Edits of a pass at the ends of what switches allow; what holds for any switches in any model: test_properties.py."""

import functools
import itertools

import pytest
import torch
from torch import Tensor

from tests.support.build import SOURCE, VARIANTS, padded_sources, random_ids, targets_in, tiny_model
from tests.support.reference import COMBINED, OPEN, reference
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
    Unmask,
    Where,
)
from transformer.model.tap import KINDS, OFF, EditingTap, Tap, scope
from transformer.model.transformer import Transformer
from transformer.tracing.trace import AttentionTrace, trace_pass

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


@pytest.mark.parametrize("factor", [1e-4, 1e3])
def test_the_smallest_and_largest_factors_are_flat_and_sharp(factor: float) -> None:
    part = run(model_of(0), Interventions((Scale(factor),)))["cross"]
    assert isinstance(part, AttentionTrace) and part.weights.isfinite().all()
    if factor < 1:
        torch.testing.assert_close(part.weights, torch.full_like(part.weights, 1 / SOURCE), rtol=0, atol=1e-3)
    else:
        assert part.weights.amax(-1).mean() > 0.95


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


def test_the_best_key_is_that_of_the_scores_even_where_float32_weights_are_equal() -> None:
    # 1e-8 apart: both weights round to 0.5. What is shown beside the weights are the scores.
    edits = edits_of(Interventions((Replace("argmax", Where("cross", 0)),)), model_of(0).config)
    scores = torch.tensor([0.0, 1e-8]).expand(1, 3, 1, 2)
    scores = edits["decoder.0.cross.scores"](scores)
    assert edits["decoder.0.cross.weights"](scores.softmax(-1))[0, :, 0].argmax(-1).tolist() == [1, 1, 1]


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
