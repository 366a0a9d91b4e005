"""The derivative of a softmax: how much of a gradient passes through attention weights."""

from __future__ import annotations

import torch
from torch import Tensor


def jacobian(weights: Tensor) -> Tensor:
    """d p_i / d s_j = p_i (1[i = j] - p_j) of p = softmax(s), that is diag(p) - p p^T, from p alone.

    weights: [..., key], rows of a softmax. Returns [..., key, key]: symmetric, rows and columns sum to 0. Of
    p = softmax(s / T) it is this matrix divided by T.
    """
    return torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)


def gradient_room(weights: Tensor) -> Tensor:
    """1 - sum p^2 of every row, the trace of its `jacobian`: [..., key] -> [...].

    0 where one weight is 1: there the gradients are those of section 3.2.1, "extremely small". At most 1 - 1 / key,
    where all weights are equal. The Jacobian is positive semi-definite, so this bounds every entry.
    """
    return 1 - weights.square().sum(-1)
