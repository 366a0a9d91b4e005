"""BLEU of one sentence, taken apart: n-grams, clipped counts, precisions and the brevity penalty (Papineni et al.
2002), with the tokens, smoothing and digits of sacreBLEU (Post 2018)."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from transformer.checks import expect
from transformer.text.bleu_tokenizers import USUAL
from transformer.text.tokenizer import composed
from transformer.texts import Text, UserError

if TYPE_CHECKING:
    from transformer.text.sacrebleu import BLEU

ORDER = 4
REFERENCES = 4  # most references


@cache
def _metric(tokenize: str) -> BLEU:
    """As sacrebleu.sentence_bleu. The lessons of every page import this module, so sacreBLEU comes when it is used."""
    from transformer.text.sacrebleu import BLEU

    return BLEU(tokenize, effective_order=True)


@dataclass(frozen=True)
class Ngram:
    """words: its tokens. count: how often the hypothesis has it. most: the largest count in one reference; clipped: the
    smaller of both, which is what counts as matched."""

    words: tuple[str, ...]
    count: int
    most: int

    @property
    def clipped(self) -> int:
        return min(self.count, self.most)


@dataclass(frozen=True)
class Order:
    """All n-grams of one n, in order of appearance. precision: in percent, matched / total; with sacreBLEU's smoothing
    ("exp") where nothing matched."""

    ngrams: tuple[Ngram, ...]
    matched: int
    total: int
    precision: float
    smoothed: bool


@dataclass(frozen=True)
class Bleu:
    """hypothesis, references: tokens as sacreBLEU divides the texts. orders: for n = 1 to 4, without those that the
    hypothesis is too short for. length: of the reference whose length is closest. score: 0 to 100. signature:
    sacreBLEU's."""

    hypothesis: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    orders: tuple[Order, ...]
    length: int
    brevity_penalty: float
    score: float
    signature: str

    def lit(self, n: int) -> tuple[bool, ...]:
        """Which tokens of the hypothesis stand in a matched n-gram; of one that is there too often, the first count."""
        left = {ngram.words: ngram.clipped for ngram in self.orders[n - 1].ngrams} if n <= len(self.orders) else {}
        marked = [False] * len(self.hypothesis)
        for start, words in enumerate(_ngrams(self.hypothesis, n)):
            if left.get(words, 0) > 0:
                left[words] -= 1
                marked[start : start + n] = [True] * n
        return tuple(marked)

    def alike(self) -> tuple[str, ...]:
        """Tokens of the hypothesis that no reference has, but that look like one of theirs: they differ in characters
        that are invisible, as a soft hyphen, or that Unicode counts as forms of one character."""
        there = {token for tokens in self.references for token in tokens}
        seen = set(map(_look, there))
        return tuple(token for token in dict.fromkeys(self.hypothesis) if token not in there and _look(token) in seen)


def _look(text: str) -> str:
    """What is seen of a text."""
    return unicodedata.normalize("NFKC", "".join(one for one in text if unicodedata.category(one) != "Cf"))


def _ngrams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1)]


def bleu(hypothesis: str, references: Sequence[str], tokenize: str = USUAL) -> Bleu:
    """BLEU of a hypothesis with up to four references, all in NFC; the score is sacreBLEU's to the last digit, and at
    most 100.

    tokenize: how it divides texts, of `bleu_tokenizers.TOKENIZERS`. A hypothesis without a token scores 0. Raises
    UserError without a reference, and for a tokenizer that is not installed.
    """
    hypothesis, given = composed(hypothesis), [composed(text) for text in _given(references)]
    metric = _metric(tokenize)
    divide = metric.tokenizer
    tokens = tuple(divide(hypothesis.rstrip()).split())
    right = tuple(tuple(divide(text.rstrip()).split()) for text in given)
    length = min((len(one) for one in right), key=lambda one: (abs(one - len(tokens)), one))
    orders: list[Order] = []
    halvings = 1.0
    for n in range(1, ORDER + 1):
        counts, there = Counter(_ngrams(tokens, n)), [Counter(_ngrams(one, n)) for one in right]
        ngrams = tuple(Ngram(words, count, max(one[words] for one in there)) for words, count in counts.items())
        matched, total = sum(ngram.clipped for ngram in ngrams), sum(counts.values())
        if not total:
            break
        if not matched:
            halvings *= 2
        precision = 100.0 * matched / total if matched else 100.0 / (halvings * total)
        orders.append(Order(ngrams, matched, total, precision, not matched))
    penalty = 1.0 if len(tokens) >= length else math.exp(1 - length / len(tokens)) if tokens else 0.0
    logs = sum(math.log(order.precision) for order in orders)
    score = min(penalty * math.exp(logs / len(orders)), 100.0) if any(order.matched for order in orders) else 0.0
    metric.sentence_score(hypothesis, given)  # sets the number of references of the signature
    return Bleu(tokens, right, tuple(orders), length, penalty, score, str(metric.get_signature()))


def chrf(hypothesis: str, references: Sequence[str]) -> float:
    """sacreBLEU's chrF (Popović 2015), 0 to 100. References and errors as in `bleu`."""
    from transformer.text.sacrebleu import CHRF

    return CHRF().sentence_score(hypothesis, _given(references)).score


def _given(references: Sequence[str]) -> list[str]:
    """Those that are not blank. Raises UserError, WrongTypeError."""
    expect(references, (list, tuple), "references", Text("a list of texts"))
    given = [text for text in references if text.strip()]
    if not given:
        raise UserError("there is no reference; type at least one right translation")
    if len(given) > REFERENCES:
        raise UserError("there are {count} references; at most {most} are allowed", count=len(given), most=REFERENCES)
    return given
