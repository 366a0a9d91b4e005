"""Saturation: against cases solved by hand, autograd's Jacobian, and loops."""

import itertools
import math
from dataclasses import replace

import pytest
import torch

from tests.support.build import tiny_pretrained
from transformer.analysis.saturation import MEASURES, SATURATED, saturation
from transformer.interventions.sets import Interventions, KnockOut, Replace, Unmask, Where
from transformer.tracing.trace import KINDS, AttentionTrace, Trace

LN = math.log


def attention(scores: list, hidden: list[tuple[int, int]] = (), layers: int = 1, heads: int = 1) -> AttentionTrace:  # type: ignore[assignment]
    """A trace of one sub-layer with these scores, [query][key], in every head; hidden: cells (query, key)."""
    one = torch.tensor(scores, dtype=torch.float32)
    mask = torch.ones(one.shape, dtype=torch.bool)
    for query, key in hidden:
        mask[query, key] = False
    one = one.masked_fill(~mask, -math.inf).expand(layers, heads, *one.shape)
    empty = torch.empty(0)
    names = ("enters", "queries", "keys", "values", "head_outputs", "update", "sum", "leaves", "scale", "rule", "zero",
             "replaced")  # fmt: skip
    return AttentionTrace(
        scores=one, weights=one.softmax(-1), mask=mask.expand_as(one), **dict.fromkeys(names, empty)
    )  # fmt: skip


@pytest.fixture(scope="module")
def trace() -> Trace:
    return tiny_pretrained().trace("ka lo mi nu re", "sta ti vu")


def test_solved_by_hand_with_a_mask() -> None:
    # Row 1 sees one key and has no choice. Row 2 sees two: scores 0 and ln 199, weights 0.005 and 0.995. Row 3 sees
    # three, scores 0, 0 and ln 2: weights 1/4, 1/4, 1/2, mean (ln 2) / 3.
    scores = [[5.0, 9.0, 9.0], [0.0, LN(199), 7.0], [0.0, 0.0, LN(2)]]
    found = saturation(attention(scores, [(0, 1), (0, 2), (1, 2)]))
    second = -(0.005 * LN(0.005) + 0.995 * LN(0.995)) / LN(2)
    third = (2 * LN(4) / 4 + LN(2) / 2) / LN(3)
    assert found.rows.item() == 2
    assert found.entropy.item() == pytest.approx((second + third) / 2, abs=1e-7)
    assert found.largest.item() == pytest.approx((0.995 + 0.5) / 2, abs=1e-7)
    assert found.gradient.item() == pytest.approx((1 - 0.995**2 - 0.005**2 + 10 / 16) / 2, abs=1e-7)
    assert found.spread.item() == pytest.approx(math.sqrt((LN(199) ** 2 / 4 + LN(2) ** 2 * 2 / 9) / 2), abs=1e-6)
    assert found.saturated.item() == 0.5


def test_flat_and_sharp_are_the_ends() -> None:
    flat = saturation(attention([[0.0] * 5] * 3))
    assert [getattr(flat, name).item() for name in MEASURES] == pytest.approx([1, 0.2, 0.8, 0, 0])
    sharp = saturation(attention([[0.0, 0.0, 1e3]] * 3))
    assert [getattr(sharp, name).item() for name in MEASURES] == pytest.approx([0, 1, 0, 1e3 * math.sqrt(2) / 3, 1])


def test_at_the_threshold_a_row_is_not_saturated_yet() -> None:
    for weight, share in ((SATURATED, 0.0), (SATURATED + 1e-4, 1.0)):
        part = attention([[0.0, 0.0]])
        part = replace(part, weights=torch.tensor([[[[weight, 1 - weight]]]], dtype=torch.float64))
        assert saturation(part).saturated.item() == share


@pytest.mark.parametrize("kind", KINDS)
def test_every_measure_against_loops(trace: Trace, kind: str) -> None:
    part = trace.attention(kind)
    found = saturation(part)
    for layer, head in itertools.product(range(part.layers), range(part.heads)):
        rows = []
        for p, s, seen in zip(part.weights[layer, head], part.scores[layer, head], part.mask[layer, head], strict=True):
            p, s = p[seen].double(), s[seen].double()
            if len(p) > 1:
                measures = (torch.special.entr(p).sum() / LN(len(p)), p.max(), 1 - (p * p).sum(), s.var(correction=0),
                            p.max() > 0.99)  # fmt: skip
                rows.append([float(one) for one in measures])
        assert found.rows[layer, head] == len(rows)
        for name, total in zip(MEASURES, map(sum, zip(*rows, strict=True)), strict=True):
            wanted = math.sqrt(total / len(rows)) if name == "spread" else total / len(rows)
            value = getattr(found, name)
            assert value.dtype == torch.float64 and value.shape == (part.layers, part.heads)
            assert value[layer, head].item() == pytest.approx(wanted, abs=1e-7)


def test_rows_of_padding_can_be_left_out() -> None:
    model = tiny_pretrained()
    first = model.trace("ka lo mi", "re sta")
    padded = model.retrace(first, Interventions.parse("pad=4"))
    real = len(first.source_ids)
    queries = [place < real for place in range(real + 4)]
    plain, found = saturation(first.encoder_self), saturation(padded.encoder_self, queries)
    assert (found.rows == real).all() and (saturation(padded.encoder_self).rows == real + 4).all()
    for name in MEASURES:
        torch.testing.assert_close(getattr(found, name), getattr(plain, name), rtol=0, atol=1e-5)
    with pytest.raises(ValueError, match="queries has 3 entries; the attention has"):
        saturation(first.encoder_self, [True] * 3)


def test_a_head_without_a_choice_has_no_measures() -> None:
    for found in (saturation(attention([[3.0]])), saturation(attention([[1.0, 2.0]]), [False])):
        assert found.rows.item() == 0 and all(getattr(found, name).isnan().all() for name in MEASURES)


def test_heads_may_see_different_keys_and_replaced_weights_are_measured(trace: Trace) -> None:
    where = Where("decoder_self", 0, 1)
    switches = Interventions((Unmask("causal", where), Replace("uniform", where), KnockOut(where)))
    after = tiny_pretrained().retrace(trace, switches)
    found, queries = saturation(after.decoder_self), len(trace.target_in)
    assert found.rows[0].tolist() == [queries - 1, queries, queries - 1]
    assert found.entropy[0, 1].item() == pytest.approx(1) and found.largest[0, 1].item() == pytest.approx(1 / queries)
    assert found.spread[0, 1] > 0  # of the scores, which nothing replaced
