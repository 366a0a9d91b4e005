"""Single neurons of the feed-forward sub-layers: the strongest neurons of a token, and what a neuron adds.

Equation 2 without its biases is FFN(x) = sum_i a_i w_i, a_i = f(x . k_i): neuron i compares x with column k_i of W_1
and adds a_i times row w_i of W_2. Geva et al. 2021, "Transformer Feed-Forward Layers Are Key-Value Memories", section
2, call k_i its key and w_i its value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from torch import Tensor

from transformer.model.tap import check_stack
from transformer.model.transformer import Transformer
from transformer.short_repr import short_repr

FEW = 12  # neurons to show for a token
PIECES = 6  # pieces at each end of the vocabulary


def _outer(model: Transformer, stack: str, layer: int) -> Tensor:
    """W_2 of a layer as rows w_i: [d_ff, d_model]. Raises ValueError for an unknown stack or layer."""
    layers = getattr(model, check_stack(stack))
    if not 0 <= layer < len(layers):
        raise ValueError(f"there is no layer {layer} in the {stack}; choose 0 to {len(layers) - 1}")
    return layers[layer].feed_forward.outer.weight.detach().t()


def output_norms(model: Transformer, stack: str, layer: int) -> Tensor:
    """The length of every neuron's output row, |w_i|: [d_ff], on the CPU. layer counts from 0. Raises ValueError."""
    return _outer(model, stack, layer).norm(dim=1).cpu()


@dataclass(frozen=True)
class Strongest:
    """The strongest neurons of one token, strongest first.

    neurons: numbers from 0; activation: a_i; contribution: |a_i| |w_i|, the length of what neuron i adds to the
    sub-layer's output; each [neuron].
    """

    neurons: tuple[int, ...]
    activation: Tensor
    contribution: Tensor

    __repr__ = short_repr


def strongest(activation: Tensor, norms: Tensor, by: str = "activation", count: int = FEW) -> Strongest:
    """The strongest neurons of one token by activation a_i or by contribution |a_i| |w_i|.

    activation, norms: [d_ff]; by: "activation" or "contribution". Of equal neurons the lower number comes first. Raises
    ValueError for another order and for different shapes.
    """
    if activation.shape != norms.shape or activation.dim() != 1:
        raise ValueError(
            f"activations {list(activation.shape)} and norms {list(norms.shape)} must both have shape [d_ff]"
        )
    contribution = activation.abs() * norms
    if by not in ("activation", "contribution"):
        raise ValueError(f"unknown order {by!r}; choose activation or contribution")
    order = (activation if by == "activation" else contribution).argsort(descending=True, stable=True)[:count]
    return Strongest(tuple(order.tolist()), activation[order], contribution[order])


@dataclass(frozen=True)
class Promotion:
    """The pieces with the largest and smallest s = E w_i. s would be the change of every logit per unit of activation
    if w_i reached the output projection directly. But LayerNorm and later layers come between, and a neuron of the
    encoder reaches the vocabulary only through cross-attention. So s is a direction, not a change of logits (Geva et
    al. 2021, section 4).

    top, bottom: ids, the strongest first; top_scores, bottom_scores: their s; mean, deviation: of s over the vocabulary
    (population); expected: the mean of the largest of as many standard normal numbers.
    """

    top: tuple[int, ...]
    top_scores: tuple[float, ...]
    bottom: tuple[int, ...]
    bottom_scores: tuple[float, ...]
    mean: float
    deviation: float
    expected: float

    def _out(self, score: float) -> float:
        """How many deviations a score lies from the mean; 0 if all scores are equal."""
        return (score - self.mean) / self.deviation if self.deviation else 0.0

    @property
    def above(self) -> float:
        """How many deviations the first of `top` lies above the mean."""
        return self._out(self.top_scores[0])

    @property
    def below(self) -> float:
        """How many deviations the first of `bottom` lies below the mean."""
        return -self._out(self.bottom_scores[0])


def expected_largest(count: int) -> float:
    """How many standard deviations above the mean the largest of `count` normal numbers lies, on average, to 2%
    (Blom 1958: the quantile (count - 3/8) / (count + 1/4)). Raises ValueError for a count below 1."""
    if count < 1:
        raise ValueError(f"count must be at least 1, but it is {count}")
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


def promotion(model: Transformer, stack: str, layer: int, neuron: int, count: int = PIECES) -> Promotion:
    """The pieces that a neuron's output row points to and away from. layer, neuron: from 0.

    Raises ValueError for an unknown stack, layer or neuron.
    """
    rows = _outer(model, stack, layer)
    if not 0 <= neuron < len(rows):
        raise ValueError(f"there is no neuron {neuron}; choose 0 to {len(rows) - 1}")
    scores = (model.output_table.detach() @ rows[neuron]).cpu().double()
    count = min(count, len(scores))
    order = scores.argsort(descending=True, stable=True)
    top, bottom = order[:count], order.flip(0)[:count]
    return Promotion(
        top=tuple(top.tolist()),
        top_scores=tuple(scores[top].tolist()),
        bottom=tuple(bottom.tolist()),
        bottom_scores=tuple(scores[bottom].tolist()),
        mean=scores.mean().item(),
        deviation=scores.std(correction=0).item(),
        expected=expected_largest(len(scores)),
    )


def most_common(values: Sequence[int]) -> tuple[int, int]:
    """The most frequent value (the first of several) and its count. Raises ValueError without values."""
    if not values:
        raise ValueError("at least one value is needed")
    counts = {value: values.count(value) for value in dict.fromkeys(values)}
    best = max(counts, key=counts.__getitem__)
    return best, counts[best]
