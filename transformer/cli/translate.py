"""Translate the lines of standard input, one translation a line."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from transformer.cli.common import (
    add_checkpoint,
    add_device,
    add_search,
    add_switches,
    find_device,
    search,
    switches,
    whole,
)
from transformer.inference.pretrained import InputError, Pretrained, load
from transformer.interventions.sets import NONE, InterventionError, Interventions


def add(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser)
    add_search(parser)
    add_switches(parser)
    add_device(parser)
    parser.add_argument(
        "--batch",
        type=whole(1, 100_000),
        default=256,
        metavar="N",
        help="lines read and translated together (default 256; 1 when you type them)",
    )


def _complain(message: str) -> None:
    print(message, file=sys.stderr)


def decoded(lines: Iterable[bytes]) -> Iterator[str]:
    """Lines as text. Bytes that are not UTF-8 become U+FFFD, and stderr names the line."""
    for number, line in enumerate(lines, 1):
        line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            _complain(f"line {number}: byte {line[error.start]:#x} is not UTF-8; translated with U+FFFD in its place")
            yield line.decode("utf-8", "replace")


def translations(
    model: Pretrained,
    texts: Iterable[str],
    batch: int = 256,
    beams: int = 1,
    alpha: float | None = None,
    interventions: Interventions = NONE,
) -> Iterator[tuple[str, str | None]]:
    """A translation, and what was wrong or None, for every text, in order.

    A text without anything to translate, and one that is too long, give an empty translation: nothing is shifted.
    """
    numbers = itertools.count(1)
    texts = iter(texts)
    while chunk := list(itertools.islice(texts, batch)):
        wrong: list[str | None] = [None] * len(chunk)
        for index, text in enumerate(chunk):
            number = next(numbers)
            try:
                model.pad(model.encode(text), interventions)
            except InputError as error:
                chunk[index] = ""
                if error.tokens:
                    fits = error.tokens - interventions.pads <= error.limit  # then it is the padding that does not
                    padded = f", {interventions.pads} of padding among them," if interventions.pads and fits else ""
                    wrong[index] = (
                        f"line {number}: not translated, it has {error.tokens:,} tokens{padded} and the model takes "
                        f"at most {error.limit}; its line in the output is empty"
                    )
        try:
            yield from zip(model.translate_all(chunk, beams, alpha, interventions=interventions), wrong, strict=True)
        except InterventionError:  # of a line so short that all of it is hidden: which one is found out one by one
            for index, text in enumerate(chunk):
                try:
                    (found,) = model.translate_all([text], beams, alpha, interventions=interventions)
                except InterventionError as error:
                    found, wrong[index] = "", f"line {number - len(chunk) + 1 + index}: not translated, {error}"
                yield found, wrong[index]


def write(
    model: Pretrained,
    source: BinaryIO,
    target: BinaryIO,
    batch: int,
    beams: int,
    alpha: float | None,
    interventions: Interventions = NONE,
) -> int:
    """Translate source to target line by line. Returns 1 if a line could not be translated, else 0."""
    status = 0
    found = translations(model, decoded(source), batch, beams, alpha, interventions)
    for count, (text, wrong) in enumerate(found, 1):
        if wrong:
            _complain(wrong)
            status = 1
        target.write(" ".join(text.splitlines()).encode("utf-8", "replace") + b"\n")
        if count % batch == 0:
            target.flush()
    target.flush()
    return status


def run(options: argparse.Namespace) -> int:
    interventions = switches(options)
    model = load(options.checkpoint, find_device(options.device))
    interventions.check(model.config)
    batch = 1 if sys.stdin.isatty() else options.batch
    return write(model, sys.stdin.buffer, sys.stdout.buffer, batch, *search(options), interventions)
