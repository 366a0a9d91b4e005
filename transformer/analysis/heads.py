"""What each head does, measured over many sentences: where it looks, whether it aligns words, how sharp it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from transformer.analysis.attention import entropy
from transformer.analysis.tokens import is_special, word_labels, word_numbers
from transformer.tokenizer import PIECE_MARK
from transformer.trace import KINDS, AttentionTrace, Trace

OFFSETS = {"previous": -1, "same": 0, "next": 1}
WordList = Mapping[str, frozenset[str]]


def read_word_list(text: str) -> dict[str, frozenset[str]]:
    """Lines `source word<tab>target words, blanks between them` as a mapping; case does not count.

    Raises ValueError, naming the line, for one without a tab.
    """
    words: dict[str, frozenset[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            source, tab, targets = line.partition("\t")
            if not tab:
                raise ValueError(f"line {number} has no tab")
            words[source.casefold()] = words.get(source.casefold(), frozenset()) | set(targets.casefold().split())
    return words


@dataclass(frozen=True)
class HeadStatistics:
    """Of one kind of attention, over all rows of all traces; every tensor is [layer, head], float64.

    A row's link is its largest weight. previous, same, next: share of rows whose link is the key one before, at, or
    one after the query's own position, of the rows that have such a key in sight (`next` is none in a causal
    decoder: NaN). entropy: mean of H(row) / ln(keys in sight) over rows that see two keys or more: 0 sharp, 1 flat.
    aligned (cross-attention, otherwise NaN): of the rows that predict a word which the word list pairs with a word of
    the source, the share whose link is on such a word. rows, links: how many rows, and how many such rows.
    """

    kind: str
    previous: Tensor
    same: Tensor
    next: Tensor
    entropy: Tensor
    aligned: Tensor
    rows: int
    links: int

    def positional(self, at_least: float = 0.9) -> int:
        """How many heads look at the previous, the same or the next token in at least this share of rows."""
        best = torch.stack([getattr(self, name).nan_to_num(0.0) for name in OFFSETS]).amax(0)
        return int((best >= at_least).sum())


def _offsets(attention: AttentionTrace) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """For every offset, [layer, head]: rows whose link lies there, and the rows that could."""
    queries, keys = attention.weights.shape[-2:]
    link, place = attention.weights.argmax(-1), torch.arange(queries)
    hits, possible = {}, {}
    for name, offset in OFFSETS.items():
        wanted = place + offset
        there = attention.mask[..., place, wanted.clamp(0, keys - 1)] & (wanted >= 0) & (wanted < keys)
        hits[name], possible[name] = ((link == wanted) & there).sum(-1).double(), there.sum(-1)
    return hits, possible


def _words(tokens: Sequence[str], labels: Sequence[str]) -> list[str | None]:
    """For every token the word it belongs to, in lower case; None for special tokens."""
    shown = ["" if token == PIECE_MARK else label for token, label in zip(tokens, labels, strict=True)]
    numbers = word_numbers(tokens, shown)
    words = word_labels(shown, numbers)
    return [
        None if special else words[number].casefold()
        for number, special in zip(numbers, is_special(tokens), strict=True)
    ]


def _aligned(trace: Trace, words: WordList) -> tuple[Tensor, int]:
    """Rows [layer, head] of the cross-attention whose link agrees with the list, and the rows the list knows."""
    sources = _words(trace.source_tokens, trace.source_labels)
    targets = _words(trace.target_out, trace.target_out_labels)
    link = trace.cross.weights.argmax(-1)
    hits, count = torch.zeros(link.shape[:2], dtype=torch.float64), 0
    for row, target in enumerate(targets):
        good = [place for place, source in enumerate(sources) if source and target in words.get(source, ())]
        if good:
            hits, count = hits + torch.isin(link[:, :, row], torch.tensor(good)), count + 1
    return hits, count


def head_statistics(traces: Iterable[Trace], words: WordList | None = None) -> dict[str, HeadStatistics]:
    """Statistics of every head, by kind of attention. words: pairs for `aligned`, see `read_word_list`.

    Raises ValueError if there is no trace.
    """
    sums: dict[str, dict[str, Tensor]] = {}
    counts: dict[str, dict[str, Any]] = {}  # whole numbers, or tensors of them
    for trace in traces:
        for kind in KINDS:
            attention: AttentionTrace = getattr(trace, kind)
            hits, possible = _offsets(attention)
            visible = attention.mask.sum(-1).double()
            wide = visible > 1
            spread = torch.where(wide, entropy(attention.weights.double()) / visible.log(), 0.0)
            found = {**hits, "entropy": spread.sum(-1)}
            number: dict[str, Any] = {**possible, "entropy": wide.sum(-1), "rows": attention.weights.shape[-2]}
            if words is not None and kind == "cross":
                found["aligned"], number["aligned"] = _aligned(trace, words)
            into, count = sums.setdefault(kind, {}), counts.setdefault(kind, {})
            for name, value in found.items():
                into[name] = into.get(name, 0) + value
            for name, more in number.items():
                count[name] = count.get(name, 0) + more
    if not sums:
        raise ValueError("no trace arrived; at least one is needed")

    def mean(kind: str, name: str) -> Tensor:
        like = sums[kind]["same"]
        number = torch.as_tensor(counts[kind].get(name, 0)).expand_as(like)
        return torch.where(number > 0, sums[kind].get(name, like) / number, math.nan)

    return {
        kind: HeadStatistics(
            kind,
            **{name: mean(kind, name) for name in (*OFFSETS, "entropy", "aligned")},
            rows=int(counts[kind]["rows"]),
            links=int(counts[kind].get("aligned", 0)),
        )
        for kind in sums
    }
