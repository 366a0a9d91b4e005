"""Measure what each head attends to: a neighbouring token, the aligned word or the end token; and how sharply."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from transformer.analysis.heads import READINGS, SHARES, HeadStatistics, head_statistics, read_word_list, to_dict
from transformer.cli.common import CommandError, add_checkpoint, add_device, find_device, read
from transformer.files import read_text, write_whole
from transformer.inference.pretrained import InputError, load
from transformer.probing.probes import PROBES, english_to_german
from transformer.texts import N_, _, translate
from transformer.tracing.trace import Trace

SUMMARY = N_(
    "Measure what each head attends to: a neighbouring token, the aligned word or the end token; and how sharply."
)
POSITIONAL, ALIGNED = 0.9, 0.75
LABELLED = 0.5  # share of rows: a head that does nothing more often than this has no label
LARGEST_WORDS = 50_000_000  # bytes
TITLES = {
    "encoder_self": N_("encoder self-attention"),
    "decoder_self": N_("decoder self-attention"),
    "cross": N_("cross-attention"),
}
LABELS = {
    "previous": N_("previous"),
    "same": N_("same"),
    "next": N_("next"),
    "aligned_out": N_("predicted"),
    "aligned_in": N_("fed in"),
    "resting": N_("end"),
}
LEGEND = N_(
    """\
For each head: what most of its rows have their largest weight on, the share of these rows, and the mean entropy of its
rows (0: one key, 1: all keys equally). "–": nothing below holds in half of its rows.
  previous, same, next   the token before the row's token, the row's token itself, or the token after it
  predicted, fed in      the source word that the word list pairs with the token that the row predicts, or is fed
  end, start             the end token of the source; in the decoder the start token"""
)


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
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help=_(
            "also write the numbers to this file; the explorer shows those of heads.json in the checkpoint's folder"
        ),
    )


def best(statistics: HeadStatistics, layer: int, head: int) -> tuple[str, float]:
    """What the head attends to most often, a field of `HeadStatistics`, and its share of rows."""
    shares = {name: float(getattr(statistics, name)[layer, head].nan_to_num(0)) for name in SHARES}
    name = max(shares, key=lambda key: shares[key])
    return name, shares[name]


def label(statistics: HeadStatistics, layer: int, head: int) -> str:
    """What the head attends to in most rows and its share, "previous  82%"; "–" if there is no such thing."""
    name, share = best(statistics, layer, head)
    if share < LABELLED:
        return f"{'–':>9}     "
    word = _("start") if (name, statistics.kind) == ("resting", "decoder_self") else translate(LABELS[name])
    return f"{word:>9} {100 * share:3.0f}%"


def table(statistics: HeadStatistics) -> str:
    """A line for each layer; for every head its label and its mean entropy."""
    layers, heads = statistics.entropy.shape
    lines = [
        _(
            "{title}: {rows:,} rows, mean entropy {entropy:.2f}",
            title=translate(TITLES[statistics.kind]),
            rows=statistics.rows,
            entropy=statistics.entropy.mean(),
        )
    ]
    names = [_("layer {layer}", layer=layer + 1) for layer in range(layers)]
    wide = max(map(len, names))
    titles = "".join(f"  {_('head {head}', head=head + 1):>19}" for head in range(heads))
    lines.append(" " * (wide + 2) + titles)
    for layer, name in enumerate(names):
        cells = [f"{label(statistics, layer, head)} {statistics.entropy[layer, head]:.2f}" for head in range(heads)]
        lines.append("  ".join(["", name.ljust(wide), *cells]))
    if statistics.kind != "cross":
        positional = statistics.positional(POSITIONAL)
        sentence = _(
            "{count} of {heads} heads attend to the same offset in 90% or more of the rows",
            count=positional,
            heads=layers * heads,
        )
        lines.append(f"  {sentence}")
    elif statistics.links:
        predicted, fed = (int((getattr(statistics, name) >= ALIGNED).sum()) for name in READINGS)
        sentence = _(
            "{count} of {heads} heads align 75% or more of the list's {links:,} links: {predicted} by the token "
            "predicted, {fed} by the token fed in",
            count=int((statistics.aligned() >= ALIGNED).sum()),
            heads=layers * heads,
            links=statistics.links,
            predicted=predicted,
            fed=fed,
        )
        lines.append(f"  {sentence}")
    return "\n".join(lines)


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
    print("\n\n".join([translate(LEGEND), *map(table, by_kind.values())]))
    if options.json:
        kinds = {kind: to_dict(statistics) for kind, statistics in by_kind.items()}
        about = {"checkpoint": model.name, "pairs": len(pairs), **kinds}
        write_whole(options.json, (json.dumps(about) + "\n").encode())
    return 0
