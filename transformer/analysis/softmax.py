"""The derivative of a softmax: how much of a gradient passes through attention weights."""

from torch import Tensor


def gradient_room(weights: Tensor) -> Tensor:
    """1 - sum p^2 of every row, the trace of the Jacobian diag(p) - p p^T of its softmax: [..., key] -> [...].

    0 if one weight is 1: there gradients are "extremely small", as section 3.2.1 says. The largest value, for equal
    weights, is 1 - 1 / key. The Jacobian is positive semi-definite, so its trace bounds every entry.
    """
    return 1 - weights.square().sum(-1)
