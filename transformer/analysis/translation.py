"""Measures of a translation: perplexity, probabilities of words, differences between two translations, repetition."""

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from transformer.analysis.tokens import is_special, word_labels, word_numbers
from transformer.tracing.trace import Trace


def perplexity(trace: Trace) -> float:
    """exp of the mean negative ln p over the tokens of target_out, with </s>, under teacher forcing.

    In float64 from the logits: in the trace's float32, a probability below 1e-45 would be 0 and its logarithm infinite.
    """
    wanted = torch.tensor(trace.target_out_ids)[:, None]
    log_probs = trace.logits.double().log_softmax(-1).gather(1, wanted)
    return log_probs.mean().neg().exp().item()


@dataclass(frozen=True)
class Word:
    """text: in readable form; pieces: of the vocabulary; probabilities: of each piece, given the pieces before it."""

    text: str
    pieces: tuple[str, ...]
    probabilities: tuple[float, ...]

    @property
    def probability(self) -> float:
        """Probability of the word, given the words before it: the product over its pieces."""
        return math.prod(self.probabilities)


def words(pieces: Sequence[str], labels: Sequence[str], probabilities: Sequence[float]) -> tuple[Word, ...]:
    """The words of a token sequence; </s> is a separate word. If every piece is one character, each piece is a word,
    because a model that reverses letters has no longer words.

    pieces: as in the vocabulary; labels: the same in readable form; probabilities: one per piece. Raises ValueError if
    their numbers differ.
    """
    specials = is_special(pieces)
    letters = all(len(piece) == 1 or special for piece, special in zip(pieces, specials, strict=True))
    numbers = tuple(range(len(pieces))) if letters else word_numbers(pieces, labels)
    parts_of_words: list[list[tuple[str, float]]] = [[] for _ in range(max(numbers, default=-1) + 1)]
    for number, piece, probability in zip(numbers, pieces, probabilities, strict=True):
        parts_of_words[number].append((piece, probability))
    return tuple(
        Word(text, tuple(piece for piece, _ in parts), tuple(probability for _, probability in parts))
        for text, parts in zip(word_labels(labels, numbers), parts_of_words, strict=True)
    )


def differing(before: Sequence[str], after: Sequence[str]) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """For each word of two lists, True if the other list does not have it there (difflib's longest matching blocks).

    A moved word differs in both lists; equal lists do not differ.
    """
    marks = [True] * len(before), [True] * len(after)
    for left, right, size in difflib.SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        marks[0][left : left + size] = marks[1][right : right + size] = [False] * size
    return tuple(marks[0]), tuple(marks[1])


def mean_probability(probabilities: Sequence[float]) -> float:
    """The geometric mean of the probabilities: 1 / perplexity of the sequence.

    Raises ValueError for an empty sequence.
    """
    if not probabilities:
        raise ValueError("at least one probability is needed")
    if min(probabilities) <= 0:
        return 0.0
    return math.exp(math.fsum(map(math.log, probabilities)) / len(probabilities))


def repetition(tokens: Sequence[object], n: int = 4) -> float:
    """seq-rep-n: 1 - unique n-grams / n-grams; 0 without repetition, near 1 for endless repetition.

    Welleck et al. 2020, "Neural text generation with unlikelihood training", section 6.1, with n = 4. Fewer than n
    tokens have no n-gram: 0.
    """
    grams = [tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0
