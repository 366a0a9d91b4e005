"""Toy tasks with known correct answers: copy, reverse and shift letters, sort digits; also with other symbols."""

import itertools
import random
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from transformer.text import numerals
from transformer.text.tokenizer import clean
from transformer.texts import N_, Text
from transformer.training.data import DataError, Pair

SHIFT = 3  # Caesar's (Suetonius, Divus Julius 56)
LARGEST_ALPHABET = 1000


def _letters(length: int, rng: random.Random) -> str:
    """Letters, sometimes with single blanks between them, like typed words."""
    text = rng.choices(string.ascii_lowercase, k=length)
    if rng.random() < 0.3:
        for index in range(2, length - 1):
            if rng.random() < 0.2 and text[index - 1] != " ":
                text[index] = " "
    return "".join(text)


def _digits(length: int, rng: random.Random) -> str:
    return "".join(rng.choices(string.digits, k=length))


@dataclass(frozen=True)
class Task:
    """languages: names of the two sides in the app; symbols: number of different symbols; draw: makes a random input of
    a length; answer: gives its correct output; alphabet: the symbols, if all inputs of a length are equally likely.

    same: what two inputs have in common that ask for the same, such as a number in digits and in words; if one of them
    is held out, so is the other. The length of an input is that of `same`, in this unit. longest: the largest length,
    if there is one. basic: True for inputs that every model should see, such as 1,000; they are never held out, and
    come as often as they are drawn. words: input symbol -> output symbols that stand for the same; empty: each for
    itself.
    """

    languages: tuple[str, str]
    symbols: int
    draw: Callable[[int, random.Random], str]
    answer: Callable[[str], str]
    alphabet: str = ""
    same: Callable[[str], str] = str
    longest: int | None = None
    unit: str = N_("symbols")
    basic: Callable[[str], bool] = lambda text: False
    words: Mapping[str, frozenset[str]] = field(default_factory=dict)


def _shifted(alphabet: str, by: int) -> Callable[[str], str]:
    """Moves every symbol by `by` in the alphabet, cyclically; leaves other characters."""
    table = str.maketrans(alphabet, alphabet[by:] + alphabet[:by])
    return lambda text: text.translate(table)


LETTERS = len(string.ascii_lowercase)
TASKS = {
    "reverse": Task((N_("letters"), N_("reversed")), LETTERS, _letters, lambda text: text[::-1]),
    "sort": Task((N_("digits"), N_("sorted")), len(string.digits), _digits, lambda text: "".join(sorted(text))),
    "copy": Task(("letters", N_("copied")), LETTERS, _letters, lambda text: text),
    "shift": Task(("letters", f"shifted by {SHIFT}"), LETTERS, _letters, _shifted(string.ascii_lowercase, SHIFT)),
    "ko-numbers": Task(
        (N_("digits or Korean numerals"), N_("Korean numerals or digits")),
        len(string.digits),
        numerals.draw_text,
        numerals.other_form,
        same=lambda text: str(numerals.number_of(text)),
        longest=numerals.LONGEST,
        unit=N_("digits"),
        basic=lambda text: len(str(numerals.number_of(text)).replace("0", "")) <= 2,
        words=numerals.WORDS,
    ),
}


def find_task(name: str, alphabet: str | None = None, shift: int | None = None) -> Task:
    """The task with this name. alphabet: other symbols, drawn uniformly; "sort" uses their order. shift: only for the
    task "shift". Raises DataError."""
    if name not in TASKS:
        raise DataError("unknown task {name!r}; choose {tasks}", name=name, tasks=", ".join(TASKS))
    if shift is not None and name != "shift":
        raise DataError(
            "the task {name!r} takes no shift, but shift is {shift!r}; leave it out", shift=shift, name=name
        )
    task = TASKS[name]
    if alphabet is None and shift is None:
        return task
    if task.longest:
        raise DataError("the task {name!r} takes no alphabet; leave it out", name=name)
    symbols = string.ascii_lowercase if alphabet is None else alphabet
    if not 2 <= len(symbols) <= LARGEST_ALPHABET:
        raise DataError(
            "the alphabet has {count:,} symbols; choose 2 to {largest:,}",
            count=len(symbols),
            largest=LARGEST_ALPHABET,
        )
    if len(set(symbols)) < len(symbols):
        raise DataError("the alphabet {symbols!r} repeats a symbol; name each symbol once", symbols=symbols[:60])
    if any(clean(symbol) != symbol for symbol in symbols):  # blanks, control characters, halves of characters
        raise DataError(
            "the alphabet {symbols!r} has a blank or an invalid character; choose other symbols", symbols=symbols[:60]
        )
    by = SHIFT if shift is None else shift
    if name == "shift" and (type(by) is not int or not 1 <= by < len(symbols)):
        raise DataError(
            "shift is {shift!r}; with {count} symbols choose a whole number from 1 to {largest}",
            shift=by,
            count=len(symbols),
            largest=len(symbols) - 1,
        )
    answers: dict[str, Callable[[str], str]] = {
        "sort": lambda text: "".join(sorted(text, key=symbols.index)),
        "shift": _shifted(symbols, by),
    }
    spoken = f"shifted by {by}" if name == "shift" else task.languages[1]
    answer = answers.get(name, task.answer)
    if alphabet is None:
        return Task((task.languages[0], spoken), task.symbols, task.draw, answer)
    draw = lambda length, rng: "".join(rng.choices(symbols, k=length))  # noqa: E731
    return Task(("symbols", spoken), len(symbols), draw, answer, symbols)


def _different(task: Task, length: int, wanted: int, rng: random.Random, without: frozenset[str]) -> list[str] | None:
    """All inputs of a length except `without`, in a random order, repeated until there are `wanted`. None if there are
    many times more than wanted, or if they are not equally likely. If few are left, drawing at random until a new one
    comes would not end."""
    if not task.alphabet or task.symbols**length > 4 * (wanted + len(without)):
        return None
    every = ("".join(symbols) for symbols in itertools.product(task.alphabet, repeat=length))
    left = [text for text in every if text not in without]
    rng.shuffle(left)
    return list(itertools.islice(itertools.cycle(left), wanted))


def task_pairs(
    name: str,
    count: int,
    lengths: tuple[int, int],
    seed: int,
    without: frozenset[str] = frozenset(),
    alphabet: str | None = None,
    shift: int | None = None,
) -> list[Pair]:
    """`count` inputs of the task with their answers; their lengths are evenly spread over `lengths`.

    without: what inputs to leave out (those of a test set) have in common, `Task.same`; if they are most inputs of a
    length, there are fewer pairs.
    alphabet, shift: see `find_task`. Each input appears once if there are enough different inputs of its length.
    Raises DataError.
    """
    task, rng = find_task(name, alphabet, shift), random.Random(f"{name} {seed}")
    low, high = lengths
    if task.longest and high > task.longest:
        raise DataError(
            "the task {name!r} has inputs of up to {longest} {unit}, not {high}",
            name=name,
            unit=Text(task.unit),
            longest=task.longest,
            high=high,
        )
    if count < 1 or not 1 <= low <= high:
        raise DataError(
            "{count} inputs of {low} to {high} {unit} are impossible; choose at least 1 of each",
            count=count,
            unit=Text(task.unit),
            low=low,
            high=high,
        )
    pairs, seen = [], set[str]()
    listed: dict[int, list[str] | None] = {}
    for number in range(count):
        length = low + number % (high - low + 1)
        if length not in listed:
            listed[length] = _different(task, length, -(-count // (high - low + 1)), rng, without)
        if (few := listed[length]) is not None:
            if few:
                text = few.pop()
                pairs.append((text, task.answer(text)))
            continue
        for _ in range(20):
            text = task.draw(length, rng)
            held_out = task.same(text) in without
            if not held_out and (text not in seen or task.basic(text)):
                break
        else:
            if held_out:
                continue
        seen.add(text)
        pairs.append((text, task.answer(text)))
    rng.shuffle(pairs)
    return pairs


def _of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The symbols of a recipe, as arguments of `task_pairs`."""
    return {name: spec[name] for name in ("alphabet", "shift") if name in spec}


def languages(spec: Mapping[str, Any]) -> tuple[str, str]:
    """The names of the two sides of a recipe's task in the app. Raises DataError."""
    return find_task(spec["name"], **_of(spec)).languages


def training_pairs(spec: Mapping[str, Any]) -> tuple[list[Pair], list[Pair]]:
    """Training pairs and separate validation pairs, from a recipe's name, count, lengths and seed.

    Nothing is held out of the shortest lengths, where validation would take more than a tenth of all inputs: a model
    that never saw single letters answers them wrong. The recipe may also set "held_out" (most pairs to hold out,
    default 1,000), "alphabet" and "shift".
    """
    lengths = (spec["lengths"][0], spec["lengths"][1])
    task = find_task(spec["name"], **_of(spec))
    count = spec.get("held_out") or min(1000, spec["count"])
    each = -(-count // (lengths[1] - lengths[0] + 1))
    validation = [
        pair
        for pair in task_pairs(spec["name"], count, lengths, spec["seed"] + 1, **_of(spec))
        if task.symbols ** len(task.same(pair[0])) >= 10 * each and not task.basic(pair[0])
    ]
    if not validation:
        raise DataError(
            "there are too few inputs of {low} to {high} {unit} to keep {count:,} for validation; allow longer inputs",
            unit=Text(task.unit),
            low=lengths[0],
            high=lengths[1],
            count=count,
        )
    held_out = frozenset(task.same(source) for source, _ in validation)
    return task_pairs(spec["name"], spec["count"], lengths, spec["seed"], held_out, **_of(spec)), validation


def unseen_pairs(spec: Mapping[str, Any], lengths: tuple[int, int], count: int = 10_000) -> list[Pair]:
    """Test pairs that are neither in training nor in validation, also of other lengths than the trained ones.

    Training has seen all short inputs, so there may be fewer than `count`. Raises DataError if there are none.
    """
    task = find_task(spec["name"], **_of(spec))
    train, validation = training_pairs(spec)
    seen = frozenset(task.same(source) for source, _ in (*train, *validation))
    pairs = task_pairs(spec["name"], count, lengths, spec["seed"] + 2, seen, **_of(spec))
    if not pairs:
        raise DataError(
            "training has seen every input of {low} to {high} {unit}; choose longer inputs",
            unit=Text(task.unit),
            low=lengths[0],
            high=lengths[1],
        )
    return pairs
