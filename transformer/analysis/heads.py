"""Statistics of each head over many sentences: which offset it attends to, whether it aligns words, whether it rests on
the start or end token, how sharp it is."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from transformer.analysis.attention import entropy
from transformer.analysis.tokens import is_special, word_labels, word_numbers
from transformer.short_repr import short_repr
from transformer.text.tokenizer import PIECE_MARK, composed
from transformer.tracing.trace import KINDS, Trace

OFFSETS = {"previous": -1, "same": 0, "next": 1}  # of self-attention: source and target count their own positions
READINGS = ("aligned_out", "aligned_in")  # of cross-attention: by the token predicted, by the token fed in
SHARES = (*OFFSETS, *READINGS, "resting")  # fields of `HeadStatistics`
WordList = Mapping[str, frozenset[str]]
Splitter = Callable[[Sequence[str], Sequence[str]], list[str | None]]  # tokens and labels -> words, as `words_of`


def read_word_list(text: str) -> dict[str, frozenset[str]]:
    """Read lines `source word<tab>target words`, with blanks between the target words. Case is ignored.

    Raises ValueError, with the line's number, for a line without a tab.
    """
    words: dict[str, frozenset[str]] = {}
    for number, line in enumerate(composed(text).splitlines(), 1):
        if line.strip():
            source, tab, targets = line.partition("\t")
            if not tab:
                raise ValueError(f"line {number} has no tab")
            words[source.casefold()] = words.get(source.casefold(), frozenset()) | set(targets.casefold().split())
    return words


@dataclass(frozen=True)
class HeadStatistics:
    """Statistics of one kind of attention over all rows of all sentences. Every tensor is [layer, head], float64; any
    further axes of the weights come first.

    A row's link is the key with its largest weight; equal largest weights, as in flat rows with 8 bits, share it.

    previous, same, next (only self-attention, else NaN): share of rows whose link is one before, at, or one after the
    query's own position, among the rows that can see such a key (`next` is NaN in a causal decoder).
    aligned_out, aligned_in (only cross-attention, else NaN): among the rows whose token belongs to a word that the word
    list pairs with a source word, the share whose link is on such a word. A row of the decoder has two tokens, and a
    head may align either: aligned_out reads the row by the token it predicts, aligned_in by the token fed in.
    resting: share of rows whose link is on the end token of the source, or, in decoder self-attention, on the start
    token; rows that can see no other key do not count.
    entropy: mean of H(row) / ln(visible keys) over rows with at least two visible keys; 0: sharp, 1: flat.
    rows, links: the number of all rows, and of those with a word of the list in either reading.
    """

    kind: str
    previous: Tensor
    same: Tensor
    next: Tensor
    aligned_out: Tensor
    aligned_in: Tensor
    resting: Tensor
    entropy: Tensor
    rows: int
    links: int

    __repr__ = short_repr

    def positional(self, at_least: float = 0.9) -> int:
        """How many heads attend to the previous, the same or the next token in at least this share of rows."""
        best = torch.stack([getattr(self, name).nan_to_num(0.0) for name in OFFSETS]).amax(0)
        return int((best >= at_least).sum())

    def aligned(self) -> Tensor:
        """The share in the better of the two readings, [layer, head]; NaN where neither could be measured."""
        return torch.maximum(self.aligned_out, self.aligned_in)


@dataclass(frozen=True)
class Seen:
    """The part of a trace that the statistics need; `seen` makes it.

    weights: kind -> [..., layer, head, query, key], rows that sum to 1; masks: kind -> True where a query may attend,
    broadcastable to the weights. sources, targets_in, targets_out: the word of every source token, and of the token
    that every decoder row is fed and predicts; None for special tokens (`words_of`).
    """

    weights: Mapping[str, Tensor]
    masks: Mapping[str, Tensor]
    sources: Sequence[str | None]
    targets_in: Sequence[str | None]
    targets_out: Sequence[str | None]


def links_of(weights: Tensor) -> Tensor:
    """Every row's link, in the same shape: 1 at its largest weight; of n equal largest weights each counts 1 / n."""
    top = weights == weights.amax(-1, keepdim=True)
    return top / top.sum(-1, keepdim=True).clamp(min=1).double()


def _offsets(links: Tensor, mask: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """For every offset, [..., layer, head]: the number of rows with their link there, and of rows that can see it."""
    queries, keys = links.shape[-2:]
    query = torch.arange(queries)
    hits, possible = {}, {}
    for name, offset in OFFSETS.items():
        key = (query + offset).clamp(0, keys - 1)
        visible = mask[..., query, key] & (query + offset >= 0) & (query + offset < keys)
        hits[name], possible[name] = (links[..., query, key] * visible).sum(-1), visible.sum(-1)
    return hits, possible


def words_of(tokens: Sequence[str], labels: Sequence[str]) -> list[str | None]:
    """The word of every token, in lower case; None for special tokens."""
    shown = ["" if token == PIECE_MARK else label for token, label in zip(tokens, labels, strict=True)]
    numbers = word_numbers(tokens, shown)
    words = word_labels(shown, numbers)
    return [
        None if special else words[number].casefold()
        for number, special in zip(numbers, is_special(tokens), strict=True)
    ]


def seen(trace: Trace, words: Splitter = words_of) -> Seen:
    """The part of a trace that the statistics need. words: gives the word of every token."""
    return Seen(
        {kind: trace.attention(kind).weights for kind in KINDS},
        {kind: trace.attention(kind).mask for kind in KINDS},
        words(trace.source_tokens, trace.source_labels),
        words(trace.target_in, trace.target_in_labels),
        words(trace.target_out, trace.target_out_labels),
    )


def _end(sources: Sequence[str | None]) -> int:
    """The index of the end token: the first token after the last word."""
    words = [index for index, word in enumerate(sources) if word is not None]
    return min(words[-1] + 1 if words else 0, len(sources) - 1)


def resting_place(kind: str, sources: Sequence[str | None]) -> int:
    """The key that means nothing: the start token in the decoder's self-attention, else the source's end token."""
    return 0 if kind == "decoder_self" else _end(sources)


def _aligned(
    links: Tensor, sources: Sequence[str | None], targets: Sequence[str | None], words: WordList
) -> tuple[Tensor, int]:
    """The number of cross-attention rows whose link agrees with the list, [..., layer, head], and of rows with a word
    in the list. targets: the word by which each row is read."""
    hits, count = torch.zeros(links.shape[:-2], dtype=torch.float64), 0
    for row, target in enumerate(targets):
        keys = [key for key, source in enumerate(sources) if source and target in words.get(source, ())]
        if keys:
            hits, count = hits + links[..., row, keys].sum(-1), count + 1
    return hits, count


def to_dict(statistics: HeadStatistics) -> dict[str, Any]:
    """The statistics as JSON, with four decimals; NaN, where nothing could be measured, as None."""

    def plain(values: Tensor) -> list[list[float | None]]:
        return [[None if value != value else round(value, 4) for value in row] for row in values.tolist()]

    names = (*(READINGS if statistics.kind == "cross" else OFFSETS), "resting", "entropy")
    columns = {name: plain(getattr(statistics, name)) for name in names}
    return {**columns, "rows": statistics.rows, "links": statistics.links}


def alignment_from_json(data: bytes, layers: int, heads: int) -> dict[str, Any] | None:
    """The alignment of the heads of the cross-attention from what `python -m transformer heads --json` wrote: {"pairs",
    "links", "aligned_out", "aligned_in"}, the last two [layer][head]; None if the file has none for such a model."""
    try:
        about = json.loads(data)
        cross = about["cross"]
        found: dict[str, Any] = {"pairs": int(about["pairs"]), "links": int(cross["links"])}
        for name in READINGS:
            rows = [[float(share) for share in row] for row in cross[name]]
            if len(rows) != layers or any(len(row) != heads for row in rows):
                return None
            if not all(0 <= share <= 1 for row in rows for share in row):
                return None
            found[name] = rows
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return found


def head_statistics(traces: Iterable[Trace], words: WordList | None = None) -> dict[str, HeadStatistics]:
    """Statistics of every head, by kind of attention. words: pairs for `aligned`, see `read_word_list`.

    Raises ValueError if there is no trace.
    """
    return statistics(map(seen, traces), words)


def statistics(sentences: Iterable[Seen], words: WordList | None = None) -> dict[str, HeadStatistics]:
    """The same for weights that need not come from a trace. Raises ValueError if there is no sentence."""
    return from_counts(counts(sentences, words))


def counts(sentences: Iterable[Seen], words: WordList | None = None) -> dict[str, Any]:
    """What sentences add to the statistics, as JSON: kind -> {"sums", "counts"} -> name -> number or [layer][head].
    Those of several parts of a corpus add up (`sums.added`)."""
    found: dict[str, Any] = {}
    for sentence in sentences:
        for kind, weights in sentence.weights.items():
            mask, links = sentence.masks[kind], links_of(weights)
            visible = mask.sum(-1).double()
            wide = visible > 1
            spread = torch.where(wide, entropy(weights.double()) / visible.log(), 0.0)
            rest = resting_place(kind, sentence.sources)
            sums = {"entropy": spread.sum(-1), "resting": (links[..., rest] * wide).sum(-1)}
            rows: dict[str, Any] = {"entropy": wide.sum(-1), "resting": wide.sum(-1), "rows": weights.shape[-2]}
            if kind != "cross":
                hits, possible = _offsets(links, mask)
                sums |= hits
                rows |= possible
            elif words is not None:
                for name, targets in zip(READINGS, (sentence.targets_out, sentence.targets_in), strict=True):
                    sums[name], rows[name] = _aligned(links, sentence.sources, targets, words)
            of_kind = found.setdefault(kind, {"sums": {}, "counts": {}})
            for part, new in (("sums", sums), ("counts", rows)):
                for name, value in new.items():
                    of_kind[part][name] = of_kind[part].get(name, 0) + value
    return plain(found)


def plain(value: Any) -> Any:
    """With lists for tensors."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return value.tolist() if isinstance(value, Tensor) else value


def from_counts(found: Mapping[str, Any]) -> dict[str, HeadStatistics]:
    """The statistics. Raises ValueError if there was no sentence."""
    if not found:
        raise ValueError("at least one trace is needed")

    def mean(of_kind: Mapping[str, Any], name: str) -> Tensor:
        like = torch.tensor(of_kind["sums"]["entropy"], dtype=torch.float64)
        count = torch.tensor(of_kind["counts"].get(name, 0)).expand_as(like)
        total = torch.tensor(of_kind["sums"].get(name, 0.0), dtype=torch.float64)
        return torch.where(count > 0, total / count, math.nan)

    return {
        kind: HeadStatistics(
            kind,
            **{name: mean(of_kind, name) for name in (*SHARES, "entropy")},
            rows=int(of_kind["counts"]["rows"]),
            links=max(int(of_kind["counts"].get(name, 0)) for name in READINGS),
        )
        for kind, of_kind in found.items()
    }
