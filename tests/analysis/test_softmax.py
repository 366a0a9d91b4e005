"""How much of a gradient passes through a softmax, against autograd and at its ends."""

import pytest
import torch
from torch import Tensor

from transformer.analysis.softmax import gradient_room


def scores(*shape: int, seed: int = 3) -> Tensor:
    return 2 * torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_the_room_is_the_trace_of_autograds_jacobian_which_bounds_its_entries() -> None:
    rows = scores(3, 7)
    for row, room in zip(rows, gradient_room(rows.softmax(-1)), strict=True):
        found = torch.autograd.functional.jacobian(lambda x: torch.softmax(x, -1), row)
        assert torch.allclose(found.trace(), room, rtol=1e-12) and found.abs().max() <= room


def test_one_key_ahead_leaves_no_room_and_equal_keys_the_most() -> None:
    assert gradient_room(torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0])) == 0
    equal = torch.full((5,), 0.2, dtype=torch.float64)
    assert gradient_room(equal).item() == pytest.approx(0.8, abs=1e-15)
    assert (gradient_room(scores(100, 5).softmax(-1)) < 0.8).all()
