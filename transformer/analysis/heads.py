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
from transformer.text.tokenizer import PIECE_MARK
from transformer.tracing.trace import KINDS, Trace

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
    """Of one kind of attention, over all rows of all sentences; every tensor is [layer, head], float64, with whatever
    axes the weights had before these two in front.

    A row's link is its largest weight; several that are equal, as flat rows have in 8 bits, share it. previous, same,
    next: share of rows whose link is the key one before, at, or one after the query's own position, of the rows that
    have such a key in sight (`next` is none in a causal decoder: NaN). entropy: mean of H(row) / ln(keys in sight) over
    rows that see two keys or more: 0 sharp, 1 flat. aligned (cross-attention, otherwise NaN): of the rows that predict
    a word which the word list pairs with a word of the source, the share whose link is on such a word. rows, links: how
    many rows, and how many such rows.
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


@dataclass(frozen=True)
class Seen:
    """What heads did with one sentence pair, as far as statistics need it; of a Trace: `seen`.

    weights: kind -> [..., layer, head, query, key], rows that sum to 1; masks: kind -> True where a query may attend,
    of a shape that broadcasts to it. sources, targets: the word of every source token and of every token predicted,
    None for special ones (`words_of`).
    """

    weights: Mapping[str, Tensor]
    masks: Mapping[str, Tensor]
    sources: Sequence[str | None]
    targets: Sequence[str | None]


def _links(weights: Tensor) -> Tensor:
    """Of the same shape: every row's link, 1 at its largest weight; of n equal ones each counts 1 / n."""
    top = weights == weights.amax(-1, keepdim=True)
    return top / top.sum(-1, keepdim=True).clamp(min=1).double()


def _offsets(links: Tensor, mask: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """For every offset, [..., layer, head]: rows whose link lies there, and the rows that could."""
    queries, keys = links.shape[-2:]
    place = torch.arange(queries)
    hits, possible = {}, {}
    for name, offset in OFFSETS.items():
        wanted = place + offset
        at = wanted.clamp(0, keys - 1)
        there = mask[..., place, at] & (wanted >= 0) & (wanted < keys)
        hits[name], possible[name] = (links[..., place, at] * there).sum(-1), there.sum(-1)
    return hits, possible


def words_of(tokens: Sequence[str], labels: Sequence[str]) -> list[str | None]:
    """For every token the word it belongs to, in lower case; None for special tokens."""
    shown = ["" if token == PIECE_MARK else label for token, label in zip(tokens, labels, strict=True)]
    numbers = word_numbers(tokens, shown)
    words = word_labels(shown, numbers)
    return [
        None if special else words[number].casefold()
        for number, special in zip(numbers, is_special(tokens), strict=True)
    ]


def seen(trace: Trace) -> Seen:
    """What statistics need of a trace."""
    return Seen(
        {kind: trace.attention(kind).weights for kind in KINDS},
        {kind: trace.attention(kind).mask for kind in KINDS},
        words_of(trace.source_tokens, trace.source_labels),
        words_of(trace.target_out, trace.target_out_labels),
    )


def _aligned(links: Tensor, one: Seen, words: WordList) -> tuple[Tensor, int]:
    """Rows [..., layer, head] of the cross-attention whose link agrees with the list, and the rows the list knows."""
    hits, count = torch.zeros(links.shape[:-2], dtype=torch.float64), 0
    for row, target in enumerate(one.targets):
        good = [place for place, source in enumerate(one.sources) if source and target in words.get(source, ())]
        if good:
            hits, count = hits + links[..., row, good].sum(-1), count + 1
    return hits, count


def head_statistics(traces: Iterable[Trace], words: WordList | None = None) -> dict[str, HeadStatistics]:
    """Statistics of every head, by kind of attention. words: pairs for `aligned`, see `read_word_list`.

    Raises ValueError if there is no trace.
    """
    return statistics(map(seen, traces), words)


def statistics(sentences: Iterable[Seen], words: WordList | None = None) -> dict[str, HeadStatistics]:
    """The same of weights that need not come from a trace. Raises ValueError if there is no sentence."""
    sums: dict[str, dict[str, Tensor]] = {}
    counts: dict[str, dict[str, Any]] = {}  # whole numbers, or tensors of them
    for one in sentences:
        for kind, weights in one.weights.items():
            mask, links = one.masks[kind], _links(weights)
            hits, possible = _offsets(links, mask)
            visible = mask.sum(-1).double()
            wide = visible > 1
            spread = torch.where(wide, entropy(weights.double()) / visible.log(), 0.0)
            found = {**hits, "entropy": spread.sum(-1)}
            number: dict[str, Any] = {**possible, "entropy": wide.sum(-1), "rows": weights.shape[-2]}
            if words is not None and kind == "cross":
                found["aligned"], number["aligned"] = _aligned(links, one, words)
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
