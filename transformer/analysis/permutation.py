"""Whether the encoder knows the order of its tokens: permute the tokens and compare the passes."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.short_repr import short_repr
from transformer.tracing.trace import Trace


@dataclass(frozen=True)
class Equivariance:
    """The difference between a pass and another one with the source tokens in another order.

    A function f of a set of tokens is permutation-equivariant if f(P x) = P f(x): the outputs are the same, in the new
    order. Self-attention and feed-forward networks are equivariant, and so is the encoder without positions (section
    3.5: "since our model contains no recurrence and no convolution, ...").

    outputs:  [layer] largest |f(P x) - P f(x)| over the outputs of each encoder layer
    weights:  [layer] the same for the weights of encoder self-attention, with rows and columns permuted
    size:     [layer] root mean square of the layer's outputs, for comparison
    predicted: largest difference of a probability of the decoder, which reads the encoder's output as a set of vectors
    """

    outputs: Tensor
    weights: Tensor
    size: Tensor
    predicted: float

    __repr__ = short_repr


def permutation(length: int, seed: int) -> tuple[int, ...]:
    """A random order of 0 .. length - 1 for a seed, never the old order if there is another."""
    order = torch.randperm(length, generator=torch.Generator().manual_seed(seed))
    if torch.equal(order, torch.arange(length)):
        order = order.roll(1)
    return tuple(order.tolist())


def equivariance(trace: Trace, permuted: Trace, order: Sequence[int]) -> Equivariance:
    """Compare a pass with one whose source token i is token order[i] of the first (`Pretrained.retrace(order=)`).

    Raises ValueError if the second trace has other tokens.
    """
    if [trace.source_ids[index] for index in order] != list(permuted.source_ids[: len(order)]):
        raise ValueError("the second trace does not have the first trace's source tokens in this order")
    full_order = list(order) + list(range(len(order), len(trace.source_ids)))  # <pad> stays at the end
    outputs, moved = trace.encoder_ff.leaves.double()[:, full_order], permuted.encoder_ff.leaves.double()
    weights = trace.encoder_self.weights.double()[:, :, full_order][..., full_order]
    probabilities = [each.logits.double().softmax(-1) for each in (trace, permuted)]
    return Equivariance(
        outputs=(moved - outputs).abs().amax((1, 2)),
        weights=(permuted.encoder_self.weights.double() - weights).abs().amax((1, 2, 3)),
        size=outputs.square().mean((1, 2)).sqrt(),
        predicted=float((probabilities[1] - probabilities[0]).abs().max()),
    )
