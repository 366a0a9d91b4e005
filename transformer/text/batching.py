"""Batches of ids of sentences with similar length."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from transformer.short_repr import short_repr


@dataclass(frozen=True)
class Batch:
    """source: ids [batch, source] ending in </s>; target_in: [batch, target] starting with <s>; target_out: the same
    tokens shifted by one, ending in </s>. All padded with pad_id at the end."""

    source: Tensor
    target_in: Tensor
    target_out: Tensor

    __repr__ = short_repr


def pad(rows: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """Rows of ids as one tensor [batch, longest row]."""
    padded = np.full((len(rows), max(map(len, rows))), pad_id, dtype=np.int64)
    for i, row in enumerate(rows):
        padded[i, : len(row)] = row
    return torch.from_numpy(padded)


class SpecialIds(Protocol):
    """Ids of special tokens, as every configuration has them."""

    @property
    def pad_id(self) -> int: ...

    @property
    def start_id(self) -> int: ...

    @property
    def end_id(self) -> int: ...


def make_batch(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], config: SpecialIds) -> Batch:
    """A batch of sentence pairs given as ids without special tokens."""
    return Batch(
        pad([[*row, getattr(config, "source_end", config.end_id)] for row in sources], config.pad_id),
        pad([[config.start_id, *row] for row in targets], config.pad_id),
        pad([[*row, config.end_id] for row in targets], config.pad_id),
    )


def bucket(
    lengths: Sequence[tuple[int, int]], tokens: int, rng: np.random.Generator | None, alike: bool = False
) -> list[list[int]]:
    """Indices of sentence pairs in batches of similar length, at most `tokens` padded tokens per side.

    lengths: (source, target) of every pair, special tokens included. With rng, pairs of equal length
    and the batches are in random order; without, sorted. A pair longer than `tokens` is a batch by itself. alike: only
    pairs of equal lengths share a batch, because a switch could make padding visible.
    """
    if not len(lengths):
        return []
    table = np.asarray(lengths)
    tie = rng.random(len(table)) if rng is not None else np.arange(len(table))
    order = np.lexsort((tie, table[:, 0], table[:, 1]))
    batches: list[list[int]] = [[]]
    longest = 0
    for index in order.tolist():
        longest_now = max(longest, int(table[index].max()))
        if batches[-1] and longest_now * (len(batches[-1]) + 1) > tokens:
            batches.append([])
            longest_now = int(table[index].max())
        batches[-1].append(index)
        longest = longest_now
    if rng is not None:
        rng.shuffle(batches)
    if alike:
        return [list(same) for rows in batches for _, same in itertools.groupby(rows, key=lengths.__getitem__)]
    return batches
