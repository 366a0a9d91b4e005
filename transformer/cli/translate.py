"""Translate the lines of standard input, one translation per line."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from transformer.cli.common import (
    CommandError,
    add_checkpoint,
    add_device,
    add_search,
    add_switches,
    find_device,
    positive,
    search,
    switches,
    whole,
)
from transformer.inference.pretrained import InputError, Pretrained, load
from transformer.inference.sampling import Sampling
from transformer.interventions.sets import NONE, InterventionError, Interventions
from transformer.texts import N_, _, translate

SUMMARY = N_("Translate the lines of standard input, one translation per line.")
SAMPLING = ("temperature", "top_k", "top_p", "seed")


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
    parser.add_argument("--prefix", default="", metavar="TEXT", help=_("what every translation has to begin with"))
    parser.add_argument(
        "--n-best",
        type=whole(1, 64),
        metavar="N",
        help=_("up to N translations of each line, best first, as NUMBER<tab>SCORE<tab>TEXT (default --beam N)"),
    )
    sampling = parser.add_argument_group(
        _("sampling"), _("any of these draws each token by its probability instead of taking the most probable one")
    )
    sampling.add_argument(
        "--temperature",
        type=positive,
        metavar="T",
        help=_("divide the logits by T; below 1 likely tokens are likelier"),
    )
    sampling.add_argument(
        "--top-k", type=whole(0, 1_000_000), metavar="K", help=_("draw from the K most probable tokens; 0: from all")
    )
    sampling.add_argument(
        "--top-p",
        type=positive,
        metavar="P",
        help=_("draw from the smallest set of most probable tokens with probability P together"),
    )
    sampling.add_argument(
        "--seed", type=whole(0, 2**63 - 1), metavar="N", help=_("of the random numbers, anew for each line (default 0)")
    )


def sampling_of(options: argparse.Namespace) -> Sampling | None:
    """Sampling as the options ask for, or None. Raises SamplingError, CommandError."""
    given = {name: getattr(options, name) for name in SAMPLING if getattr(options, name) is not None}
    if given and (options.n_best or (options.beam or 1) > 1):
        raise CommandError("sampling has no beams; leave out --beam and --n-best, or the options of sampling")
    return Sampling(**given) if given else None


def complain(message: str) -> None:
    print(message, file=sys.stderr)


def decoded(lines: Iterable[bytes]) -> Iterator[str]:
    """The lines as text. Bytes that are not UTF-8 become U+FFFD, with a note on stderr."""
    for number, line in enumerate(lines, 1):
        line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            complain(
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
    prefix: str = "",
    sample: Sampling | None = None,
) -> Iterator[tuple[str, str | None]]:
    """For every text, in order, its translation and an error message or None.

    A blank text and a text that is too long give an empty translation, so that the lines still match. prefix: what
    every translation has to begin with; sample: as in `Pretrained.translate`.
    """

    def together(texts: list[str]) -> list[str]:
        prefixes = [prefix] * len(texts) if prefix else None
        return model.translate_all(texts, beams, alpha, interventions=interventions, prefixes=prefixes, sample=sample)

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
            yield from zip(together(chunk), wrong, strict=True)
        except InterventionError:  # a switch hides all of a short line: translate one by one to find it
            for index, text in enumerate(chunk):
                try:
                    (translation,) = together([text])
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
    prefix: str = "",
    sample: Sampling | None = None,
) -> int:
    """Translate source to target line by line. Returns 1 if a line could not be translated, else 0."""
    status = 0
    results = translations(model, decoded(source), batch, beams, alpha, interventions, prefix, sample)
    for count, (text, wrong) in enumerate(results, 1):
        if wrong:
            complain(wrong)
            status = 1
        target.write(" ".join(text.splitlines()).encode("utf-8", "replace") + b"\n")
        if count % batch == 0:
            target.flush()
    target.flush()
    return status


def write_n_best(
    model: Pretrained,
    source: BinaryIO,
    target: BinaryIO,
    count: int,
    beams: int,
    alpha: float | None,
    interventions: Interventions = NONE,
    prefix: str = "",
) -> int:
    """Up to `count` translations of every line: its number, the sum of log-probabilities, the text; none for a blank
    line. Returns 1 if a line could not be translated, else 0."""
    status = 0
    for number, text in enumerate(decoded(source), 1):
        try:
            found = model.n_best(text, beams, alpha, interventions=interventions, prefix=prefix) if text.strip() else []
        except (InputError, InterventionError) as error:
            complain(_("line {number}: not translated, {error}", number=number, error=error))
            found, status = [], 1
        for one in found[:count]:
            target.write(f"{number}\t{one.score:.4f}\t{' '.join(one.text.splitlines())}\n".encode("utf-8", "replace"))
        target.flush()
    return status


def run(options: argparse.Namespace) -> int:
    interventions = switches(options)
    sample = sampling_of(options)
    beams, alpha = search(options)
    if options.n_best:
        beams = max(options.beam or 0, options.n_best, 2)
    model = load(options.checkpoint, find_device(options.device))
    interventions.check(model.config)
    model.beginning(options.prefix, model.token_limit())
    source, target = sys.stdin.buffer, sys.stdout.buffer
    if options.n_best:
        return write_n_best(model, source, target, options.n_best, beams, alpha, interventions, options.prefix)
    batch = 1 if sys.stdin.isatty() else options.batch
    return write(model, source, target, batch, beams, alpha, interventions, options.prefix, sample)
