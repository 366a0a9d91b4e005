"""Measurements need numbers: a model whose weights are finite may still overflow on the way."""

from __future__ import annotations

from torch import Tensor

from transformer.texts import UserError


class NotFiniteError(UserError):
    """A pass gave NaN, so that nothing can be measured."""


def check_numbers(*tensors: Tensor) -> None:
    """Raises NotFiniteError if one of them has NaN; infinity is allowed, because masked scores are -inf."""
    if any(bool(tensor.isnan().any()) for tensor in tensors):
        raise NotFiniteError(
            "this model computes NaN, not a number, so nothing can be measured; its weights are probably too large "
            "or damaged: check how they were trained or converted"
        )
