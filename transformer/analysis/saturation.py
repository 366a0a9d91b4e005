"""Saturation of every head: whether its softmax is flat or puts all weight on one key, and how much gradient passes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.attention import entropy
from transformer.analysis.softmax import gradient_room
from transformer.short_repr import short_repr
from transformer.tracing.trace import AttentionTrace

MEASURES = ("entropy", "largest", "gradient", "spread", "saturated")
SATURATED = 0.99  # a row whose largest weight is above it passes less than 2 (1 - 0.99) = 0.02 of gradient


@dataclass(frozen=True)
class Saturation:
    """Five measures of one kind of attention, [layer, head], float64. Means over rows p with at least two visible keys:
    a row with one visible key always has weight 1 there, and says nothing about the head.

    entropy:    mean of H(p) / ln(visible keys), H = -sum p ln p (Shannon 1948): 0: one key, 1: all keys equal
    largest:    mean of the row's largest weight
    gradient:   mean of 1 - sum p^2, the trace of the softmax's Jacobian diag(p) - p p^T: the gradient that can pass.
                Section 3.2.1: large products push the softmax "into regions where it has extremely small gradients"
    spread:     standard deviation of the visible scores around the mean of their row, over all rows: the root of the
                mean variance of the rows. (A constant added to a whole row does not change its softmax.) A difference
                of 1 between two scores is a factor e between their weights
    saturated:  share of rows whose largest weight is above SATURATED
    rows:       number of rows counted. Without any, the measures are NaN

    If a rule replaced the weights, entropy, largest, gradient and saturated measure the new weights, and spread the
    scores before the rule.
    """

    entropy: Tensor
    largest: Tensor
    gradient: Tensor
    spread: Tensor
    saturated: Tensor
    rows: Tensor

    __repr__ = short_repr


def saturation(attention: AttentionTrace, queries: Sequence[bool] | None = None) -> Saturation:
    """The measures of every head. queries: False leaves a row out, for example that of a <pad>; None counts all.

    Raises ValueError if queries does not have one entry per row.
    """
    weights, mask = attention.weights.double(), attention.mask
    rows_to_count = torch.tensor([True] * mask.shape[-2] if queries is None else queries, dtype=torch.bool)
    if len(rows_to_count) != mask.shape[-2]:
        raise ValueError(f"queries has {len(rows_to_count)} entries; the attention has {mask.shape[-2]} rows")
    visible = mask.sum(-1)  # [layer, head, query]
    counted = (visible > 1) & rows_to_count
    rows = counted.sum(-1)

    def mean(values: Tensor) -> Tensor:
        """Mean over the counted rows: [layer, head, query] -> [layer, head]."""
        return torch.where(rows > 0, torch.where(counted, values, 0.0).sum(-1) / rows, math.nan)

    largest = weights.amax(-1)
    scores = attention.scores.double().masked_fill(~mask, 0.0)
    centred = (scores - scores.sum(-1, keepdim=True) / visible[..., None]).masked_fill(~mask, 0.0)
    return Saturation(
        entropy=mean(entropy(weights) / visible.double().log()),
        largest=mean(largest),
        gradient=mean(gradient_room(weights)),
        spread=mean(centred.square().sum(-1) / visible).sqrt(),
        saturated=mean((largest > SATURATED).double()),
        rows=rows,
    )
