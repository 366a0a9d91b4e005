"""Words made of pieces."""

import re
import unicodedata
from collections.abc import Sequence

from transformer.text.tokenizer import PIECE_MARK

BOX = "\u2423"  # label of a piece that is only the piece mark
SPECIAL = re.compile(r"<pad>|</?s>|__[a-z]+__|[a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2}")


def is_special(pieces: Sequence[str]) -> tuple[bool, ...]:
    """True for <pad>, <s>, </s>, and the language codes of M2M-100, NLLB and mBART: tokens that nobody typed."""
    return tuple(SPECIAL.fullmatch(piece) is not None for piece in pieces)


def _punctuation(label: str) -> bool:
    return bool(label) and all(unicodedata.category(character)[0] in "PS" for character in label)


def word_numbers(pieces: Sequence[str], labels: Sequence[str] | None = None) -> tuple[int, ...]:
    """The number of each piece's word, increasing from 0.

    A word starts at the piece mark, which may be a separate piece. Punctuation at the start or end of a word is a
    separate word ("brother", "."), inside a word it belongs to it ("don't"). Special tokens are separate words.
    """
    labels = labels if labels is not None else [piece.replace(PIECE_MARK, "") for piece in pieces]
    labels = ["" if piece == PIECE_MARK else label for piece, label in zip(pieces, labels, strict=True)]
    chunks: list[list[int]] = []
    specials = is_special(pieces)
    for index, piece in enumerate(pieces):
        starts = piece.startswith(PIECE_MARK) or specials[index] or (index > 0 and specials[index - 1])
        if starts or not chunks:
            chunks.append([])
        chunks[-1].append(index)
    numbers = [0] * len(pieces)
    word = -1
    for chunk in chunks:
        first, last = 0, len(chunk)
        while first < last and _punctuation(labels[chunk[first]].strip()):
            first += 1
        while last > first and _punctuation(labels[chunk[last - 1]].strip()):
            last -= 1
        for offset, index in enumerate(chunk):
            if not first < offset < last:
                word += 1
            numbers[index] = word
    return tuple(numbers)


def word_labels(labels: Sequence[str], numbers: Sequence[int]) -> tuple[str, ...]:
    """Each word in readable form: the joined labels of its pieces, without the box of a separate piece mark."""
    words = [""] * (max(numbers) + 1 if numbers else 0)
    for label, number in zip(labels, numbers, strict=True):
        words[number] += label
    return tuple(word.strip(BOX) or word for word in words)


def repeats(tokens: Sequence[object], longest: int = 8) -> int:
    """How many times in a row the most repeated block of up to `longest` tokens occurs: 1 if nothing repeats.

    A failing model repeats itself again and again; good text rarely repeats a block four times.
    """
    most = 1 if tokens else 0
    for size in range(1, min(longest, len(tokens) // 2) + 1):
        run = 0  # tokens in a row that equal the token `size` positions before
        for index in range(size, len(tokens)):
            run = run + 1 if tokens[index] == tokens[index - size] else 0
            most = max(most, 1 + run // size)
    return most
