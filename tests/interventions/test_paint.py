"""Rows of attention set by hand."""

from typing import Any

import pytest
import torch

from tests.support.build import sentences, tiny_pretrained
from transformer import InterventionError, Interventions, Where
from transformer.analysis.attention import check
from transformer.inference.sampling import Sampling
from transformer.interventions.paint import Paint

MODEL = tiny_pretrained()
SOURCE, TARGET = "ka lo minu", "re sta vu zen"
CROSS = Where("cross", 1, 0)


def traced(*switches: Paint):  # type: ignore[no-untyped-def]
    return MODEL.trace(SOURCE, TARGET, interventions=Interventions(switches))


def test_one_row_of_one_head_becomes_what_was_painted_and_stays_a_distribution() -> None:
    plain, found = MODEL.trace(SOURCE, TARGET), traced(Paint(2, (1.0, 0.0, 3.0), False, CROSS))
    keys = found.cross.weights.shape[-1]
    assert found.cross.weights[1, 0, 2].tolist() == pytest.approx([0.25, 0.0, 0.75, *[0.0] * (keys - 3)])
    same = torch.ones(found.cross.weights.shape[1:3], dtype=torch.bool)
    same[0, 2] = False
    assert torch.equal(found.cross.weights[1][same], plain.cross.weights[1][same])
    assert torch.allclose(found.cross.head_outputs[1, 0, 2], found.cross.weights[1, 0, 2] @ found.cross.values[1, 0])
    assert not torch.equal(found.logits[2], plain.logits[2]) and torch.equal(found.logits[:2], plain.logits[:2])
    assert found.cross.rule[1].tolist() == [3, 0, 0] and check(found.cross).hold


def test_later_rows_are_painted_too_and_the_mask_stays() -> None:
    found = traced(Paint(1, (0.0, 1.0, 1.0, 1.0), True, Where("decoder_self", 0, 1)))
    weights = found.decoder_self.weights[0, 1]
    assert weights[1, :3].tolist() == [0.0, 1.0, 0.0]  # the future gets nothing
    assert weights[2, :4].tolist() == pytest.approx([0.0, 0.5, 0.5, 0.0])
    assert all(row[:4].tolist() == pytest.approx([0.0, 1 / 3, 1 / 3, 1 / 3]) for row in weights[3:])
    assert torch.allclose(weights.sum(-1), torch.ones(len(weights)))


def test_of_two_for_one_row_the_later_wins() -> None:
    found = traced(Paint(0, (1.0,), False, Where("cross")), Paint(0, (0.0, 1.0), False, CROSS))
    assert found.cross.weights[1, 0, 0, :2].tolist() == [0.0, 1.0]
    assert found.cross.weights[1, 1, 0, :2].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "search, switch",
    [
        ({}, "paint=2+:1_3@cross"),
        ({"beam": 3}, "paint=3:0_1@decoder_self paint=2:0_1@encoder_self.1"),
        ({"beam": 3}, "paint=2+:1_3@cross"),
        ({"sample": Sampling(temperature=0.8, seed=5)}, "paint=3:0_1@decoder_self paint=2:0_1@encoder_self.1"),
    ],
    ids=str,
)
def test_batches_beams_and_samples_are_what_a_trace_with_the_same_row_gives(
    search: dict[str, Any], switch: str
) -> None:
    on, texts = Interventions.parse(switch), [SOURCE, "ka", *sentences()[:4], "minu lo"]
    together = MODEL.translate_all(texts, **search, interventions=on)
    assert together != MODEL.translate_all(texts, **search)
    for text, found in zip(texts, together, strict=True):
        assert found.tokens == MODEL.translate(text, **search, interventions=on).tokens
        trace = MODEL.trace(text, output=found.ids, interventions=on)
        assert found.probabilities == pytest.approx(trace.probabilities.tolist(), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize(
    "text, said",
    [
        ("paint=2:0_0@cross.1", "sums to 0"),
        ("paint=2:1", "need a kind of attention"),
        ("paint=0:1@cross", "is not a painted row"),
        ("paint=2:1_x@cross", "is not a painted row"),
        ("paint=2:1__1@cross", "is not a painted row"),
        ("paint=2:1.1.1@cross", "is not a painted row"),
        ("paint=2:1e_1@cross", "is not a painted row"),
        ("paint=2:1e999@cross", "numbers of at least 0"),
        ("paint=2:1@cross.9", "asks for layer 9"),
    ],
)
def test_what_cannot_be_painted_is_said(text: str, said: str) -> None:
    with pytest.raises(InterventionError, match=said):
        Interventions.parse(text).check(MODEL.config)


def test_rows_and_weights_must_fit_the_sentence() -> None:
    with pytest.raises(InterventionError, match="9 weights, but the source has"):
        traced(Paint(0, (1.0,) * 9, False, CROSS))
    with pytest.raises(InterventionError, match="row 50 cannot be painted"):
        traced(Paint(49, (1.0,), False, CROSS))
    with pytest.raises(InterventionError, match="masked in row 1"):
        traced(Paint(0, (0.0, 1.0), False, Where("decoder_self")))
    with pytest.raises(InterventionError, match="numbers of at least 0"):
        Paint(0, (-1.0, 2.0), False, CROSS)
    with pytest.raises(InterventionError, match="numbers of at least 0"):
        Paint(0, (10**400,), False, CROSS)


@pytest.mark.parametrize(
    "weights, row",
    [
        ((1e300, 3e300), (0.25, 0.75)),  # float32 ends at 3e38
        ((1.5e308, 1.5e308), (0.5, 0.5)),  # and so does float64, for the sum
        ((1e-300, 3e-300), (0.25, 0.75)),
        ((5e-324,), (1.0,)),
        ((1e39, 1.0), (1.0, 0.0)),
        ((1_000_000.0, 1_000_000.0), (0.5, 0.5)),
        ((1e-05, 0.0, 1e-05), (0.5, 0.0, 0.5)),
    ],
)
def test_weights_of_any_size_are_a_distribution_and_have_a_text(
    weights: tuple[float, ...], row: tuple[float, ...]
) -> None:
    switch = Paint(2, weights, False, CROSS)
    found = traced(switch)
    keys = found.cross.weights.shape[-1]
    assert found.cross.weights[1, 0, 2].tolist() == pytest.approx([*row, *[0.0] * (keys - len(row))])
    assert found.logits.isfinite().all()
    assert Interventions.parse(str(Interventions((switch,)))).switches == (switch,)
