"""Pairs that a viewer pastes: read, checked, and divided into training pairs and unseen pairs."""

import itertools
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from reprlib import repr as shown
from typing import Any

from transformer.text.tokenizer import clean
from transformer.texts import N_, Text, UserError
from transformer.training.data import Pair

FEWEST, MOST = 2, 2000
LONGEST = 64  # characters a side
SEPARATORS = {  # the first of these in a line divides it -> the error if the line has several
    "\t": N_("line {number} has {count} tabs; use only one, between input and answer"),
    "->": N_("line {number} has {count} arrows ->; use only one, or a tab between input and answer"),
    ";": N_("line {number} has {count} semicolons; use only one, or a tab between input and answer"),
    ",": N_("line {number} has {count} commas; use only one, or a tab between input and answer"),
}
# SentencePiece writes blanks and unknown characters with these two.
RESERVED = "▁▅"
SHARE = 10  # one pair in ten stays unseen
MOST_UNSEEN = 200


class ExperimentError(UserError):
    """Invalid settings or pairs of an experiment. The message says what is wrong and what is allowed."""


def readable(text: str) -> str:
    """The text as the tokenizer reads it, without the invisible byte order mark of some files."""
    return clean(text.replace("\ufeff", ""))


def read_pairs(text: str) -> tuple[Pair, ...]:
    """Pairs from pasted lines: INPUT<tab>ANSWER, or with "->", ";" or "," in place of the tab. Skips blank lines.

    A repeated pair counts once. Raises ExperimentError, which names the line.
    """
    lines = [(number, line) for number, line in enumerate(re.split("\r\n|[\r\n]", text), 1) if line.strip()]
    if not lines:
        raise ExperimentError(
            "the field is empty; paste at least 2 lines, each with an input, a tab or a comma, and its answer"
        )
    if len(lines) > MOST:
        raise ExperimentError(
            "these are {count:,} lines; paste at most {most:,}, with one pair on each line", count=len(lines), most=MOST
        )
    answers: dict[str, tuple[str, int]] = {}  # input -> answer, line
    for number, line in lines:
        source, target = _sides(number, line)
        if (before := answers.get(source)) and before[0] != target:
            raise ExperimentError(
                "line {number} answers {source} with {target}, but line {first} with {answer}; give "
                "every input one answer",
                number=number,
                source=shown(source),
                target=shown(target),
                first=before[1],
                answer=shown(before[0]),
            )
        answers.setdefault(source, (target, number))
    return check_pairs([(source, target) for source, (target, _) in answers.items()])


def _sides(number: int, line: str) -> Pair:
    separator = next((separator for separator in SEPARATORS if separator in line), None)
    if separator is None:
        raise ExperimentError(
            "line {number} has only one side, {line}; put a tab, ->, a semicolon or a comma between input and answer",
            number=number,
            line=shown(line.strip()),
        )
    sides = [readable(side) for side in line.split(separator)]
    if len(sides) > 2:
        raise ExperimentError(SEPARATORS[separator], number=number, count=len(sides) - 1)
    for text, side in zip(_IN_LINE, sides, strict=True):
        if problem := _problem(side):
            raise ExperimentError(text, number=number, problem=problem)
    return sides[0], sides[1]


_IN_LINE = (N_("the input of line {number} {problem}"), N_("the answer of line {number} {problem}"))


def _problem(side: str) -> Text | None:
    """The second half of the error message about one side; None if the side is valid."""
    if not side:
        return Text("is empty; write 1 to {limit} characters on each side", limit=LONGEST)
    if len(side) > LONGEST:
        return Text(
            "has {length:,} characters; at most {limit} are allowed, shorten it", length=len(side), limit=LONGEST
        )
    for character in side:
        if character in RESERVED or unicodedata.category(character) in ("Cn", "Co", "Cs"):
            return Text(
                "contains the character {code}, which cannot be learned here; use another one",
                code=f"U+{ord(character):04X}",
            )
    return None


def _is_side(side: Any) -> bool:
    """Whether it is a side as `read_pairs` returns it."""
    return isinstance(side, str) and readable(side) == side and not _problem(side)


def check_pairs(pairs: Any) -> tuple[Pair, ...]:
    """The same pairs. Raises ExperimentError for pairs that `read_pairs` does not return."""
    if not isinstance(pairs, tuple | list):
        raise ExperimentError("pairs is {pairs}; give a list of pairs of texts", pairs=shown(pairs))
    if not FEWEST <= len(pairs) <= MOST:
        raise ExperimentError(
            "the number of different pairs is {count:,}; give {fewest} to {most:,}",
            count=len(pairs),
            fewest=FEWEST,
            most=MOST,
        )
    inputs: set[str] = set()
    for number, pair in enumerate(pairs, 1):
        if not isinstance(pair, tuple) or len(pair) != 2 or not all(map(_is_side, pair)):
            raise ExperimentError(
                "pair {number} is {pair}; give two texts, an input and its answer", number=number, pair=shown(pair)
            )
        if pair[0] in inputs:
            raise ExperimentError(
                "pair {number} repeats the input {input}; give every input only once",
                number=number,
                input=shown(pair[0]),
            )
        inputs.add(pair[0])
    return tuple(pairs)


def divide(pairs: Sequence[Pair], seed: int) -> tuple[list[Pair], list[Pair]]:
    """Training pairs and unseen pairs. Unseen is a tenth, at least one pair, drawn with the seed.

    If possible, every character of an unseen pair also appears in a training pair: the model cannot know a character
    that it never saw.
    """
    wanted = max(1, min(MOST_UNSEEN, len(pairs) // SHARE))
    order = list(range(len(pairs)))
    random.Random(f"unseen {seed}").shuffle(order)
    letters = [set(source + target) for source, target in pairs]
    uses = Counter(itertools.chain.from_iterable(letters))
    unseen: list[int] = []
    for index in order:
        if len(unseen) < wanted and all(uses[letter] > 1 for letter in letters[index]):
            unseen.append(index)
            uses.subtract(letters[index])
    unseen = unseen or order[:1]
    held_out = set(unseen)
    return [pair for index, pair in enumerate(pairs) if index not in held_out], [pairs[index] for index in unseen]
