"""Translate the lines of standard input, one translation per line."""

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
from transformer.texts import N_, _, translate

SUMMARY = N_("Translate the lines of standard input, one translation per line.")


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
        help=_("lines to translate together (default 256; 1 when you type)"),
    )


def _complain(message: str) -> None:
    print(message, file=sys.stderr)


def decoded(lines: Iterable[bytes]) -> Iterator[str]:
    """The lines as text. Bytes that are not UTF-8 become U+FFFD, with a note on stderr."""
    for number, line in enumerate(lines, 1):
        line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            _complain(
                _(
                    "line {number}: byte {byte:#x} is not UTF-8; U+FFFD is translated in its place",
                    number=number,
                    byte=line[error.start],
                )
            )
            yield line.decode("utf-8", "replace")


def translations(
    model: Pretrained,
    texts: Iterable[str],
    batch: int = 256,
    beams: int = 1,
    alpha: float | None = None,
    interventions: Interventions = NONE,
) -> Iterator[tuple[str, str | None]]:
    """For every text, in order, its translation and an error message or None.

    A blank text and a text that is too long give an empty translation, so that the lines still match.
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
                    fits = error.tokens - interventions.pads <= error.limit  # then the padding makes it too long
                    if interventions.pads and fits:
                        message = N_(
                            "line {number}: not translated, because it has {tokens:,} tokens with {pads} pad tokens "
                            "and the limit is {limit}; the output line is empty"
                        )
                    else:
                        message = N_(
                            "line {number}: not translated, because it has {tokens:,} tokens and the limit is {limit}; "
                            "the output line is empty"
                        )
                    values = {"tokens": error.tokens, "pads": interventions.pads, "limit": error.limit}
                    wrong[index] = translate(message, number=number, **values)
        try:
            yield from zip(model.translate_all(chunk, beams, alpha, interventions=interventions), wrong, strict=True)
        except InterventionError:  # a switch hides all of a short line: translate one by one to find it
            for index, text in enumerate(chunk):
                try:
                    (translation,) = model.translate_all([text], beams, alpha, interventions=interventions)
                except InterventionError as error:
                    line = number - len(chunk) + 1 + index
                    translation = ""
                    wrong[index] = _("line {number}: not translated, {error}", number=line, error=error)
                yield translation, wrong[index]


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
    results = translations(model, decoded(source), batch, beams, alpha, interventions)
    for count, (text, wrong) in enumerate(results, 1):
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
