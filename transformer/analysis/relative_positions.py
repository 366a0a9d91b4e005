"""The tables of relative positions (Raffel et al. 2020), by distance instead of by bucket."""

from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.model.positions import RelativeBias
from transformer.short_repr import short_repr


@dataclass(frozen=True)
class ByDistance:
    """What each head adds to a score, for every range of distances with the same number.

    ranges: first and last distance, key minus query, in increasing order; of the outer ones the far end is None, for
    all distances from there on. bias: [head, range].
    """

    ranges: tuple[tuple[int | None, int | None], ...]
    bias: Tensor

    __repr__ = short_repr


def by_distance(positions: RelativeBias) -> ByDistance:
    """The table of a stack; a decoder's only for keys that are not after the query, as only these are seen."""
    most = positions.farthest + 1  # from the last bucket on nothing changes
    distances = torch.arange(-most, (most if positions.both_ways else 0) + 1)
    buckets = positions.buckets(distances)
    starts = [0, *(torch.nonzero(buckets[1:] != buckets[:-1])[:, 0] + 1).tolist()]
    ends = [start - 1 for start in starts[1:]] + [len(distances) - 1]
    ranges = [(int(distances[start]), int(distances[end])) for start, end in zip(starts, ends, strict=True)]
    far = [(None if low == -most else low, None if high == most else high) for low, high in ranges]
    return ByDistance(tuple(far), positions.table.detach().cpu()[buckets[starts]].T)
