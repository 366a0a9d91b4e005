"""Toy tasks whose right answer a program knows: `reverse` the letters, `sort` the digits."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from transformer.training.data import DataError, Pair


def _letters(length: int, rng: random.Random) -> str:
    """Letters, now and then with single blanks between them, as words are typed."""
    text = rng.choices(string.ascii_lowercase, k=length)
    if rng.random() < 0.3:
        for place in range(2, length - 1):
            if rng.random() < 0.2 and text[place - 1] != " ":
                text[place] = " "
    return "".join(text)


def _digits(length: int, rng: random.Random) -> str:
    return "".join(rng.choices(string.digits, k=length))


@dataclass(frozen=True)
class Task:
    """languages: what the app calls the two sides; symbols: how many different ones an input is written with; draw:
    one input of a length; answer: its right output."""

    languages: tuple[str, str]
    symbols: int
    draw: Callable[[int, random.Random], str]
    answer: Callable[[str], str]


TASKS = {
    "reverse": Task(("letters", "reversed"), len(string.ascii_lowercase), _letters, lambda text: text[::-1]),
    "sort": Task(("digits", "sorted"), len(string.digits), _digits, lambda text: "".join(sorted(text))),
}


def task_pairs(
    name: str, count: int, lengths: tuple[int, int], seed: int, without: frozenset[str] = frozenset()
) -> list[Pair]:
    """`count` inputs of the task with their answers, their lengths even from the first to the second of `lengths`.

    without: inputs that may not appear (a test set's); where nearly all of a length are among them, there are fewer.
    Each input appears once, as long as there are enough different ones of its length. Raises DataError.
    """
    if name not in TASKS:
        raise DataError(f"there is no task {name!r}; there are {' and '.join(TASKS)}")
    low, high = lengths
    if count < 1 or not 1 <= low <= high:
        raise DataError(f"{count} inputs of {low} to {high} symbols were asked for; at least 1 of at least 1 is needed")
    task, rng = TASKS[name], random.Random(f"{name} {seed}")
    pairs, seen = [], set(without)
    for number in range(count):
        length = low + number % (high - low + 1)
        for _ in range(20):
            text = task.draw(length, rng)
            if text not in seen:
                break
        else:
            if text in without:
                continue
        seen.add(text)
        pairs.append((text, task.answer(text)))
    rng.shuffle(pairs)
    return pairs


def training_pairs(spec: Mapping[str, Any]) -> tuple[list[Pair], list[Pair]]:
    """Training pairs, and validation pairs that are not among them, of a recipe's name, count, lengths and seed.

    Nothing is held out of the shortest lengths, of which validation would take more than a tenth of all there are: a
    model that was never shown single letters answers them wrong.
    """
    lengths = (spec["lengths"][0], spec["lengths"][1])
    count = min(1000, spec["count"])
    each = -(-count // (lengths[1] - lengths[0] + 1))
    symbols = TASKS[spec["name"]].symbols if spec["name"] in TASKS else 1
    validation = [
        pair
        for pair in task_pairs(spec["name"], count, lengths, spec["seed"] + 1)
        if symbols ** len(pair[0]) >= 10 * each
    ]
    if not validation:
        raise DataError(
            f"inputs of {lengths[0]} to {lengths[1]} symbols are too few to keep {count:,} of them for validation; "
            "allow longer ones"
        )
    held_out = frozenset(source for source, _ in validation)
    return task_pairs(spec["name"], spec["count"], lengths, spec["seed"], held_out), validation


def unseen_pairs(spec: Mapping[str, Any], lengths: tuple[int, int], count: int = 10_000) -> list[Pair]:
    """Test pairs that are neither in training nor in validation; lengths may be others than the trained ones.

    Of short inputs training has seen all; there are fewer than `count` then. Raises DataError if there are none.
    """
    train, validation = training_pairs(spec)
    seen = frozenset(source for source, _ in (*train, *validation))
    found = task_pairs(spec["name"], count, lengths, spec["seed"] + 2, seen)
    if not found:
        raise DataError(f"training has seen every input of {lengths[0]} to {lengths[1]} symbols; name longer ones")
    return found
