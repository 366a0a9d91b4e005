"""Value zeroing, leave-one-out, removal curves and agreement."""

from __future__ import annotations

import math

import pytest
import torch

from tests.support.build import tiny_pretrained
from transformer.attribution import METHODS, attribute, kendall_tau, removal_curve
from transformer.attribution.agreement import agreement
from transformer.attribution.faithfulness import removable
from transformer.attribution.leaving_out import after_removing, leave_one_out, log_probs_without
from transformer.attribution.zeroing import value_zeroing
from transformer.interventions.sets import Interventions
from transformer.texts import UserError

TEXT = ("ka lo mi vu", "lo mi ka")


def test_leaving_a_token_out_is_the_switch_hide() -> None:
    model = tiny_pretrained()
    trace = model.trace(*TEXT)
    found, plain = leave_one_out(model, trace), trace.probabilities.log()
    for side, values, tokens in (
        ("source", found.source, range(len(trace.source_ids))),
        ("target", found.prefix, range(1, len(trace.target_in_ids))),
    ):
        for token in tokens:
            hidden = model.retrace(trace, Interventions.parse(f"hide={side}.{token + 1}")).probabilities.log()
            torch.testing.assert_close(values[:, token].float(), (plain - hidden).clone(), atol=1e-4, rtol=1e-3)
    assert found.prefix.triu(1).abs().max() < 1e-5


def test_hiding_everything_at_once_and_step_by_step() -> None:
    model = tiny_pretrained()
    trace = model.trace(*TEXT)
    order = removable(trace, 2)
    sources = len(trace.source_ids)
    # The words, and the token fed at step 1; </s>, <s> and what the step itself is fed stay.
    assert order == [*range(sources - 1), sources + 1]
    curve = after_removing(model, trace, 2, [order, order[::-1]])
    assert curve[0][0] == curve[1][0] == pytest.approx(float(trace.probabilities[2]), abs=1e-5)
    assert curve[0][-1] == pytest.approx(curve[1][-1]) and len(curve[0]) == len(order) + 1
    hidden = torch.zeros(1, sources + len(trace.target_in_ids), dtype=torch.bool)
    hidden[0, order] = True
    assert curve[0][-1] == pytest.approx(float(log_probs_without(model, trace, hidden)[0, 2].exp()))


def test_removal_curves_have_one_entry_a_method_and_the_area_is_their_mean() -> None:
    model = tiny_pretrained()
    trace = model.trace(*TEXT)
    found = removal_curve(model, trace, 1, {name: attribute(model, trace, name) for name in ("alti", "leave-one-out")})
    assert list(found) == ["alti", "leave-one-out", "random"]
    for curve in found.values():
        assert curve.area == pytest.approx(sum(curve.probabilities) / len(curve.probabilities))
        assert curve.probabilities[0] == pytest.approx(float(trace.probabilities[1]), abs=1e-5)
    # Leaving out one token at a time finds the largest first fall.
    falls = {name: curve.probabilities[0] - curve.probabilities[1] for name, curve in found.items()}
    assert falls["leave-one-out"] >= max(falls["alti"], falls["random"]) - 1e-6


def test_value_zeroing_of_one_layer_is_the_turn_of_the_outputs() -> None:
    """The first encoder layer, token by token, with an edit of a whole pass."""
    model = tiny_pretrained()
    trace = model.trace(*TEXT)
    tokens = len(trace.source_ids)
    expected = torch.zeros(tokens, tokens)
    for token in range(tokens):

        def edit(values: torch.Tensor, token: int = token) -> torch.Tensor:
            changed = values.clone()
            changed[:, :, token] = 0
            return changed

        moved = model.retrace(trace, edits={"encoder.0.self.values": edit}).encoder_ff.leaves[0]
        expected[:, token] = 1 - torch.cosine_similarity(moved, trace.encoder_ff.leaves[0], dim=-1)
    expected = expected / expected.sum(-1, keepdim=True)
    captured = []
    import transformer.attribution.zeroing as zeroing

    original = zeroing.through_layers

    def spy(encoder, decoder, cross):  # type: ignore[no-untyped-def]
        captured.append(encoder[0])
        return original(encoder, decoder, cross)

    zeroing.through_layers = spy
    try:
        found = value_zeroing(model, trace)
    finally:
        zeroing.through_layers = original
    torch.testing.assert_close(captured[0].float(), expected, atol=1e-4, rtol=1e-3)
    torch.testing.assert_close(found.joined().sum(-1), torch.ones(len(found.source), dtype=torch.float64))


def test_kendall_by_hand() -> None:
    assert kendall_tau(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([10.0, 20.0, 30.0])) == pytest.approx(1)
    assert kendall_tau(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([3.0, 2.0, 1.0])) == pytest.approx(-1)
    # Three pairs: (1, 2) and (1, 3) agree, (2, 3) is a tie in the second row: 2 / sqrt(3 * 2).
    assert kendall_tau(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 2.0])) == pytest.approx(2 / math.sqrt(6))
    assert math.isnan(kendall_tau(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 2.0])))
    both = agreement([torch.tensor([1.0, 2.0]), torch.tensor([2.0, 1.0])])
    assert both.tolist() == [[1.0, -1.0], [-1.0, 1.0]]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_on_every_row(name: str) -> None:
    model = tiny_pretrained()
    trace = model.trace(*TEXT)
    found = attribute(model, trace, name)
    steps = len(trace.target_out_ids)
    assert found.source.shape == (steps, len(trace.source_ids)) and found.prefix.shape == (steps, steps)
    assert found.joined().isfinite().all() and found.joined().dtype == torch.float64
    if found.shares:
        torch.testing.assert_close(found.joined().sum(-1), torch.ones(steps, dtype=torch.float64))


def test_an_unknown_method_gets_one_sentence() -> None:
    model = tiny_pretrained()
    with pytest.raises(UserError, match="unknown method 'atli'"):
        attribute(model, model.trace(*TEXT), "atli")
