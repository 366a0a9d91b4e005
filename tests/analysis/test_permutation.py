"""Tokens in another order: without positions only the order of the outputs changes."""

import pytest
import torch

from tests.support.build import tiny_pretrained
from tests.support.figures import in_theme
from transformer.analysis.permutation import equivariance, permutation
from transformer.figures.permutation import permutation_deviations
from transformer.interventions.sets import Interventions, Reposition

MODEL = tiny_pretrained()

TEXT, TARGET = "nu re sta ti vu", "ka lo mi"
WITHOUT = Interventions((Reposition("remove", "source"),))


def test_an_order_moves_something() -> None:
    for length in range(1, 9):
        orders = {permutation(length, seed) for seed in range(40)}
        assert all(sorted(one) == list(range(length)) for one in orders)
        assert tuple(range(length)) not in orders or length == 1
    assert len({permutation(9, seed) for seed in range(40)}) > 35 and permutation(9, 4) == permutation(9, 4)


def test_retracing_in_another_order_moves_ids_tokens_and_labels() -> None:
    trace = MODEL.trace(TEXT, TARGET)
    order = permutation(len(trace.source_ids), 1)
    moved = MODEL.retrace(trace, order=order)
    for name in ("source_ids", "source_tokens", "source_labels"):
        assert getattr(moved, name) == tuple(getattr(trace, name)[place] for place in order)
    assert torch.equal(moved.source_embedding, trace.source_embedding[list(order)])
    assert moved.target_in_ids == trace.target_in_ids
    for wrong in ([0, 0], [1], list(range(len(order) + 1))):
        with pytest.raises(ValueError, match="is not an order of"):
            MODEL.retrace(trace, order=wrong)


def test_without_positions_the_encoder_is_equivariant_and_with_them_it_is_not() -> None:
    trace = MODEL.trace(TEXT, TARGET)
    order = permutation(len(trace.source_ids), 2)
    for switches, bounds in ((WITHOUT, (0.0, 1e-5)), (Interventions(), (1e-2, 99.0))):
        usual = MODEL.retrace(trace, switches)
        moved = MODEL.retrace(trace, switches, order=order)
        found = equivariance(usual, moved, order)
        # Every token against itself at its other place.
        places = torch.tensor(order)
        leaves = moved.encoder_ff.leaves - usual.encoder_ff.leaves[:, places]
        cells = moved.encoder_self.weights - usual.encoder_self.weights[:, :, places][..., places]
        torch.testing.assert_close(found.outputs.double(), leaves.abs().amax((1, 2)).double())
        torch.testing.assert_close(found.weights.double(), cells.abs().amax((1, 2, 3)).double())
        low, high = bounds
        assert low <= found.outputs.min() and found.outputs.max() < high
        assert (found.predicted < 1e-5) is (switches == WITHOUT)
        root = usual.encoder_ff.leaves[1].square().mean().sqrt().item()
        assert found.size[1].item() == pytest.approx(root, rel=1e-5)


def test_pads_stay_behind() -> None:
    switches = Interventions.parse("pad=2 positions=remove@source")
    trace = MODEL.trace(TEXT, TARGET, interventions=switches)
    real = len(trace.source_ids) - 2
    order = permutation(real, 3)
    moved = MODEL.retrace(trace, switches, order=order)
    assert moved.source_ids[real:] == trace.source_ids[real:]
    assert equivariance(trace, moved, order).outputs.max() < 1e-5


def test_another_sentence_is_refused() -> None:
    one, two = MODEL.trace(TEXT, TARGET), MODEL.trace("ka ka ka ka ka", TARGET)
    with pytest.raises(ValueError, match="in this order"):
        equivariance(one, two, permutation(len(one.source_ids), 1))


def test_the_figure_draws_every_deviation() -> None:
    for theme in ("light", "dark"):
        size, with_, without = in_theme(permutation_deviations, theme)([2.0, 3.0], [1e-7, 0.0], [1.0, 1.1]).data
        assert list(size.y) == [1.0, 1.1] and list(with_.y) == [2.0, 3.0]
        assert list(without.y) == [1e-7, 1e-9] and list(without.customdata) == [1e-7, 0.0]
        assert list(size.x) == [1, 2]
