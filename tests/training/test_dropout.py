import pytest
import torch

from tests.support.build import padded_sources, targets_in, tiny_config
from transformer.model.transformer import Transformer
from transformer.training.speed import LEVELS, CheapDropout, cheap_dropout, prepare_for_training


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_share_dropped_and_scale_of_the_rest(probability, dtype):
    torch.manual_seed(1)
    x = torch.full((211, 331), 3.0, dtype=dtype)
    result = cheap_dropout(x, probability)
    assert result.dtype == dtype and result.shape == x.shape
    kept = result[result != 0].float()
    count = x.numel()
    # Five standard deviations of a binomial count.
    assert abs(count - kept.numel() - probability * count) < 5 * (count * probability * (1 - probability)) ** 0.5
    wanted = 3 / (1 - round(probability * LEVELS) / LEVELS)
    assert kept.unique().tolist() == [pytest.approx(wanted, rel=1e-6 if dtype == torch.float32 else 2**-7)]


def test_zero_gives_the_tensor_back():
    x = torch.randn(3)
    assert cheap_dropout(x, 0.0) is x


@pytest.mark.parametrize("shape", [(), (1,), (2,), (3,), (5,), (2, 3, 7), (0, 4)])
def test_every_shape(shape):
    assert cheap_dropout(torch.ones(shape), 0.25).shape == shape


@pytest.mark.parametrize("probability", [1e-9, 1 - 1e-9])
def test_extreme_probabilities_stay_finite(probability):
    assert cheap_dropout(torch.ones(97, 89), probability).isfinite().all()


def test_the_four_draws_of_one_number_are_independent():
    torch.manual_seed(4)
    kept = (cheap_dropout(torch.ones(50_000, 4), 0.5) != 0).double()
    correlation = torch.corrcoef(kept.T) - torch.eye(4)
    assert correlation.abs().max() < 0.02  # four standard deviations of 1/sqrt(50,000)


def test_gradient_is_the_same_mask():
    torch.manual_seed(2)
    x = torch.ones(7, 11, requires_grad=True)
    result = cheap_dropout(x, 0.4)
    result.sum().backward()
    assert torch.equal(x.grad, result.detach())


def test_a_prepared_model_drops_cheaply_and_computes_the_same() -> None:
    plain, prepared = (Transformer(tiny_config(dropout=0.4)) for _ in range(2))
    prepared.load_state_dict(plain.state_dict())
    prepare_for_training(prepared)
    found = [module for module in prepared.modules() if isinstance(module, torch.nn.Dropout)]
    assert len(found) == 11 and all(type(module) is CheapDropout and module.p == 0.4 for module in found)
    source, target = padded_sources(1), targets_in(2, 3)
    assert torch.equal(prepared.eval()(source, target), plain.eval()(source, target))
    prepared.train()
    torch.manual_seed(1)
    first = prepared(source, target)
    torch.manual_seed(1)
    assert torch.equal(prepared(source, target), first) and not torch.equal(prepared(source, target), first)
