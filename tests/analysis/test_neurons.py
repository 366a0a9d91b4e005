"""Activity of neurons and single neurons: against loops, cases solved by hand, autograd, and the model's own sums."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.support.build import D_FF, tiny_model, tiny_pretrained
from transformer.analysis.activations import (
    ACTIVE,
    active_counts,
    histogram,
    left_of_zero,
    nonlinearity,
    rug,
    spread,
    thresholds,
)
from transformer.analysis.neuron_outputs import expected_largest, most_common, output_norms, promotion, strongest
from transformer.tracing.trace import Trace

BY_HAND = torch.tensor([[[0.0, 0.5, -0.5, 2.0], [0.0, 0.0, 0.1, 1.0], [0.0, 0.0, 0.0, 3.0]]])  # 1 layer, 3 tokens


@pytest.fixture(scope="module")
def trace() -> Trace:
    return tiny_pretrained().trace("ka lo mi nu re", "sta ti vu")


def test_active_neurons_solved_by_hand() -> None:
    found = active_counts(BY_HAND, [0.0, 0.1, 0.5, 2.5])
    # a value equal to a threshold is not above it, and one below 0 never is
    assert found.tolist() == [[[2, 2, 1, 0], [2, 1, 1, 0], [1, 1, 1, 1]]]


def test_gelu_of_a_negative_number_stays_below_the_threshold() -> None:
    z = torch.linspace(-9, 9, 20_001, dtype=torch.float64)
    found = F.gelu(z)
    assert found.min().item() == pytest.approx(-0.16997, abs=1e-5) and -found.min() < ACTIVE["gelu"]


def test_thresholds_rise_and_hold_the_one_shown_first() -> None:
    steps = thresholds()
    assert set(ACTIVE.values()) <= set(steps) and sorted(set(steps)) == list(steps)
    assert (steps[0], steps[-1], len(steps)) == (0.0, 2.0, 41)
    with pytest.raises(ValueError, match="must increase"):
        active_counts(BY_HAND, [0.2, 0.1])


def test_spread_solved_by_hand_counts_every_neuron_once(trace: Trace) -> None:
    # neurons 0 and 2 on no token (-0.5 is not above 0.2), 1 on one, 3 on all three
    assert spread(BY_HAND, 0.2).tolist() == [[2, 1, 0, 1]]
    assert (spread(trace.decoder_ff.activation, 0.0).sum(-1) == D_FF).all()


def test_the_histogram_counts_every_number_once_and_0_parts_the_bins(trace: Trace) -> None:
    side = trace.encoder_ff
    found = histogram(side.pre_activation[0], side.activation[0])
    width = found.edges[1] - found.edges[0]
    assert found.total == side.activation[0].numel() == found.before.sum() == found.after.sum()
    assert 0.0 in found.edges and np.allclose(np.diff(found.edges), width) and 60 <= len(found.before) <= 62
    assert found.zero == int((side.activation[0] == 0).sum())
    zero = int(np.flatnonzero(found.edges == 0.0)[0])
    assert found.before[:zero].sum() == int((side.pre_activation[0] < 0).sum())
    assert found.after[:zero].sum() == 0 and found.after[zero] >= found.zero
    values = side.pre_activation[0].flatten().tolist()
    for at, (low, high) in enumerate(zip(found.edges[:-1], found.edges[1:], strict=True)):
        slack = 1e-9  # an edge is a product, rounded
        inside = [low + slack <= one < high - slack for one in values]
        near = [low - slack <= one < high + slack for one in values]
        assert sum(inside) <= found.before[at] <= sum(near)


def test_histograms_of_odd_numbers() -> None:
    flat = histogram(torch.zeros(2, 3), torch.zeros(2, 3))
    assert flat.total == flat.zero == 6 and flat.before.sum() == 6
    with pytest.raises(ValueError, match="6 pre-activations and 4"):
        histogram(torch.zeros(6), torch.zeros(4))
    with pytest.raises(ValueError, match="finite"):
        histogram(torch.tensor([math.nan]), torch.zeros(1))
    with pytest.raises(ValueError, match="0 pre-activations"):
        histogram(torch.zeros(0), torch.zeros(0))


@pytest.mark.parametrize("kind", ACTIVE)
def test_functions_are_pytorchs_and_slopes_are_autograds(kind: str) -> None:
    z = torch.linspace(-6, 6, 41, dtype=torch.float64)
    z = z[z != 0].requires_grad_(True)
    value = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}[kind](z)
    (slope,) = torch.autograd.grad(value.sum(), z)
    found = nonlinearity(kind, z.detach().numpy())
    assert np.allclose(found.value, value.detach().numpy(), atol=1e-12)
    assert np.allclose(found.slope, slope.numpy(), atol=1e-12)


def test_the_non_linearities_at_0() -> None:
    assert math.isnan(nonlinearity("relu", [0.0]).slope[0]) and nonlinearity("relu", [0.0]).value[0] == 0
    gelu = nonlinearity("gelu", [0.0])
    assert gelu.value[0] == 0 and gelu.slope[0] == 0.5
    swish = nonlinearity("swish", [0.0, 1.0])
    assert swish.value[0] == 0 and swish.slope[0] == 0.5 and swish.value[1] == pytest.approx(1 / (1 + math.exp(-1)))
    with pytest.raises(ValueError, match="'tanh'"):
        nonlinearity("tanh", [1.0])


def test_a_rug_keeps_both_ends_and_ranks() -> None:
    values = torch.randn(5_003, generator=torch.Generator().manual_seed(7)).exp()
    found = rug(values, 101)
    assert len(found) == 101 and (np.diff(found) >= 0).all()
    assert (found[0], found[-1]) == (values.min().item(), values.max().item())
    assert found[50] == pytest.approx(values.median().item(), rel=0.01)
    assert rug(torch.tensor([[3.0, -1.0], [2.0, 0.5]])).tolist() == [-1.0, 0.5, 2.0, 3.0]
    with pytest.raises(ValueError, match="at least 2 ticks are needed, .* but most is 1"):
        rug(values, 1)


def test_left_of_zero() -> None:
    assert left_of_zero(torch.tensor([[-1.0, 0.0], [2.0, -3.0]])) == 0.5


def test_a_tokens_update_is_the_sum_of_its_neurons_rows_and_a_bias(trace: Trace) -> None:
    """What `strongest` and `promotion` take for a neuron's output is what the model adds."""
    model = tiny_pretrained().model
    for stack, side in (("encoder", trace.encoder_ff), ("decoder", trace.decoder_ff)):
        for layer in range(2):
            outer = getattr(model, stack)[layer].feed_forward.outer
            norms = output_norms(model, stack, layer)
            activation = side.activation[layer, 1]
            rows = [activation[neuron] * outer.weight[:, neuron] for neuron in range(D_FF)]
            assert torch.allclose(sum(rows) + outer.bias, side.update[layer, 1], atol=1e-5)
            found = strongest(activation, norms, "contribution", D_FF)
            for neuron, length in zip(found.neurons, found.contribution.tolist(), strict=True):
                assert rows[neuron].norm().item() == pytest.approx(length, abs=1e-6)


def test_orders_solved_by_hand() -> None:
    activation, norms = torch.tensor([1.0, -4.0, 3.0, 3.0, 0.0]), torch.tensor([9.0, 2.0, 1.0, 1.0, 50.0])
    first = strongest(activation, norms, count=3)
    assert first.neurons == (2, 3, 0) and first.activation.tolist() == [3.0, 3.0, 1.0]
    second = strongest(activation, norms, "contribution", 4)
    assert second.neurons == (0, 1, 2, 3) and second.contribution.tolist() == [9.0, 8.0, 3.0, 3.0]
    with pytest.raises(ValueError, match="'size'"):
        strongest(activation, norms, "size")
    with pytest.raises(ValueError, match=r"\[5\] and norms \[4\]"):
        strongest(activation, norms[:4])


@pytest.mark.parametrize(("stack", "layer", "neuron"), [("encoder", 1, 3), ("decoder", 0, 36)])
def test_promotion_is_the_table_times_the_row(stack: str, layer: int, neuron: int) -> None:
    model = tiny_model()
    row = getattr(model, stack)[layer].feed_forward.outer.weight[:, neuron]
    scores = [sum(a * b for a, b in zip(each, row.tolist(), strict=True)) for each in model.embedding.weight.tolist()]
    order = sorted(range(len(scores)), key=lambda one: -scores[one])
    found = promotion(model, stack, layer, neuron, 6)
    assert found.top == tuple(order[:6]) and found.bottom == tuple(order[::-1][:6])
    assert found.top_scores == pytest.approx([scores[one] for one in found.top], abs=1e-5)
    assert found.bottom_scores == pytest.approx([scores[one] for one in found.bottom], abs=1e-5)
    assert (found.mean, found.deviation) == pytest.approx((np.mean(scores), np.std(scores)), abs=1e-5)
    assert found.above == pytest.approx((max(scores) - np.mean(scores)) / np.std(scores), rel=1e-4)
    assert found.below == pytest.approx((np.mean(scores) - min(scores)) / np.std(scores), rel=1e-4)


def test_a_row_of_zeros_stands_out_nowhere() -> None:
    model = tiny_model()
    with torch.no_grad():
        model.decoder[0].feed_forward.outer.weight[:, 4] = 0.0
    found = promotion(model, "decoder", 0, 4)
    assert found.above == found.below == found.deviation == 0.0 and set(found.top_scores) == {0.0}


@pytest.mark.parametrize("arguments", [("middle", 0, 0), ("encoder", 2, 0), ("encoder", -1, 0), ("decoder", 1, D_FF)])
def test_unknown_neurons_and_layers_are_errors(arguments: tuple[str, int, int]) -> None:
    with pytest.raises(ValueError, match=r"unknown stack|no layer .*; choose 0 to 1|choose 0 to 36"):
        promotion(tiny_model(), *arguments)


@pytest.mark.parametrize("count", [31, 500, 4_000])
def test_the_largest_of_many_normal_numbers(count: int) -> None:
    drawn = np.random.default_rng(2).standard_normal((3_000, count)).max(1).mean()
    assert expected_largest(count) == pytest.approx(drawn, rel=0.02)
    with pytest.raises(ValueError, match="count must be at least 1, but it is 0"):
        expected_largest(0)


def test_most_common() -> None:
    assert most_common([4, 7, 7, 4, 9]) == (4, 2) and most_common([3]) == (3, 1)
    with pytest.raises(ValueError, match="at least one value"):
        most_common([])
