"""How far two rankings agree."""

import math

import torch
from torch import Tensor


def kendall_tau(first: Tensor, second: Tensor) -> float:
    """Kendall's tau-b of two rows, [n]: 1 for the same order, -1 for the reverse; NaN if one of them is all equal, or
    has NaN."""
    if bool(first.isnan().any() or second.isnan().any()):
        return math.nan
    one, other = ((row[:, None] - row[None, :]).sign().double() for row in (first, second))
    together = float((one * other).sum())
    apart = math.sqrt(float((one != 0).sum()) * float((other != 0).sum()))
    return together / apart if apart else math.nan


def agreement(rows: list[Tensor]) -> Tensor:
    """Kendall's tau of every two rows, [row, row]."""
    return torch.tensor([[kendall_tau(one, other) for other in rows] for one in rows])
