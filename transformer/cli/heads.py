"""Measure what each head attends to: the previous, same or next token, or the aligned word; and how sharply."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer.analysis.heads import OFFSETS, HeadStatistics, head_statistics, read_word_list
from transformer.cli.common import CommandError, add_checkpoint, add_device, find_device, read
from transformer.files import read_text, write_whole
from transformer.inference.pretrained import InputError, load
from transformer.probing.probes import PROBES, english_to_german
from transformer.texts import N_, _, translate
from transformer.tracing.trace import Trace

SUMMARY = N_(
    "Measure what each head attends to: the previous, same or next token, or the aligned word; and how sharply."
)
POSITIONAL, ALIGNED = 0.9, 0.75
LARGEST_WORDS = 50_000_000  # bytes
TITLES = {
    "encoder_self": N_("encoder self-attention"),
    "decoder_self": N_("decoder self-attention"),
    "cross": N_("cross-attention"),
}
TARGETS = {"previous": N_("previous"), "same": N_("same"), "next": N_("next"), "aligned": N_("aligned")}


def add(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser)
    parser.add_argument(
        "--data",
        type=Path,
        nargs="+",
        metavar="FILE",
        help=_("sentence pairs with their targets (default for English to German: 120 built-in pairs)"),
    )
    parser.add_argument(
        "--words",
        type=Path,
        metavar="FILE",
        help=_("lines SOURCE WORD<tab>TARGET WORDS for the alignment (default: the list of the built-in pairs)"),
    )
    add_device(parser)
    parser.add_argument("--json", type=Path, metavar="FILE", help=_("also write the numbers to this file"))


def best(statistics: HeadStatistics, layer: int, head: int) -> tuple[str, float]:
    """What the head attends to most often (previous, same, next or aligned), and its share of rows."""
    shares = {name: float(getattr(statistics, name)[layer, head].nan_to_num(0)) for name in (*OFFSETS, "aligned")}
    name = max(shares, key=lambda key: shares[key])
    return name, shares[name]


def table(statistics: HeadStatistics) -> str:
    """One line per layer; for every head what it attends to most, in percent, and its mean entropy."""
    layers, heads = statistics.entropy.shape
    lines = [
        _(
            "{title}: {rows:,} rows, mean entropy {entropy:.2f} (0: one key, 1: all keys equally)",
            title=translate(TITLES[statistics.kind]),
            rows=statistics.rows,
            entropy=statistics.entropy.mean(),
        )
    ]
    for layer in range(layers):
        cells = []
        for head in range(heads):
            name, share = best(statistics, layer, head)
            cells.append(f"{translate(TARGETS[name]):>8} {100 * share:3.0f}% {statistics.entropy[layer, head]:.2f}")
        lines.append("  ".join(["", _("layer {layer}", layer=layer + 1), *cells]))
    positional = statistics.positional(POSITIONAL)
    lines.append(
        "  "
        + _(
            "{count} of {heads} heads attend to the same offset in 90% or more of the rows",
            count=positional,
            heads=layers * heads,
        )
    )
    if statistics.links:
        aligned = int((statistics.aligned >= ALIGNED).sum())
        lines.append(
            "  "
            + _(
                "{count} agree with the word list in 75% or more of its {links:,} links",
                count=aligned,
                links=statistics.links,
            )
        )
    return "\n".join(lines)


def to_dict(statistics: HeadStatistics) -> dict[str, Any]:
    """The numbers with four decimals; NaN, where nothing could be measured, as None."""

    def plain(values: Tensor) -> list[list[float | None]]:
        return [[None if value != value else round(value, 4) for value in row] for row in values.tolist()]

    names = (*OFFSETS, "entropy", "aligned")
    columns = {name: plain(getattr(statistics, name)) for name in names}
    return {**columns, "rows": statistics.rows, "links": statistics.links}


def run(options: argparse.Namespace) -> int:
    model = load(options.checkpoint, find_device(options.device))
    if options.data is None and not english_to_german(model):
        raise CommandError(
            "{name} translates from {source} to {target}, but the built-in sentences are English and "
            "German; give a file of sentence pairs with --data",
            name=model.name,
            source=model.languages[0],
            target=model.languages[1],
        )
    words_file = options.words or (PROBES / "en-de.words.tsv" if options.data is None else None)
    words = None
    if words_file:
        try:
            words = read_word_list(read_text(words_file, LARGEST_WORDS))
        except ValueError as error:
            raise CommandError(
                "{words_file}: {error}; write each line as SOURCE WORD<tab>TARGET WORDS",
                words_file=words_file,
                error=error,
            ) from error
    pairs = read(options.data or [PROBES / "en-de.tsv"])

    def traces() -> Iterator[Trace]:  # one at a time: a trace keeps every tensor of its pass
        for number, (source, target) in enumerate(pairs, 1):
            try:
                yield model.trace(source, target)
            except InputError as error:
                raise CommandError("pair {number}: {error}", number=number, error=error) from error

    by_kind = head_statistics(traces(), words)
    print("\n\n".join(map(table, by_kind.values())))
    if options.json:
        kinds = {kind: to_dict(statistics) for kind, statistics in by_kind.items()}
        about = {"checkpoint": model.name, "pairs": len(pairs), **kinds}
        write_whole(options.json, (json.dumps(about) + "\n").encode())
    return 0
