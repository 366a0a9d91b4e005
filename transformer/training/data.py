"""Parallel text: read it, number it, and put sentences of like length into batches."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from transformer.training.architecture import AnyConfig

Pair = tuple[str, str]


class DataError(ValueError):
    """Text that is no parallel text; the message names file and line."""


def _lines(path: Path) -> list[str]:
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:  # the last two: a .gz that is cut off or damaged
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    data = data.removeprefix(b"\xef\xbb\xbf")  # the byte order mark some editors write
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(f"{path}, line {line}: byte {data[error.start]:#x} is not UTF-8; save it as UTF-8") from error
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise DataError(f"{path} is empty; one sentence pair a line is needed")
    return [line.removesuffix("\r") for line in lines]


def read_pairs(path: Path, target: Path | None = None) -> list[Pair]:
    """Sentence pairs from one tab-separated file, or from two files line by line; `.gz` is unpacked.

    Columns after the second are ignored (exports carry attributions there). Raises DataError.
    """
    path = Path(path)
    if target is not None:
        sources, targets = _lines(path), _lines(Path(target))
        if len(sources) != len(targets):
            raise DataError(f"{path} has {len(sources)} lines and {target} has {len(targets)}; they must match")
        return list(zip(sources, targets, strict=True))
    pairs = []
    for number, line in enumerate(_lines(path), 1):
        fields = line.split("\t")
        if len(fields) < 2:
            raise DataError(f"{path}, line {number}: no tab; each line is SOURCE<tab>TARGET")
        pairs.append((fields[0], fields[1]))
    return pairs


def group_references(pairs: Sequence[Pair]) -> tuple[list[str], list[list[str]]]:
    """Distinct sources in order of appearance, and all references of each."""
    references: dict[str, list[str]] = {}
    for source, target in pairs:
        references.setdefault(source, []).append(target)
    return list(references), list(references.values())


@dataclass(frozen=True)
class Batch:
    """source: ids [batch, source] ending in </s>; target_in: [batch, target] starting with <s>; target_out: the same
    tokens shifted by one, ending in </s>. All padded with pad_id at the end."""

    source: Tensor
    target_in: Tensor
    target_out: Tensor


def pad(rows: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """Rows of ids as one tensor [batch, longest row]."""
    padded = np.full((len(rows), max(map(len, rows))), pad_id, dtype=np.int64)
    for i, row in enumerate(rows):
        padded[i, : len(row)] = row
    return torch.from_numpy(padded)


def make_batch(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], config: AnyConfig) -> Batch:
    """A batch of sentence pairs given as ids without special tokens."""
    return Batch(
        pad([[*row, config.end_id] for row in sources], config.pad_id),
        pad([[config.start_id, *row] for row in targets], config.pad_id),
        pad([[*row, config.end_id] for row in targets], config.pad_id),
    )


def bucket(lengths: Sequence[tuple[int, int]], tokens: int, rng: np.random.Generator | None) -> list[list[int]]:
    """Indices of sentence pairs in batches of like length, at most `tokens` padded tokens a side.

    lengths: (source, target) of every pair, special tokens included. With rng, ties are broken and batches ordered at
    random; without, sorted. A pair longer than `tokens` makes a batch of its own.
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
    return batches
