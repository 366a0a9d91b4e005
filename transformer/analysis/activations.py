"""How active the neurons of the feed-forward sub-layers are (section 3.3, equation 2), and their non-linearity."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transformer.short_repr import short_repr

# A neuron is active if its activation is above this threshold, unless a reader chooses another. ReLU: if it is not 0.
# Below 0, GELU reaches down to -0.170 and swish to -0.278, so activations up to that size count as inactive.
ACTIVE = {"relu": 0.0, "gelu": 0.2, "swish": 0.3}
# T5's "gelu_new" is GELU but for 0.0005 at most, which no picture shows.
SHAPES = {"gelu_new": "gelu"}
STEP, MOST = 0.05, 2.0  # of the thresholds to choose from
PUBLISHED = 0.030  # share of activations above 0 in T5-Base (Li et al. 2023, "The Lazy Neuron Phenomenon", abstract)
BINS = 60
RUG = 400  # ticks; a screen cannot show more


def thresholds() -> tuple[float, ...]:
    """The thresholds to choose from, 0 to MOST in steps of STEP."""
    return tuple(round(step * STEP, 2) for step in range(round(MOST / STEP) + 1))


def active_counts(activation: Tensor, above: Sequence[float]) -> Tensor:
    """How many neurons have an activation above each threshold.

    activation: [layer, token, d_ff]; above: increasing. Returns whole numbers [layer, token, threshold]. Raises
    ValueError if the thresholds do not increase.
    """
    if any(low >= high for low, high in itertools.pairwise(above)):
        raise ValueError(f"the thresholds must increase, but they are {list(above)}")
    layers, tokens, neurons = activation.shape
    passed = torch.bucketize(activation, torch.tensor(above, dtype=activation.dtype))  # thresholds below each
    buckets = len(above) + 1
    bucket = passed + buckets * torch.arange(layers * tokens).view(layers, tokens, 1)
    counts = torch.bincount(bucket.flatten(), minlength=layers * tokens * buckets).view(layers, tokens, buckets)
    return neurons - counts.cumsum(-1)[..., :-1]


def spread(activation: Tensor, above: float) -> Tensor:
    """How many neurons are active on exactly n of the tokens, n = 0 ... token.

    activation: [layer, token, d_ff]. Returns [layer, token + 1], whole numbers; each row adds up to d_ff.
    """
    tokens = activation.shape[1]
    times = (activation > above).sum(1)  # [layer, d_ff]
    return torch.stack([torch.bincount(row, minlength=tokens + 1) for row in times])


@dataclass(frozen=True)
class Histogram:
    """Counts of numbers before and after the non-linearity, in the same bins.

    edges: [bin + 1], increasing, one of them 0; before, after: [bin], whole numbers. A bin includes its left edge but
    not its right edge. zero: number of activations that are exactly 0, which a ReLU switched off; total: numbers
    counted on each side.
    """

    edges: np.ndarray
    before: np.ndarray
    after: np.ndarray
    zero: int
    total: int

    __repr__ = short_repr


def histogram(pre_activation: Tensor, activation: Tensor, bins: int = BINS) -> Histogram:
    """The numbers before and after the non-linearity in about `bins` bins of equal width, with 0 as an edge.

    Raises ValueError for different shapes, empty tensors and numbers that are not finite.
    """
    before, after = (x.detach().cpu().numpy().astype(np.float64).ravel() for x in (pre_activation, activation))
    if len(before) != len(after) or not len(before):
        raise ValueError(f"{len(before)} pre-activations and {len(after)} activations; both need the same length")
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        raise ValueError("not every activation is a finite number")
    low, high = min(before.min(), after.min(), 0.0), max(before.max(), after.max(), 0.0)
    width = (high - low) / bins or 1.0
    first, last = math.floor(low / width), math.floor(high / width) + 1
    counts = []
    for values in (before, after):
        index = np.clip(np.floor(values / width).astype(int) - first, 0, last - first - 1)
        counts.append(np.bincount(index, minlength=last - first))
    edges = np.arange(first, last + 1) * width
    return Histogram(edges, counts[0], counts[1], int((after == 0).sum()), len(after))


@dataclass(frozen=True)
class Curves:
    """A non-linearity at the points z, with its derivative; every field [point], float64."""

    z: np.ndarray
    value: np.ndarray
    slope: np.ndarray

    __repr__ = short_repr


def nonlinearity(kind: str, z: Sequence[float] | np.ndarray) -> Curves:
    """A non-linearity and its derivative at the points z.

    "relu": max(0, z), slope 0 below 0 and 1 above; at 0 the slope is NaN, so that a drawn line has a gap there.
    "gelu": z Phi(z), slope Phi(z) + z phi(z), with Phi and density phi of the normal distribution (Hendrycks and Gimpel
    2016, section 2).
    "swish": z s(z), slope s(z) + z s(z) (1 - s(z)), s(z) = 1 / (1 + e^-z) (Ramachandran et al. 2017, section 4).
    Raises ValueError for another kind.
    """
    points = np.asarray(z, dtype=np.float64)
    if kind not in ACTIVE:
        raise ValueError(f"unknown activation function {kind!r}; choose {', '.join(ACTIVE)}")
    if kind == "relu":
        return Curves(points, np.maximum(points, 0.0), np.where(points == 0, np.nan, (points > 0).astype(np.float64)))
    if kind == "swish":
        share = torch.from_numpy(points).sigmoid().numpy()
        return Curves(points, points * share, share + points * share * (1.0 - share))
    below = 0.5 * (1.0 + torch.erf(torch.from_numpy(points) / math.sqrt(2.0)).numpy())
    density = np.exp(-0.5 * points**2) / math.sqrt(2.0 * math.pi)
    return Curves(points, points * below, below + points * density)


def rug(values: Tensor, most: int = RUG) -> np.ndarray:
    """At most `most` of the numbers, evenly spaced by rank, with the smallest and the largest: [tick], increasing.

    A rug plot of them has the same relative density as one of all numbers. Raises ValueError for fewer than 2 ticks.
    """
    if most < 2:
        raise ValueError(f"at least 2 ticks are needed, for the smallest and the largest number, but most is {most}")
    ranked = np.sort(values.detach().cpu().numpy().ravel())
    if len(ranked) <= most:
        return ranked
    return ranked[np.linspace(0, len(ranked) - 1, most).round().astype(int)]


def left_of_zero(pre_activation: Tensor) -> float:
    """The share of pre-activations below 0, which a ReLU sets to 0 and a GELU makes small. 0 to 1."""
    return float((pre_activation < 0).double().mean())
