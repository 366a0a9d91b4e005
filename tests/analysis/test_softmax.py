"""The softmax's derivative against autograd, and by hand."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from transformer.analysis.softmax import gradient_room, jacobian


def scores(*shape: int, seed: int = 3) -> Tensor:
    return 2 * torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("temperature", [0.1, 1.0, 7.0])
def test_the_jacobian_is_autograds(temperature: float) -> None:
    s = scores(5)
    expected = torch.autograd.functional.jacobian(lambda x: torch.softmax(x / temperature, -1), s)
    found = jacobian(torch.softmax(s / temperature, -1)) / temperature
    assert torch.allclose(found, expected, rtol=1e-12, atol=1e-15)
    assert not torch.allclose(found, expected * 1.001, rtol=1e-12, atol=1e-15)


def test_identities_of_every_row() -> None:
    weights = scores(2, 3, 7).softmax(-1)
    found = jacobian(weights)
    assert found.shape == (2, 3, 7, 7)
    assert torch.equal(found, found.mT)
    assert found.sum(-1).abs().max() < 1e-15  # more of every score changes nothing
    assert torch.allclose(found.diagonal(dim1=-2, dim2=-1).sum(-1), gradient_room(weights), rtol=1e-12)
    assert torch.linalg.eigvalsh(found).min() > -1e-15
    assert (found.abs().amax((-2, -1)) <= gradient_room(weights)).all()
    for row in range(3):  # the leading axes are a loop
        assert torch.equal(found[1, row], jacobian(weights[1, row]))


def test_one_key_ahead_leaves_no_room_and_equal_keys_the_most() -> None:
    one = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0])
    assert not jacobian(one).any() and gradient_room(one) == 0
    equal = torch.full((5,), 0.2, dtype=torch.float64)
    assert gradient_room(equal).item() == pytest.approx(0.8, abs=1e-15)
    assert (gradient_room(scores(100, 5).softmax(-1)) < 0.8).all()
