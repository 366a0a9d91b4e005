"""How saturated every head is: where its softmax lies between flat and all on one key, and what gradient it lets by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.attention import entropy
from transformer.analysis.softmax import gradient_room
from transformer.tracing.trace import AttentionTrace

MEASURES = ("entropy", "largest", "gradient", "spread", "saturated")
SATURATED = 0.99  # a row whose largest weight is above it passes less than 2 (1 - 0.99) = 0.02 of gradient


@dataclass(frozen=True)
class Saturation:
    """Five measures of one kind of attention, [layer, head], float64. Means over rows p that see two keys or more: a
    row that sees one key has weight 1 there whatever its score, and tells nothing of the head.

    entropy:    mean of H(p) / ln(visible keys), H = -sum p ln p (Shannon 1948): 0 all on one key, 1 all alike
    largest:    mean of the row's largest weight
    gradient:   mean of 1 - sum p^2, the trace of the softmax's Jacobian diag(p) - p p^T: what gradient can pass.
                Section 3.2.1: large products push the softmax "into regions where it has extremely small gradients"
    spread:     standard deviation of the visible scores about the mean of their row, over all rows: root of the mean
                of the rows' variances. What all scores of a row share does not reach its softmax. A difference of 1
                between two scores is a factor e between their weights
    saturated:  share of rows whose largest weight is above SATURATED
    rows:       how many rows were counted, whole numbers. Without any the measures are NaN

    The weights are those of the trace: where a rule replaced them, entropy, largest, gradient and saturated measure
    what replaced them, spread the scores before it.
    """

    entropy: Tensor
    largest: Tensor
    gradient: Tensor
    spread: Tensor
    saturated: Tensor
    rows: Tensor


def saturation(attention: AttentionTrace, queries: Sequence[bool] | None = None) -> Saturation:
    """The measures of every head. queries: False leaves a row out, that of a <pad> say; None counts all.

    Raises ValueError if there are not as many as rows.
    """
    weights, mask = attention.weights.double(), attention.mask
    kept = torch.ones(mask.shape[-2], dtype=torch.bool) if queries is None else torch.tensor(queries, dtype=torch.bool)
    if len(kept) != mask.shape[-2]:
        raise ValueError(f"{len(kept)} queries are named; there are {mask.shape[-2]} rows")
    visible = mask.sum(-1)  # [layer, head, query]
    counted = (visible > 1) & kept
    rows = counted.sum(-1)

    def mean(values: Tensor) -> Tensor:
        """Over the rows counted: [layer, head, query] -> [layer, head]."""
        return torch.where(rows > 0, torch.where(counted, values, 0.0).sum(-1) / rows, math.nan)

    largest = weights.amax(-1)
    scores = attention.scores.double().masked_fill(~mask, 0.0)
    about = (scores - scores.sum(-1, keepdim=True) / visible[..., None]).masked_fill(~mask, 0.0)
    return Saturation(
        entropy=mean(entropy(weights) / visible.double().log()),
        largest=mean(largest),
        gradient=mean(gradient_room(weights)),
        spread=mean(about.square().sum(-1) / visible).sqrt(),
        saturated=mean((largest > SATURATED).double()),
        rows=rows,
    )
