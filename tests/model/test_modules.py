"""What each module of the model computes by itself; what all of them do together: test_properties.py."""

import math

import pytest
import torch
import torch.nn.functional as F

from tests.support.build import tiny_config
from transformer.model.attention import attend
from transformer.model.feedforward import FeedForward
from transformer.model.layers import SubLayer
from transformer.model.masks import causal_mask, padding_mask, real_tokens
from transformer.model.positions import LearnedPositions, SinusoidalPositions, sinusoidal
from transformer.model.tap import Tap

LENGTH, D_MODEL = 97, 26


def test_attention_solved_by_hand_with_a_mask():
    # Three keys with scores 0, ln 2 and 9; the last is hidden, so the first two share 1/3 and 2/3.
    queries = torch.tensor([[[[1.0]]]])
    keys = torch.tensor([[[[0.0], [math.log(2)], [9.0]]]])
    values = torch.tensor([[[[3.0], [6.0], [1e6]]]])
    tap = Tap()
    output = attend(queries, keys, values, torch.tensor([True, True, False]), tap=tap)
    assert tap.records["scores"].flatten().tolist() == [0, pytest.approx(math.log(2)), -math.inf]
    assert tap.records["weights"].flatten().tolist() == pytest.approx([1 / 3, 2 / 3, 0.0])
    assert output.item() == pytest.approx(5.0)


def test_dropped_weights_are_not_recorded():
    torch.manual_seed(1)
    queries, keys, values = (torch.randn(2, 3, length, 11) for length in (5, 7, 7))
    tap = Tap()
    output = attend(queries, keys, values, dropout=0.5, tap=tap)
    torch.testing.assert_close(tap.records["weights"].sum(-1), torch.ones(2, 3, 5))
    assert not torch.allclose(output, tap.records["weights"] @ values)


@pytest.mark.parametrize(("activation", "function"), [("relu", lambda x: x.clamp(min=0)), ("gelu", F.gelu)])
def test_equation_2_and_its_records(activation, function):
    torch.manual_seed(2)
    network, x, tap = FeedForward(7, 11, activation), torch.randn(2, 5, 7), Tap()
    output = network(x, tap)
    assert list(tap.records) == ["pre_activation", "activation"]
    pre, post = tap.records.values()
    torch.testing.assert_close(pre, x @ network.inner.weight.T + network.inner.bias)
    assert torch.equal(post, function(pre))
    torch.testing.assert_close(output, post @ network.outer.weight.T + network.outer.bias)


@pytest.mark.parametrize(
    ("norm", "residual", "wanted"),
    [
        ("post", True, (1, -1)),  # LayerNorm(x - 5 x) = LayerNorm(-4, -12)
        ("post", False, (1, -1)),  # LayerNorm(-5 x) = LayerNorm(-5, -15)
        ("pre", True, (6, -2)),  # x - 5 LayerNorm(x) = (1 + 5, 3 - 5)
        ("pre", False, (5, -5)),  # -5 LayerNorm(x)
        ("none", True, (-4, -12)),  # x - 5 x
        ("none", False, (-5, -15)),  # -5 x
    ],
)
def test_residual_connections_by_hand(norm, residual, wanted):
    layer = SubLayer(tiny_config(d_model=2, heads=1, norm=norm, residual=residual, layer_norm_eps=1e-9)).eval()
    x = torch.tensor([[[1.0, 3.0]]])  # LayerNorm of it is (-1, 1)
    assert layer(x, lambda y: -5 * y).flatten().tolist() == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("norm", ["pre", "none"])
def test_dropout_falls_on_the_update_only_and_only_in_training(norm, residual):
    layer = SubLayer(tiny_config(norm=norm, residual=residual, dropout=0.5))
    x = torch.randn(2, 7, 66)
    past = x * residual
    torch.manual_seed(3)
    difference = layer.train()(x, torch.ones_like) - past
    torch.testing.assert_close(difference.round(decimals=4).unique(), torch.tensor([0.0, 2.0]))
    assert torch.equal(layer.eval()(x, torch.ones_like), past + 1)


def test_masks_hide_padding_from_every_query_and_later_keys():
    hidden = padding_mask(torch.tensor([[5, 6, 3, 0, 0], [7, 3, 0, 0, 0]]), pad_id=0)
    assert hidden.tolist() == [[[[True, True, True, False, False]]], [[[True, True, False, False, False]]]]
    for length in (1, 2, 7, 31):
        wanted = [[key <= query for key in range(length)] for query in range(length)]
        assert causal_mask(length).tolist() == [[wanted]]


def test_formula_of_section_3_5_in_float64():
    table = sinusoidal(LENGTH, D_MODEL)
    assert table.shape == (LENGTH, D_MODEL) and table.dtype == torch.float32
    for position in range(LENGTH):
        for i in range(D_MODEL // 2):
            angle = position / 10000 ** (2 * i / D_MODEL)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)
    # In float32 the angle of a far position itself would be off by 1e-3.
    assert sinusoidal(16_384, 2)[16_383, 0].item() == pytest.approx(math.sin(16_383), abs=1e-7)


@pytest.mark.parametrize("make", [SinusoidalPositions, LearnedPositions])
def test_any_positions_in_any_order_and_only_learned_ones_are_saved(make):
    positions = make(LENGTH, D_MODEL)
    assert torch.equal(positions(torch.tensor([11, 3, 3, LENGTH - 1])), positions.table[[11, 3, 3, LENGTH - 1]])
    learned = ["table"] if make is LearnedPositions else []
    assert [name for name, _ in positions.named_parameters()] == list(positions.state_dict()) == learned
    assert not learned or positions.table.std().item() == pytest.approx(D_MODEL**-0.5, rel=0.05)


def test_the_first_token_fed_is_real_even_if_it_is_padding():
    assert real_tokens(torch.tensor([[0, 4, 0]]), pad_id=0).tolist() == [[True, True, False]]
