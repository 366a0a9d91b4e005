import math

import pytest
import torch
import torch.nn.functional as F

from transformer.model.feedforward import FeedForward
from transformer.model.tap import Tap

BATCH, TOKEN, D_MODEL, D_FF = 2, 5, 7, 11


def _set(network, inner, outer, inner_bias, outer_bias):
    with torch.no_grad():
        network.inner.weight.copy_(torch.tensor(inner))
        network.outer.weight.copy_(torch.tensor(outer))
        network.inner.bias.copy_(torch.tensor(inner_bias))
        network.outer.bias.copy_(torch.tensor(outer_bias))


@pytest.mark.parametrize(
    ("activation", "wanted"),
    # Before the non-linearity the two inner units hold 1 and -2. ReLU: 1, 0. GELU: x * Phi(x) = 0.841345, -0.045500.
    [("relu", 3 * 1 + 5 * 0 + 0.5), ("gelu", 3 * 0.8413447 + 5 * -0.0455003 + 0.5)],
)
def test_solved_by_hand(activation, wanted):
    network = FeedForward(1, 2, activation)
    _set(network, [[2.0], [-3.0]], [[3.0, 5.0]], [-1.0, 1.0], [0.5])
    tap = Tap()
    output = network(torch.tensor([[[1.0]]]), tap)
    assert tap.records["pre_activation"].flatten().tolist() == [1.0, -2.0]
    assert output.item() == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(("activation", "function"), [("relu", lambda x: x.clamp(min=0)), ("gelu", F.gelu)])
def test_equation_2_and_records(activation, function):
    torch.manual_seed(2)
    network = FeedForward(D_MODEL, D_FF, activation)
    x = torch.randn(BATCH, TOKEN, D_MODEL)
    tap = Tap()
    output = network(x, tap)
    assert list(tap.records) == ["pre_activation", "activation"]
    pre, post = tap.records.values()
    assert pre.shape == post.shape == (BATCH, TOKEN, D_FF) and output.shape == x.shape
    torch.testing.assert_close(pre, x @ network.inner.weight.T + network.inner.bias)
    assert torch.equal(post, function(pre))
    torch.testing.assert_close(output, post @ network.outer.weight.T + network.outer.bias)


def test_gelu_is_the_exact_one():
    x = torch.linspace(-4, 4, 17)
    exact = torch.tensor([v * 0.5 * (1 + math.erf(v / 2**0.5)) for v in x.tolist()])
    torch.testing.assert_close(FeedForward(2, 3, "gelu").activation(x), exact)


def test_each_token_by_itself():
    torch.manual_seed(2)
    network = FeedForward(D_MODEL, D_FF)
    x = torch.randn(BATCH, TOKEN, D_MODEL)
    changed = x.clone()
    changed[1, 3] += 1
    same = (network(x) == network(changed)).all(-1)
    assert same.sum() == BATCH * TOKEN - 1 and not same[1, 3]
