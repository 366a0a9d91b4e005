"""The derivative of a softmax: how much of a gradient passes through attention weights."""

from __future__ import annotations

import torch
from torch import Tensor


def jacobian(weights: Tensor) -> Tensor:
    """d p_i / d s_j = p_i (1[i = j] - p_j) for p = softmax(s), that is diag(p) - p p^T, from p alone.

    weights: [..., key], rows of a softmax. Returns [..., key, key]: symmetric, rows and columns sum to 0. For
    p = softmax(s / T), divide this matrix by T.
    """
    return torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)


def gradient_room(weights: Tensor) -> Tensor:
    """1 - sum p^2 of every row, the trace of its `jacobian`: [..., key] -> [...].

    0 if one weight is 1: there gradients are "extremely small", as section 3.2.1 says. The largest value, for equal
    weights, is 1 - 1 / key. The Jacobian is positive semi-definite, so its trace bounds every entry.
    """
    return 1 - weights.square().sum(-1)
