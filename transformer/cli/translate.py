"""Translate the lines of standard input, one translation per line."""

import argparse
import itertools
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from transformer.cli import common
from transformer.inference.pretrained import InputError, Pretrained, Translation, load
from transformer.inference.sampling import Sampling
from transformer.inference.search import output_limit
from transformer.interventions.sets import NONE, InterventionError, Interventions
from transformer.texts import N_, _

SUMMARY = N_("Translate the lines of standard input, one translation per line.")
SAMPLING = ("temperature", "top_k", "top_p", "seed")


def add(parser: argparse.ArgumentParser) -> None:
    common.add_checkpoint(parser)
    common.add_search(parser)
    common.add_switches(parser)
    common.add_device(parser)
    parser.add_argument(
        "--batch",
        type=common.whole(1, 100_000),
        default=256,
        metavar="N",
        help=_("lines to translate together (default 256; 1 when you type)"),
    )
    parser.add_argument("--prefix", default="", metavar="TEXT", help=_("what every translation has to begin with"))
    parser.add_argument(
        "--n-best",
        type=common.whole(1, 64),
        metavar="N",
        help=_(
            "N different translations of each line, best first, as NUMBER<tab>LOG P<tab>SCORE<tab>TEXT; SCORE is log P "
            "divided by the length penalty (default --beam N)"
        ),
    )
    sampling = parser.add_argument_group(
        _("sampling"), _("any of these draws each token by its probability instead of taking the most probable one")
    )
    sampling.add_argument(
        "--temperature",
        type=common.above_zero,
        metavar="T",
        help=_("divide the logits by T; below 1 likely tokens are likelier"),
    )
    sampling.add_argument(
        "--top-k",
        type=common.whole(0, 1_000_000),
        metavar="K",
        help=_("draw from the K most probable tokens; 0: from all"),
    )
    sampling.add_argument(
        "--top-p",
        type=common.above_zero,
        metavar="P",
        help=_("draw from the smallest set of most probable tokens with probability P together"),
    )
    sampling.add_argument(
        "--seed",
        type=common.whole(0, 2**63 - 1),
        metavar="N",
        help=_("of the random numbers, anew for each line (default 0)"),
    )


def sampling_of(options: argparse.Namespace) -> Sampling | None:
    """Sampling as the options ask for, or None. Raises SamplingError, CommandError."""
    given = {name: getattr(options, name) for name in SAMPLING if getattr(options, name) is not None}
    if given and (options.n_best or (options.beam or 1) > 1):
        raise common.CommandError("sampling has no beams; leave out --beam and --n-best, or the options of sampling")
    return Sampling(**given) if given else None


def decoded(lines: Iterable[bytes]) -> Iterator[str]:
    """The lines as text. Bytes that are not UTF-8 become U+FFFD, with a note on stderr."""
    for number, line in enumerate(lines, 1):
        line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            common.complain(
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
    beam: int = 1,
    alpha: float | None = None,
    interventions: Interventions = NONE,
    prefix: str = "",
    sample: Sampling | None = None,
    n: int | None = None,
) -> Iterator[tuple[list[Translation], str | None]]:
    """For every text, in order, its translations, one unless n is given, and an error message or None; arguments as in
    `translate_all` and `n_best_all`.

    A text that is too long has an empty translation, so that the lines still match. prefix: what every translation has
    to begin with. Raises NotFiniteError.
    """

    def together(texts: list[str]) -> list[list[Translation]]:
        prefixes = [prefix] * len(texts) if prefix else None
        if n is not None:
            return model.n_best_all(texts, beam, alpha, interventions=interventions, n=n, prefixes=prefixes)
        found = model.translate_all(texts, beam, alpha, interventions=interventions, prefixes=prefixes, sample=sample)
        return [[one] for one in found]

    first = 1  # number of the chunk's first line
    texts = iter(texts)
    while chunk := list(itertools.islice(texts, batch)):
        wrong: list[str | None] = [None] * len(chunk)
        for index, text in enumerate(chunk):
            try:
                source = model.encode(text)
                model.pad(source, interventions)
                model.beginning(prefix, output_limit(model.model, len(source), model.output_limit(interventions)))
            except InputError as error:
                chunk[index] = ""
                if error.tokens:
                    wrong[index] = _not_translated(first + index, error)
        try:
            yield from zip(together(chunk), wrong, strict=True)
        except InterventionError:  # a switch does not fit a line, such as a short one: find it
            for index, text in enumerate(chunk):
                found = [Translation()]
                try:
                    (found,) = together([text])
                except InterventionError as error:
                    wrong[index] = _not_translated(first + index, error)
                yield found, wrong[index]
        first += len(chunk)


def _not_translated(number: int, error: Exception) -> str:
    return _("line {number}: not translated, {error}", number=number, error=error)


def write(
    model: Pretrained,
    source: BinaryIO,
    target: BinaryIO,
    batch: int,
    beam: int,
    alpha: float | None,
    interventions: Interventions = NONE,
    prefix: str = "",
    sample: Sampling | None = None,
    n_best: int | None = None,
) -> int:
    """Translate source to target line by line. Returns 1 if a line could not be translated, else 0.

    n_best: write so many translations of every line with a token, each as its number, the sum of log-probabilities, the
    same divided by the length penalty, the text.
    """
    status = 0
    results = translations(model, decoded(source), batch, beam, alpha, interventions, prefix, sample, n_best)
    for number, (found, wrong) in enumerate(results, 1):
        if wrong:
            common.complain(wrong)
            status = 1
        if not any(one.complete for one in found):
            common.complain(
                _(
                    "line {number}: the translation did not end within {limit} tokens and was cut off",
                    number=number,
                    limit=len(found[0].tokens),
                )
            )
        texts = [" ".join(one.text.splitlines()) for one in found]
        if n_best is None:
            lines = texts
        else:
            lines = [
                f"{number}\t{one.score:.4f}\t{one.normalised:.4f}\t{text}"
                for one, text in zip(found, texts, strict=True)
                if one.tokens
            ]
        target.write("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
        if number % batch == 0:
            target.flush()
    target.flush()
    return status


def run(options: argparse.Namespace) -> int:
    interventions = common.switches(options)
    sample = sampling_of(options)
    beam, alpha = common.search(options)
    if options.n_best:
        beam = max(options.beam or 0, options.n_best, 2)
    model = load(options.checkpoint, common.find_device(options.device))
    interventions.check(model.config)
    model.beginning(options.prefix, model.token_limit())
    source, target = sys.stdin.buffer, sys.stdout.buffer
    batch = 1 if sys.stdin.isatty() else options.batch
    return write(model, source, target, batch, beam, alpha, interventions, options.prefix, sample, options.n_best)
