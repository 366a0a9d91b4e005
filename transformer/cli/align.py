"""Align the words of sentence pairs by cross-attention: lines SOURCE<tab>TARGET in, Pharaoh lines out."""

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import astuple
from functools import partial
from pathlib import Path

from transformer.analysis.alignment import READINGS, AlignmentError, Gold, Score, pharaoh, read_gold, read_links
from transformer.cli import common
from transformer.cli.corpus import add_corpus, corpus_of, run_over
from transformer.cli.translate import decoded
from transformer.corpus.reading import Corpus, open_corpus
from transformer.corpus.shards import Shards
from transformer.corpus.tasks import job
from transformer.files import read_text, reading_file
from transformer.inference.pretrained import InputError, Pretrained, load
from transformer.interventions.sets import layers_of
from transformer.probing.alignment import (
    BACK,
    MEASURES,
    AlignmentScores,
    Source,
    align,
    both_ways,
    measure_alignment,
    symmetric,
    to_json,
)
from transformer.probing.probes import LARGEST, direction, gold_pairs, opposite
from transformer.texts import N_, _, pad

FORMATS = ("text", "parquet")
SUMMARY = N_(
    "Align the words of sentence pairs by cross-attention: lines SOURCE<tab>TARGET in, lines of links 0-0 1-2 out."
)


def add(parser: argparse.ArgumentParser) -> None:
    common.add_checkpoint(parser)
    parser.add_argument("--layer", type=common.whole(1), metavar="N", help=_("layer of the cross-attention, from 1"))
    parser.add_argument(
        "--head",
        type=common.whole(1),
        metavar="N",
        help=_(
            "head of this layer, from 1; without it the mean of the layer. Without both, the head with the smallest "
            "error on the built-in pairs (English to German, Korean to English), otherwise the mean of all heads"
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
        help=_(
            "print the alignment error rate, precision and recall of every head on pairs aligned by hand: those of "
            "--gold, or the built-in ones (English to German, Korean to English)"
        ),
    )
    parser.add_argument(
        "--gold",
        type=Path,
        metavar="FILE",
        help=_(
            "with --score: lines SOURCE<tab>TARGET<tab>LINKS; or lines of LINKS alone, whose pairs SOURCE<tab>TARGET "
            "come from standard input. Sure links i-j, possible ones i?j or ipj; words and punctuation marks count "
            "from 0"
        ),
    )
    parser.add_argument("--from-one", action="store_true", help=_("the links of --gold count from 1"))
    common.add_json(
        parser, _("with --score: also write the numbers to this file; the page Head roles shows alignment.json")
    )
    parser.add_argument(
        "--reverse",
        metavar="NAME",
        help=_(
            "a model of the opposite direction: write the links that both models agree on, grown by neighbouring links "
            "of either one (grow-diag, Koehn et al. 2003). It is read by the mean of all heads, token predicted"
        ),
    )
    common.add_device(parser)
    add_corpus(parser, _("default: standard input"))
    parser.add_argument("--format", choices=FORMATS, default="text", help=_("of the shards (default text)"))


def reverse_of(model: Pretrained, options: argparse.Namespace) -> Pretrained | None:
    """The model of --reverse. Raises CommandError if it does not translate the other way."""
    if not options.reverse:
        return None
    other = load(options.reverse, common.find_device(options.device))
    if not opposite(model.languages, other.languages):
        raise common.CommandError(
            "{name} translates from {source} to {target}; --reverse needs a model from {target_of} to {source_of}",
            name=other.name, source=other.languages[0], target=other.languages[1], source_of=model.languages[0],
            target_of=model.languages[1],
        )  # fmt: skip
    return other


def chosen(model: Pretrained, options: argparse.Namespace) -> Source:
    """The map that the options ask for. Raises CommandError for a layer or head that the model lacks."""
    config, measure = model.config, options.measure or MEASURES[0]
    for name, most in (("layer", config.decoder_layers), ("head", config.heads)):
        value = getattr(options, name)
        if value is not None and not 1 <= value <= most:
            raise common.CommandError(
                "--{name} is {value}; this model has {most}, counted from 1", name=name, value=value, most=most
            )
    if options.head and not options.layer:
        raise common.CommandError("--head needs --layer; give both, or neither")
    golds = gold_pairs(direction(model.languages))
    if options.layer is None and golds:
        scores = measure_alignment(model, golds, [measure])
        readings = [options.reading] if options.reading else list(READINGS)
        heads = [scores.winner(measure, reading=reading) for reading in readings]
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


def place_of(source: Source) -> str:
    if source.layer is None:
        return _("mean of all heads")
    if source.head is None:
        return _("layer {layer}", layer=source.layer + 1)
    return _("layer {layer}, head {head}", layer=source.layer + 1, head=source.head + 1)


def numbers(one: Score) -> str:
    return f"{100 * one.aer:8.1f}{100 * one.precision:11.1f}{100 * one.recall:8.1f}{one.links:8}"


def details(found: AlignmentScores, sources: Iterable[Source]) -> str:
    """A line for each of these maps: error rate, precision and recall in percent, number of links."""
    titles = (("AER", 8), (_("precision"), 11), (_("recall"), 8), (_("links"), 8))
    lines = [" " * 47 + "".join(pad(title, width, right=True) for title, width in titles)]
    for source in sources:
        one = found.scores[source]
        name = f"{place_of(source)}, {source.measure}, {source.reading}"
        lines.append(f"  {pad(name, 45)}{numbers(one)}")
    return "\n".join(lines)


def read_pairs_and_links(path: Path, first: int) -> list[Gold]:
    """The pairs of --gold, whose links count from 0 or 1. Raises CommandError."""
    try:
        with reading_file(path, common.CommandError):
            text = read_text(path, LARGEST).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise common.CommandError(
            "{file} is not UTF-8 text (byte {byte}); save it as UTF-8", file=path, byte=error.start
        ) from error
    read: Callable[..., list[Gold]] = read_gold
    if "\t" not in text:
        pairs = []
        for number, line in enumerate(decoded(sys.stdin.buffer), 1):
            source, tab, target = line.partition("\t")
            if not tab:
                raise common.CommandError(
                    "line {number} of standard input has no tab; {file} has links only, so write its pairs there as "
                    "SOURCE<tab>TARGET",
                    number=number,
                    file=path,
                )
            pairs.append((source, target))
        read = partial(read_links, pairs=pairs)
    try:
        return read(text, first=first)
    except AlignmentError as error:
        with contextlib.suppress(AlignmentError):
            if not first and read(text, first=1):
                raise common.CommandError(
                    "{file}: the links fit only if words count from 1; add --from-one", file=path
                ) from error
        raise common.CommandError("{file}: {error}", file=path, error=error) from error


def show_scores(model: Pretrained, options: argparse.Namespace) -> int:
    golds = gold_pairs(direction(model.languages))
    if options.gold is not None:
        golds = tuple(read_pairs_and_links(options.gold, int(options.from_one)))
    elif not golds:
        raise common.CommandError(
            "{name} translates from {source} to {target}, but the built-in pairs are English to German and Korean to "
            "English; give pairs of your own with --gold",
            name=model.name,
            source=model.languages[0],
            target=model.languages[1],
        )
    asked = [] if options.layer is None else [chosen(model, options)]
    reverse = reverse_of(model, options)
    found = measure_alignment(model, golds)
    if found.pairs < len(golds):
        common.complain(
            _(
                "{left} of {count} pairs are left out: they are blank or too long for the model",
                left=len(golds) - found.pairs,
                count=len(golds),
            )
        )
    print(table(found, layers_of(model.config, "cross"), model.config.heads))
    best = [found.winner(measure, reading=reading) for measure in MEASURES for reading in READINGS]
    print(f"\n{_('the best heads in percent')}\n{details(found, dict.fromkeys([*asked, *best]))}")
    if reverse is not None:
        one = symmetric(model, asked[0] if asked else found.winner(single=False), reverse, BACK, golds)
        name = _("symmetrised with {model}", model=reverse.name)
        print(f"  {pad(name, 45)}{numbers(one)}")
    common.write_json(options, to_json(found))
    return 0


def over_corpus(
    model: Pretrained, reverse: Pretrained | None, source: Source, corpus: Corpus, options: argparse.Namespace
) -> int:
    """The links of --data, to standard output or to the shards of --output."""
    models = [(options.checkpoint, model), *([] if reverse is None else [(options.reverse, reverse)])]
    task = job("align", models, options.device, source=list(astuple(source)))
    shards = Shards(options.output, task, corpus, options.format) if options.output else None
    found = run_over(task, corpus, corpus.chunks(), options, shards)
    if shards is not None:
        shards.write(found)
        return int(shards.broken())
    status = 0
    for _chunk, value, broken in found:
        print(*value["links"], sep="\n", flush=True)
        status |= bool(broken)
    return status


def run(options: argparse.Namespace) -> int:
    if options.from_one and not options.gold:
        raise common.CommandError("--from-one needs --gold; give both, or neither")
    corpus = corpus_of(options.data, options) or (open_corpus(options.data) if options.data else None)
    model = load(options.checkpoint, common.find_device(options.device))
    if options.score:
        if corpus is not None:
            raise common.CommandError("--score takes its pairs from --gold; leave --data out")
        return show_scores(model, options)
    if options.gold:
        raise common.CommandError("--gold needs --score; give both, or neither")
    reverse, source = reverse_of(model, options), chosen(model, options)
    text = _("links from {place}, {measure}, reading {reading}",
             place=place_of(source), measure=source.measure, reading=source.reading)  # fmt: skip
    common.complain(text)
    if corpus is not None:
        return over_corpus(model, reverse, source, corpus, options)
    status = 0
    for number, line in enumerate(decoded(sys.stdin.buffer), 1):
        text, tab, target = line.partition("\t")
        try:
            if not tab:
                raise common.CommandError("there is no tab; write SOURCE<tab>TARGET")
            (links,) = (
                align(model, [(text, target)], source)
                if reverse is None
                else both_ways(model, [(text, target)], source, reverse, BACK)
            )
            print(pharaoh(links))
        except (InputError, AlignmentError, common.CommandError) as error:
            common.complain(_("line {number}: not aligned, {error}", number=number, error=error))
            print()
            status = 1
    return status
