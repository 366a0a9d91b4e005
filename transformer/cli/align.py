"""Align the words of sentence pairs by cross-attention: lines SOURCE<tab>TARGET in, Pharaoh lines out."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from transformer.analysis.alignment import READINGS, AlignmentError, Score, pharaoh
from transformer.cli.common import CommandError, add_checkpoint, add_device, find_device
from transformer.cli.translate import complain, decoded
from transformer.files import write_whole
from transformer.inference.pretrained import InputError, Pretrained, load
from transformer.interventions.sets import layers_of
from transformer.probing.alignment import (
    MEASURES,
    AlignmentScores,
    Source,
    align,
    gold_pairs,
    measure_alignment,
    to_json,
)
from transformer.probing.probes import english_to_german
from transformer.texts import N_, _

SUMMARY = N_(
    "Align the words of sentence pairs by cross-attention: lines SOURCE<tab>TARGET in, lines of links 0-0 1-2 out."
)


def add(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser)
    parser.add_argument("--layer", type=int, metavar="N", help=_("layer of the cross-attention, from 1"))
    parser.add_argument(
        "--head",
        type=int,
        metavar="N",
        help=_(
            "head of this layer, from 1; without it the mean of the layer. Without both, the single head with the "
            "smallest error on the built-in pairs (English to German), otherwise the mean of all heads"
        ),
    )
    parser.add_argument(
        "--reading", choices=READINGS, help=_("read a row by the token it predicts, or by the token it is fed with")
    )
    parser.add_argument(
        "--measure", choices=MEASURES, help=_("the weights (default), or the norm of the weighted vectors")
    )
    parser.add_argument(
        "--score",
        action="store_true",
        help=_("read nothing: print the alignment error rate of every head on the built-in pairs (English to German)"),
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help=_("with --score: also write the numbers to this file; the page Head roles shows alignment.json"),
    )
    add_device(parser)


def chosen(model: Pretrained, options: argparse.Namespace) -> Source:
    """The map that the options ask for. Raises CommandError for a layer or head that the model lacks."""
    config, measure = model.config, options.measure or MEASURES[0]
    for name, most in (("layer", config.decoder_layers), ("head", config.heads)):
        value = getattr(options, name)
        if value is not None and not 1 <= value <= most:
            raise CommandError(
                "--{name} is {value}; this model has {most}, counted from 1", name=name, value=value, most=most
            )
    if options.head and not options.layer:
        raise CommandError("--head needs --layer; give both, or neither")
    if options.layer is None and english_to_german(model):
        scores = measure_alignment(model, gold_pairs(), [measure])
        readings = [options.reading] if options.reading else list(READINGS)
        heads = [one for one in scores.scores if one.head is not None and one.reading in readings]
        return min(heads, key=lambda one: scores.scores[one].aer)
    layer = None if options.layer is None else options.layer - 1
    return Source(measure, options.reading or READINGS[0], layer, None if options.head is None else options.head - 1)


def table(found: AlignmentScores, layers: int, heads: int) -> str:
    """Error rates in percent: for each measure and reading a line for each layer, its heads and their mean."""

    def percent(one: Score) -> str:
        return f"{100 * one.aer:6.1f}"

    lines = [
        _("{pairs} pairs, alignment error rate in percent (Och and Ney 2003); 0 is perfect", pairs=found.pairs),
        _("diagonal {diagonal}, best with one link per word {best}", diagonal=percent(found.diagonal).strip(),
          best=percent(found.best).strip()),
    ]  # fmt: skip
    for measure in MEASURES:
        for reading in READINGS:
            mean = percent(found.scores[Source(measure, reading)]).strip()
            lines += [
                "",
                _("{measure}, {reading}: mean of all heads {mean}", measure=measure, reading=reading, mean=mean),
            ]
            for layer in range(layers):
                cells = [percent(found.scores[Source(measure, reading, layer, head)]) for head in (*range(heads), None)]
                lines.append(f"  {_('layer {layer}', layer=layer + 1)} {''.join(cells[:-1])}  | {cells[-1]}")
    return "\n".join(lines)


def show_scores(model: Pretrained, options: argparse.Namespace) -> int:
    if not english_to_german(model):
        raise CommandError(
            "{name} translates from {source} to {target}, but the built-in pairs are English and German",
            name=model.name,
            source=model.languages[0],
            target=model.languages[1],
        )
    found = measure_alignment(model, gold_pairs())
    print(table(found, layers_of(model.config, "cross"), model.config.heads))
    if options.json:
        write_whole(options.json, (to_json(found) + "\n").encode())
    return 0


def run(options: argparse.Namespace) -> int:
    model = load(options.checkpoint, find_device(options.device))
    if options.score:
        return show_scores(model, options)
    source = chosen(model, options)
    place = _("mean of all heads") if source.layer is None else _("layer {layer}", layer=source.layer + 1)
    if source.head is not None:
        place = _("layer {layer}, head {head}", layer=(source.layer or 0) + 1, head=source.head + 1)
    print(
        _(
            "links from {place}, {measure}, reading {reading}",
            place=place,
            measure=source.measure,
            reading=source.reading,
        ),
        file=sys.stderr,
    )
    status = 0
    for number, line in enumerate(decoded(sys.stdin.buffer), 1):
        text, tab, target = line.partition("\t")
        try:
            if not tab:
                raise CommandError("there is no tab; write SOURCE<tab>TARGET")
            (links,) = align(model, [(text, target)], source)
            print(pharaoh(links))
        except (InputError, AlignmentError, CommandError) as error:
            complain(_("line {number}: not aligned, {error}", number=number, error=error))
            print()
            status = 1
    return status
