"""Label smoothing of one prediction: by hand, and against the loss of training."""

import pytest
import torch

from transformer.analysis.smoothing import smooth
from transformer.training.loss import label_smoothed_loss


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.3])
def test_loss_and_gradient_are_those_of_training(epsilon: float) -> None:
    torch.manual_seed(1)
    logits = torch.randn(31, dtype=torch.float64).requires_grad_()
    found = smooth(logits.detach(), 5, epsilon)
    wanted = label_smoothed_loss(logits[None], torch.tensor([5]), epsilon)
    wanted.backward()
    assert found.loss == pytest.approx(wanted.item()) and torch.allclose(found.gradient, logits.grad)
    assert found.targets.sum().item() == pytest.approx(1) and abs(found.gradient.sum().item()) < 1e-12


def test_no_prediction_gets_below_the_least() -> None:
    best = smooth(torch.zeros(9), 2, 0.1).targets.log()
    found = smooth(best, 2, 0.1)
    assert found.loss == pytest.approx(found.least) and found.gradient.abs().max() < 1e-12
    assert smooth(torch.randn(9), 2, 0.1).loss > found.least and smooth(torch.zeros(9), 2, 0.0).least == 0
