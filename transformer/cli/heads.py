"""What every head of a checkpoint looks at: previous, same or next token, the word it translates, and how sharply."""

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
from transformer.tracing.trace import Trace

POSITIONAL, ALIGNED = 0.9, 0.75
LARGEST_WORDS = 50_000_000  # bytes
TITLES = {
    "encoder_self": "encoder self-attention",
    "decoder_self": "decoder self-attention",
    "cross": "cross-attention",
}


def add(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser)
    parser.add_argument(
        "--data",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="sentence pairs, targets as given (default, from English to German: 120 of ours)",
    )
    parser.add_argument(
        "--words",
        type=Path,
        metavar="FILE",
        help="lines SOURCE WORD<tab>TARGET WORDS for the alignment (default: ours, with our sentences)",
    )
    add_device(parser)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there too")


def best(found: HeadStatistics, layer: int, head: int) -> tuple[str, float]:
    """What the head looks at most often, of previous, same, next and the aligned word, and in what share of rows."""
    shares = {name: float(getattr(found, name)[layer, head].nan_to_num(0)) for name in (*OFFSETS, "aligned")}
    name = max(shares, key=lambda key: shares[key])
    return name, shares[name]


def table(found: HeadStatistics) -> str:
    """One line a layer; every head by what it looks at most, in percent, and its mean entropy."""
    layers, heads = found.entropy.shape
    lines = [
        f"{TITLES[found.kind]}: {found.rows:,} rows, mean entropy {found.entropy.mean():.2f} "
        "(0 one key, 1 all keys alike)"
    ]
    for layer in range(layers):
        cells = []
        for head in range(heads):
            name, share = best(found, layer, head)
            cells.append(f"{name:>8} {100 * share:3.0f}% {found.entropy[layer, head]:.2f}")
        lines.append(f"  layer {layer + 1}  " + "  ".join(cells))
    lines.append(f"  {found.positional(POSITIONAL)} of {layers * heads} heads look at one place in 90% of rows or more")
    if found.links:
        aligned = int((found.aligned >= ALIGNED).sum())
        lines.append(f"  {aligned} agree with the word list in 75% or more of its {found.links:,} links")
    return "\n".join(lines)


def to_dict(found: HeadStatistics) -> dict[str, Any]:
    """Numbers to four places; NaN, where nothing could be measured, as None."""

    def plain(values: Tensor) -> list[list[float | None]]:
        return [[None if value != value else round(value, 4) for value in row] for row in values.tolist()]

    names = (*OFFSETS, "entropy", "aligned")
    return {**{name: plain(getattr(found, name)) for name in names}, "rows": found.rows, "links": found.links}


def run(options: argparse.Namespace) -> int:
    model = load(options.checkpoint, find_device(options.device))
    if options.data is None and not english_to_german(model):
        raise CommandError(
            "{name} goes from {languages} to {languages2}, and the sentences of ours from English to "
            "German; name a file of sentence pairs with --data",
            name=model.name,
            languages=model.languages[0],
            languages2=model.languages[1],
        )
    words_file = options.words or (PROBES / "en-de.words.tsv" if options.data is None else None)
    words = None
    if words_file:
        try:
            words = read_word_list(read_text(words_file, LARGEST_WORDS))
        except ValueError as error:
            raise CommandError(
                "{words_file}: {error}; each line is SOURCE WORD<tab>TARGET WORDS", words_file=words_file, error=error
            ) from error
    pairs = read(options.data or [PROBES / "en-de.tsv"])

    def traces() -> Iterator[Trace]:  # one at a time: a trace keeps every tensor of its pass
        for number, (source, target) in enumerate(pairs, 1):
            try:
                yield model.trace(source, target)
            except InputError as error:
                raise CommandError("pair {number}: {error}", number=number, error=error) from error

    found = head_statistics(traces(), words)
    print("\n\n".join(table(one) for one in found.values()))
    if options.json:
        about = {"checkpoint": model.name, "pairs": len(pairs), **{kind: to_dict(one) for kind, one in found.items()}}
        write_whole(options.json, (json.dumps(about) + "\n").encode())
    return 0
