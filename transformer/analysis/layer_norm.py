"""LayerNorm of one token, number by number, and how much of x is left after each sub-layer (section 3.1)."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.analysis.norms import centre, deviation, scales
from transformer.analysis.residual import kinds_of, norms_of, sublayers
from transformer.model.transformer import Transformer
from transformer.tracing.trace import Trace


@dataclass(frozen=True)
class Normed:
    """LayerNorm(v) = gamma (v - mean) / sqrt(variance + epsilon) + beta for one token; float64.

    before, normalised (mean 0, variance 1), after, gamma, beta: [d_model]. mean, variance: of the numbers before. With
    RMSNorm, which subtracts no mean, the numbers normalised have a mean square of 1, and beta is 0.
    """

    before: Tensor
    normalised: Tensor
    after: Tensor
    mean: float
    variance: float
    gamma: Tensor
    beta: Tensor


def normed(trace: Trace, model: Transformer, stack: str, number: int, token: int) -> Normed | None:
    """The LayerNorm of a sub-layer, counted over the stack from 0; with norm="pre" the one before it. None for a model
    without LayerNorm."""
    norms = norms_of(model, stack)
    if not norms:
        return None
    norm = norms[number]
    layer, name = sublayers(trace, stack)[number]
    part = kinds_of(trace, stack)[name]
    before = (part.enters if model.config.norm == "pre" else part.sum)[layer, token].double()
    gamma, beta = scales(norm)
    normalised = (before - centre(norm, before)) / deviation(norm, before)
    after = gamma * normalised + beta
    return Normed(before, normalised, after, before.mean().item(), before.var(correction=0).item(), gamma, beta)


def left_of_x(trace: Trace, stack: str) -> Tensor:
    """The cosine between what enters a sub-layer and what leaves it, [sublayer, token]: 1 if x is all that is left."""
    found = []
    for layer, name in sublayers(trace, stack):
        part = kinds_of(trace, stack)[name]
        found.append(F.cosine_similarity(part.enters[layer].double(), part.leaves[layer].double(), dim=-1))
    return torch.stack(found)
