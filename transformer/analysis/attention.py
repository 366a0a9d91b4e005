"""Summaries of attention weights, merging of subword tokens into words, entropy, and checks of the numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.tokens import word_labels, word_numbers
from transformer.checks import expect
from transformer.texts import Text, UserError, any_of
from transformer.tracing.trace import AttentionTrace, Trace

SUMMARIES = ("mean", "max")


def summarise(weights: Tensor, layer: int | None, head: int | None, summary: str = "mean") -> Tensor:
    """One matrix of [layer, head, query, key]: that of one head, or the mean or maximum over layers or heads.

    layer, head: index, or None for all. Raises UserError for an unknown summary, WrongTypeError, IndexError for a head
    out of range. Returns [query, key].
    """
    if summary not in SUMMARIES:
        raise UserError(
            "unknown summary {value}; choose {names}", value=repr(summary), names=any_of(SUMMARIES, summary)
        )
    expect(layer, (int, type(None)), "layer", Text("an index from 0, or None for all"))
    expect(head, (int, type(None)), "head", Text("an index from 0, or None for all"))
    picked = weights if layer is None else weights[layer : layer + 1]
    picked = picked if head is None else picked[:, head : head + 1]
    if not picked.numel() or (layer or 0) < 0 or (head or 0) < 0:
        raise IndexError(
            f"there is no layer {layer}, head {head}; there are {weights.shape[0]} layers of {weights.shape[1]} heads"
        )
    flat = picked.flatten(0, 1)
    return flat.mean(0) if summary == "mean" else flat.amax(0)


def merge_words(matrix: Tensor, rows: Sequence[int], columns: Sequence[int]) -> Tensor:
    """Merge pieces into words: attention *to* a word is the sum over its pieces, attention *from* a word the mean.

    matrix: [query, key]; rows, columns: increasing word number of every query and key. Rows that sum to 1 still do.
    Returns [word, word].
    """
    row_words = {word: index for index, word in enumerate(dict.fromkeys(rows))}
    column_words = {word: index for index, word in enumerate(dict.fromkeys(columns))}
    to = matrix.new_zeros(matrix.shape[0], len(column_words))
    to.index_add_(1, torch.tensor([column_words[w] for w in columns]), matrix)
    out = matrix.new_zeros(len(row_words), len(column_words))
    word_of_row = torch.tensor([row_words[w] for w in rows])
    out.index_add_(0, word_of_row, to)
    return out / torch.bincount(word_of_row, minlength=len(row_words))[:, None]


def entropy(weights: Tensor) -> Tensor:
    """H = -sum p ln p of every row, in nats: [..., query, key] -> [..., query]. Weights of 0 add 0."""
    return torch.special.entr(weights).sum(-1)


@dataclass(frozen=True)
class Checks:
    """Largest deviations over all layers, heads and cells of one kind of attention.

    row_sum: |sum of a row - 1|; masked: weight of a masked cell; recomputed: |weight recomputed from the stored Q and K
    in float64 - stored weight|, under the rule if a rule replaced the softmax. tolerance: limit of `recomputed`: 1e-5,
    or more for scores above 100, because a switch may multiply scores by thousands and float32 rounds 100 to 4e-6.
    """

    row_sum: float
    masked: float
    recomputed: float
    tolerance: float = 1e-5

    TOLERANCE = 1e-5

    @property
    def hold(self) -> bool:
        return self.row_sum < self.TOLERANCE and self.masked == 0 and self.recomputed < self.tolerance


def _ruled(weights: Tensor, scores: Tensor, mask: Tensor, rule: Tensor, stored: Tensor) -> Tensor:
    """The weights of one layer's heads under `AttentionTrace.rule`: unchanged, uniform, 1 on the best score, or, for
    heads with a painted row, as stored: nothing computes these.

    The best score is that of the stored scores, because float64 could order two almost equal scores differently.
    """
    uniform = mask.double() / mask.sum(-1, keepdim=True)
    best = torch.zeros_like(weights).scatter_(-1, scores.argmax(-1, keepdim=True), 1.0)
    rule = rule[:, None, None]
    return torch.where(rule == 1, uniform, torch.where(rule == 2, best, torch.where(rule == 3, stored, weights)))


def check(attention: AttentionTrace) -> Checks:
    """Recompute the weights from Q and K, and compare.

    Layer by layer and in place: float64 for all layers at once (12 MB per kind for 128 tokens) took four times as long
    in a server, because its threads get such blocks from the system each time.
    """
    deviations, largest = [], 0.0
    for layer, (weights, mask) in enumerate(zip(attention.weights, attention.mask, strict=True)):
        row_sum = (weights.sum(-1, dtype=torch.float64) - 1).abs().max()
        masked = weights.masked_fill(mask, 0).abs().max()
        scores = attention.queries[layer].double() @ attention.keys[layer].double().transpose(-2, -1)
        scores.mul_(attention.scale[layer, :, None, None])
        if attention.bias is not None:
            scores.add_(attention.bias[layer])
        largest = max(largest, *(abs(end.item()) for end in scores.aminmax()))
        scores.masked_fill_(~mask, -math.inf)
        recomputed = scores.softmax(-1)
        if attention.rule[layer].any():
            recomputed = _ruled(recomputed, attention.scores[layer], mask, attention.rule[layer], weights)
        deviations.append(torch.stack((row_sum, masked.double(), recomputed.sub_(weights).abs_().max())))
    tolerance = Checks.TOLERANCE * max(1.0, largest / 100)
    row_sum, masked, recomputed = torch.stack(deviations).amax(0)  # amax keeps NaN; Python's max would drop it
    return Checks(row_sum.item(), masked.item(), recomputed.item(), tolerance)


@dataclass(frozen=True)
class WordLink:
    """The largest weight between two words. key: the word attended to; layer, head: indices from 0; weight: 0 to 1;
    cell: (query, key), indices of the two tokens."""

    key: str
    layer: int
    head: int
    weight: float
    cell: tuple[int, int]


def strongest_word_link(trace: Trace, query: str, keys: Sequence[str]) -> WordLink | None:
    """The largest weight of encoder self-attention, over all layers and heads, from a token of the word `query` to a
    token of one of the words `keys`; None if the source lacks the word or all of them."""
    numbers = word_numbers(trace.source_tokens, trace.source_labels)
    words = word_labels(trace.source_labels, numbers)
    tokens = {word: [i for i, number in enumerate(numbers) if words[number] == word] for word in (query, *keys)}
    best: WordLink | None = None
    for key in keys:
        if not tokens[query] or not tokens[key]:
            continue
        between = trace.encoder_self.weights[:, :, tokens[query]][..., tokens[key]]
        layer, head, i, j = (int(index) for index in torch.unravel_index(between.argmax(), between.shape))
        weight = float(between[layer, head, i, j])
        if best is None or weight > best.weight:
            best = WordLink(key, layer, head, weight, (tokens[query][i], tokens[key][j]))
    return best
