"""Whether the encoder knows the order of its tokens: the same tokens in another order, and what moves along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.tracing.trace import Trace


@dataclass(frozen=True)
class Equivariance:
    """How far one pass is from another whose source tokens were put in another order.

    A function f of a set of tokens is permutation-equivariant if f(P x) = P f(x): the outputs come in the new order and
    are otherwise the same. Self-attention and feed-forward networks are, and so is the encoder without positions
    (section 3.5: "since our model contains no recurrence and no convolution, ...").

    outputs:  [layer] largest |f(P x) - P f(x)| over the outputs of each encoder layer
    weights:  [layer] the same of the weights of encoder self-attention, rows and columns both permuted
    size:     [layer] root mean square of the layer's outputs, to compare with
    predicted: largest difference of a probability that the decoder gives: what it reads is a set of vectors
    """

    outputs: Tensor
    weights: Tensor
    size: Tensor
    predicted: float


def permutation(length: int, seed: int) -> tuple[int, ...]:
    """An order of 0 .. length - 1 drawn with a seed that leaves something in another place, if anything can be."""
    order = torch.randperm(length, generator=torch.Generator().manual_seed(seed))
    if torch.equal(order, torch.arange(length)):
        order = order.roll(1)
    return tuple(order.tolist())


def equivariance(trace: Trace, permuted: Trace, order: Sequence[int]) -> Equivariance:
    """Compare a pass with one whose source token i is token order[i] of the first (`Pretrained.retrace(order=)`).

    Raises ValueError if the second is not of those tokens.
    """
    if [trace.source_ids[place] for place in order] != list(permuted.source_ids[: len(order)]):
        raise ValueError("the second trace is not of the first one's source tokens in this order")
    places = list(order) + list(range(len(order), len(trace.source_ids)))  # <pad> stays behind
    outputs, moved = trace.encoder_ff.leaves.double()[:, places], permuted.encoder_ff.leaves.double()
    weights = trace.encoder_self.weights.double()[:, :, places][..., places]
    probabilities = [one.logits.double().softmax(-1) for one in (trace, permuted)]
    return Equivariance(
        outputs=(moved - outputs).abs().amax((1, 2)),
        weights=(permuted.encoder_self.weights.double() - weights).abs().amax((1, 2, 3)),
        size=outputs.square().mean((1, 2)).sqrt(),
        predicted=float((probabilities[1] - probabilities[0]).abs().max()),
    )
