"""How active the neurons of the feed-forward sub-layers are (section 3.3, equation 2), and what makes them so."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

# A neuron is active where its activation is above this, unless a reader asks for another. ReLU: where it is not 0. GELU
# is 0 at 0 alone and as far from it as 0.170 where it switches a neuron off, swish as far as 0.278: what is no larger
# counts as inactive.
ACTIVE = {"relu": 0.0, "gelu": 0.2, "swish": 0.3}
STEP, MOST = 0.05, 2.0  # of the thresholds a reader may choose
PUBLISHED = 0.030  # share of activations above 0 in T5-Base (Li et al. 2023, "The Lazy Neuron Phenomenon", abstract)
BINS = 60
RUG = 400  # ticks: more cannot be told apart on a screen


def thresholds() -> tuple[float, ...]:
    """The thresholds a reader may choose from, 0 to MOST in steps of STEP."""
    return tuple(round(step * STEP, 2) for step in range(round(MOST / STEP) + 1))


def active_share(activation: Tensor, above: Sequence[float]) -> Tensor:
    """The share of neurons whose activation is above each threshold.

    activation: [layer, token, d_ff]; above: rising. Returns [threshold, layer, token], float32, 0 to 1. The mean over
    tokens is the share in a layer, for every token has as many neurons. Raises ValueError for thresholds that fall.
    """
    if any(one >= other for one, other in itertools.pairwise(above)):
        raise ValueError(f"the thresholds {list(above)} must rise")
    layers, tokens, neurons = activation.shape
    passed = torch.bucketize(activation, torch.tensor(above, dtype=activation.dtype))  # thresholds below each
    rooms = len(above) + 1
    place = passed + rooms * torch.arange(layers * tokens).view(layers, tokens, 1)
    counts = torch.bincount(place.flatten(), minlength=layers * tokens * rooms).view(layers, tokens, rooms)
    return ((neurons - counts.cumsum(-1)[..., :-1]) / neurons).permute(2, 0, 1)


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

    edges: [bin + 1], rising, one of them 0; before, after: [bin], whole numbers. A bin holds its left edge and not its
    right one. zero: how many activations are exactly 0, those a ReLU switched off; total: how many numbers each counts.
    """

    edges: np.ndarray
    before: np.ndarray
    after: np.ndarray
    zero: int
    total: int


def histogram(pre_activation: Tensor, activation: Tensor, bins: int = BINS) -> Histogram:
    """The numbers before and after the non-linearity in about `bins` bins of one width, which 0 separates.

    Both of one shape. Raises ValueError for another, for none and for what is no finite number.
    """
    before, after = (one.detach().cpu().numpy().astype(np.float64).ravel() for one in (pre_activation, activation))
    if len(before) != len(after) or not len(before):
        raise ValueError(f"{len(before)} pre-activations and {len(after)} activations arrived")
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        raise ValueError("an activation is not a finite number")
    low, high = min(before.min(), after.min(), 0.0), max(before.max(), after.max(), 0.0)
    width = (high - low) / bins or 1.0
    first, last = math.floor(low / width), math.floor(high / width) + 1
    counts = []
    for values in (before, after):
        place = np.clip(np.floor(values / width).astype(int) - first, 0, last - first - 1)
        counts.append(np.bincount(place, minlength=last - first))
    edges = np.arange(first, last + 1) * width
    return Histogram(edges, counts[0], counts[1], int((after == 0).sum()), len(after))


@dataclass(frozen=True)
class Curves:
    """A non-linearity at the points z, with its derivative; every field [point], float64."""

    z: np.ndarray
    value: np.ndarray
    slope: np.ndarray


def nonlinearity(kind: str, z: Sequence[float] | np.ndarray) -> Curves:
    """A non-linearity and its derivative at the points z.

    "relu": max(0, z), slope 0 left of 0 and 1 right of it; at 0 it has none: NaN, which breaks a drawn line there.
    "gelu": z Phi(z), slope Phi(z) + z phi(z), with the normal distribution's Phi and density phi (Hendrycks and Gimpel
    2016, section 2).
    "swish": z s(z), slope s(z) + z s(z) (1 - s(z)), s(z) = 1 / (1 + e^-z) (Ramachandran et al. 2017, section 4).
    Raises ValueError for another kind.
    """
    points = np.asarray(z, dtype=np.float64)
    if kind not in ACTIVE:
        raise ValueError(f"{kind!r} is no non-linearity of the feed-forward sub-layer; there are {', '.join(ACTIVE)}")
    if kind == "relu":
        return Curves(points, np.maximum(points, 0.0), np.where(points == 0, np.nan, (points > 0).astype(np.float64)))
    if kind == "swish":
        share = torch.from_numpy(points).sigmoid().numpy()
        return Curves(points, points * share, share + points * share * (1.0 - share))
    below = 0.5 * (1.0 + torch.erf(torch.from_numpy(points) / math.sqrt(2.0)).numpy())
    density = np.exp(-0.5 * points**2) / math.sqrt(2.0 * math.pi)
    return Curves(points, points * below, below + points * density)


def rug(values: Tensor, most: int = RUG) -> np.ndarray:
    """At most `most` of the numbers, evenly spaced by rank, the smallest and the largest among them: [tick], rising.

    A rug of them is as dense where the numbers are as one of all. Raises ValueError for fewer than 2 ticks.
    """
    if most < 2:
        raise ValueError(f"{most} ticks were asked for; the smallest and the largest number need 2")
    ranked = np.sort(values.detach().cpu().numpy().ravel())
    if len(ranked) <= most:
        return ranked
    return ranked[np.linspace(0, len(ranked) - 1, most).round().astype(int)]


def left_of_zero(pre_activation: Tensor) -> float:
    """The share of pre-activations below 0: what a ReLU sets to 0 and a GELU makes small. 0 to 1."""
    return float((pre_activation < 0).double().mean())
