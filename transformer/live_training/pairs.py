"""Pairs of a person's own: pasted lines, checked, and divided into those trained on and those kept unseen."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Sequence
from reprlib import repr as shown
from typing import Any

from transformer.text.tokenizer import clean
from transformer.texts import UserError
from transformer.training.data import Pair

FEWEST, MOST = 2, 2000
LONGEST = 64  # characters a side
SEPARATORS = {"\t": "tabs", "->": "arrows ->", ";": "semicolons", ",": "commas"}  # the first that a line has counts
# What SentencePiece writes blanks and unknown characters as: it could not tell them from its own.
RESERVED = "▁▅"
SHARE = 10  # one of so many pairs is kept unseen
MOST_UNSEEN = 200


class ExperimentError(UserError):
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
        raise ExperimentError(
            "{count:,} lines arrived; paste at most {most:,}, one pair on each", count=len(lines), most=MOST
        )
    found: dict[str, tuple[str, int]] = {}
    for number, line in lines:
        source, target = _sides(number, line)
        if (before := found.get(source)) and before[0] != target:
            raise ExperimentError(
                "line {number} answers {source} with {target}, line {before} with {before2}; give every "
                "input one answer",
                number=number,
                source=shown(source),
                target=shown(target),
                before=before[1],
                before2=shown(before[0]),
            )
        found.setdefault(source, (target, number))
    return check_pairs([(source, target) for source, (target, _) in found.items()])


def _sides(number: int, line: str) -> Pair:
    separator = next((one for one in SEPARATORS if one in line), None)
    if separator is None:
        raise ExperimentError(
            "line {number}, {line}, has one side only; put a tab, ->, a semicolon or a comma between input and answer",
            number=number,
            line=shown(line.strip()),
        )
    sides = [readable(side) for side in line.split(separator)]
    if len(sides) > 2:
        raise ExperimentError(
            "line {number} has {count} {separators}; use one, or a tab between input and answer",
            number=number,
            count=len(sides) - 1,
            separators=SEPARATORS[separator],
        )
    for name, side in zip(("input", "answer"), sides, strict=True):
        if problem := _problem(side):
            raise ExperimentError("the {name} of line {number} {problem}", name=name, number=number, problem=problem)
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
        raise ExperimentError("pairs is {pairs}; give a list of pairs of texts", pairs=shown(pairs))
    if not FEWEST <= len(pairs) <= MOST:
        raise ExperimentError(
            "{count:,} {value} arrived; give {fewest} to {most:,} different ones",
            count=len(pairs),
            value="pair" if len(pairs) == 1 else "pairs",
            fewest=FEWEST,
            most=MOST,
        )
    answers: dict[str, str] = {}
    for number, pair in enumerate(pairs, 1):
        if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(side, str) for side in pair):
            raise ExperimentError(
                "pair {number} is {pair}; give two texts, an input and its answer", number=number, pair=shown(pair)
            )
        for name, side in zip(("input", "answer"), pair, strict=True):
            if problem := _problem(side) or ("" if readable(side) == side else "has blanks to be removed"):
                raise ExperimentError(
                    "the {name} of pair {number} {problem}", name=name, number=number, problem=problem
                )
        if pair[0] in answers:
            raise ExperimentError(
                "the input of pair {number}, {pair}, stands twice; give every input once",
                number=number,
                pair=shown(pair[0]),
            )
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
