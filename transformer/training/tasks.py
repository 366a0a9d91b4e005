"""Toy tasks whose right answer a program knows: `reverse` the letters, `sort` the digits."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from dataclasses import dataclass

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
    """languages: what the app calls the two sides; draw: one input of a length; answer: its right output."""

    languages: tuple[str, str]
    draw: Callable[[int, random.Random], str]
    answer: Callable[[str], str]


TASKS = {
    "reverse": Task(("letters", "reversed"), _letters, lambda text: text[::-1]),
    "sort": Task(("digits", "sorted"), _digits, lambda text: "".join(sorted(text))),
}


def task_pairs(
    name: str, count: int, lengths: tuple[int, int], seed: int, without: frozenset[str] = frozenset()
) -> list[Pair]:
    """`count` inputs of the task with their answers, their lengths even from the first to the second of `lengths`.

    without: inputs that may not appear (a test set's). Each input appears once, as long as there are enough different
    ones of its length. Raises DataError.
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
