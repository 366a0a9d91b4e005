import pytest
import torch

from transformer.model.dropout import LEVELS, dropout


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_share_dropped_and_scale_of_the_rest(probability, dtype):
    torch.manual_seed(1)
    x = torch.full((211, 331), 3.0, dtype=dtype)
    result = dropout(x, probability)
    assert result.dtype == dtype and result.shape == x.shape
    kept = result[result != 0].float()
    count = x.numel()
    # Five standard deviations of a binomial count.
    assert abs(count - kept.numel() - probability * count) < 5 * (count * probability * (1 - probability)) ** 0.5
    wanted = 3 / (1 - round(probability * LEVELS) / LEVELS)
    assert kept.unique().tolist() == [pytest.approx(wanted, rel=1e-6 if dtype == torch.float32 else 2**-7)]


def test_zero_gives_the_tensor_back():
    x = torch.randn(3)
    assert dropout(x, 0.0) is x


@pytest.mark.parametrize("shape", [(), (1,), (2,), (3,), (5,), (2, 3, 7), (0, 4)])
def test_every_shape(shape):
    assert dropout(torch.ones(shape), 0.25).shape == shape


@pytest.mark.parametrize("probability", [1e-9, 1 - 1e-9])
def test_extreme_probabilities_stay_finite(probability):
    assert dropout(torch.ones(97, 89), probability).isfinite().all()


def test_seeded_draws_repeat_and_others_differ():
    x = torch.ones(31, 37)
    torch.manual_seed(1)
    first, second = dropout(x, 0.5), dropout(x, 0.5)
    torch.manual_seed(1)
    assert torch.equal(dropout(x, 0.5), first)
    assert not torch.equal(first, second)


def test_the_four_draws_of_one_number_are_independent():
    torch.manual_seed(4)
    kept = (dropout(torch.ones(50_000, 4), 0.5) != 0).double()
    correlation = torch.corrcoef(kept.T) - torch.eye(4)
    assert correlation.abs().max() < 0.02  # four standard deviations of 1/sqrt(50,000)


def test_gradient_is_the_same_mask():
    torch.manual_seed(2)
    x = torch.ones(7, 11, requires_grad=True)
    result = dropout(x, 0.4)
    result.sum().backward()
    assert torch.equal(x.grad, result.detach())
