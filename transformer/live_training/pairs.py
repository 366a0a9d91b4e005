"""Pairs of a person's own: pasted lines, checked, and divided into those trained on and those kept unseen."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Sequence
from reprlib import repr as shown
from typing import Any

from transformer.text.tokenizer import clean
from transformer.training.data import Pair

FEWEST, MOST = 2, 2000
LONGEST = 64  # characters a side
SEPARATORS = {"\t": "tabs", "->": "arrows ->", ";": "semicolons", ",": "commas"}  # the first that a line has counts
# What SentencePiece writes blanks and unknown characters as: it could not tell them from its own.
RESERVED = "▁▅"
SHARE = 10  # one of so many pairs is kept unseen
MOST_UNSEEN = 200


class ExperimentError(ValueError):
    """An experiment that cannot be made; one sentence: what arrived, what is allowed, what to do."""


def readable(text: str) -> str:
    """The text as it is trained on: as the tokenizer reads it, without the invisible mark that files begin with."""
    return clean(text.replace("\ufeff", ""))


def read_pairs(text: str) -> tuple[Pair, ...]:
    """Pairs of pasted lines, INPUT<tab>ANSWER, or with "->", ";" or "," between the two; blank lines are passed over.

    A pair that stands twice counts once. Raises ExperimentError, naming the line.
    """
    lines = [(number, line) for number, line in enumerate(re.split("\r\n|[\r\n]", text), 1) if line.strip()]
    if not lines:
        raise ExperimentError("no pair arrived; paste 2 lines or more, each an input, a tab or a comma, and its answer")
    if len(lines) > MOST:
        raise ExperimentError(f"{len(lines):,} lines arrived; paste at most {MOST:,}, one pair on each")
    found: dict[str, tuple[str, int]] = {}
    for number, line in lines:
        source, target = _sides(number, line)
        if (before := found.get(source)) and before[0] != target:
            raise ExperimentError(
                f"line {number} answers {shown(source)} with {shown(target)}, line {before[1]} with "
                f"{shown(before[0])}; give every input one answer"
            )
        found.setdefault(source, (target, number))
    return check_pairs([(source, target) for source, (target, _) in found.items()])


def _sides(number: int, line: str) -> Pair:
    separator = next((one for one in SEPARATORS if one in line), None)
    if separator is None:
        raise ExperimentError(
            f"line {number}, {shown(line.strip())}, has one side only; put a tab, ->, a semicolon or a comma between "
            "input and answer"
        )
    sides = [readable(side) for side in line.split(separator)]
    if len(sides) > 2:
        raise ExperimentError(
            f"line {number} has {len(sides) - 1} {SEPARATORS[separator]}; use one, or a tab between input and answer"
        )
    for name, side in zip(("input", "answer"), sides, strict=True):
        if problem := _problem(side):
            raise ExperimentError(f"the {name} of line {number} {problem}")
    return sides[0], sides[1]


def _problem(side: str) -> str:
    """What is wrong with one side, to be said behind "the input of line 3"; nothing if it may be so."""
    if not side:
        return "is empty; write 1 to 64 characters on each side"
    if len(side) > LONGEST:
        return f"has {len(side):,} characters; at most {LONGEST} are allowed, shorten it"
    if bad := next((one for one in side if one in RESERVED or unicodedata.category(one) in ("Cn", "Co", "Cs")), None):
        return f"holds the character U+{ord(bad):04X}, which cannot be learned here; write another"
    return ""


def check_pairs(pairs: Any) -> tuple[Pair, ...]:
    """The pairs as they are. Raises ExperimentError for what `read_pairs` would not have made."""
    if not isinstance(pairs, tuple | list):
        raise ExperimentError(f"pairs is {shown(pairs)}; give a list of pairs of texts")
    if not FEWEST <= len(pairs) <= MOST:
        raise ExperimentError(
            f"{len(pairs):,} {'pair' if len(pairs) == 1 else 'pairs'} arrived; give {FEWEST} to {MOST:,} different ones"
        )
    answers: dict[str, str] = {}
    for number, pair in enumerate(pairs, 1):
        if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(side, str) for side in pair):
            raise ExperimentError(f"pair {number} is {shown(pair)}; give two texts, an input and its answer")
        for name, side in zip(("input", "answer"), pair, strict=True):
            if problem := _problem(side) or ("" if readable(side) == side else "has blanks to be removed"):
                raise ExperimentError(f"the {name} of pair {number} {problem}")
        if pair[0] in answers:
            raise ExperimentError(f"the input of pair {number}, {shown(pair[0])}, stands twice; give every input once")
        answers[pair[0]] = pair[1]
    return tuple(pairs)


def divide(pairs: Sequence[Pair], seed: int) -> tuple[list[Pair], list[Pair]]:
    """Pairs to train on, and pairs that are kept unseen: a tenth, at least one, drawn with the seed.

    As long as there are such, unseen are those all of whose characters others have too: a character that was never
    trained is none to the model.
    """
    wanted = max(1, min(MOST_UNSEEN, len(pairs) // SHARE))
    order = list(range(len(pairs)))
    random.Random(f"unseen {seed}").shuffle(order)
    uses: dict[str, int] = {}
    letters = [set(source + target) for source, target in pairs]
    for one in letters:
        for letter in one:
            uses[letter] = uses.get(letter, 0) + 1
    kept: list[int] = []
    for index in order:
        if len(kept) < wanted and all(uses[letter] > 1 for letter in letters[index]):
            kept.append(index)
            for letter in letters[index]:
                uses[letter] -= 1
    kept = kept or order[:1]
    unseen = set(kept)
    return [pair for index, pair in enumerate(pairs) if index not in unseen], [pairs[index] for index in kept]
