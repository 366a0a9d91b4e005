"""Measure what each head is worth: loss and score without it, the gradient's estimate, and pruning."""

import argparse
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from transformer.cli import common
from transformer.cli.corpus import Broken, Progress, add_corpus, corpus_of
from transformer.corpus.reading import Chunk
from transformer.corpus.running import computed
from transformer.corpus.shards import Shards, values_of
from transformer.corpus.tasks import job
from transformer.inference.pretrained import load
from transformer.interventions.sets import layers_of
from transformer.probing.importance import ORDERS, Effect, Survey, Unit, survey, to_json
from transformer.texts import N_, _, pad, translate
from transformer.tracing.trace import KINDS

SUMMARY = N_("Measure what each head is worth: loss and score without it, the gradient's estimate, and pruning.")
SENTENCES = 100
NAMES = {
    "least": N_("least important first"),
    "most": N_("most important first"),
    "random": N_("random order, mean of {count}"),
}
LEGEND = N_(
    """\
Without each head: change of the loss in nats per target token, and of the score of greedy translations (BLEU; for a toy
task exact matches in percent) with its 95% interval (paired bootstrap); first with the head's output at 0, then at its
mean; last the gradient's estimate (Michel et al. 2019)."""
)


def add(parser: argparse.ArgumentParser) -> None:
    common.add_checkpoint(parser)
    parser.add_argument(
        "--sentences", type=common.whole(1, 5_000), default=SENTENCES, metavar="N",
        help=_("how many of the pairs (default {count})", count=SENTENCES),
    )  # fmt: skip
    parser.add_argument("--no-pruning", action="store_true", help=_("leave the pruning curves out"))
    common.add_device(parser)
    add_corpus(parser, _("default for English to German, Korean to English and toy tasks: built-in pairs"))
    common.add_json(
        parser,
        _("also write the numbers to this file; the page Head roles shows importance.json in a checkpoint's folder"),
    )


def _numbers(effect: Effect) -> str:
    score = "" if effect.score is None else f"{effect.score:+.1f}"
    interval = "" if effect.low is None else f"{effect.low:+.1f} .. {effect.high:+.1f}"
    return f"{effect.loss:+9.4f}{score:>8}{interval:>16}"


def table(found: Survey) -> str:
    """A line for each head, the one that matters most first; then sub-layers and layers; then pruning."""

    def right(*titles: tuple[str, int]) -> str:
        return "".join(pad(title, width, right=True) for title, width in titles)

    metric = _("exact") if found.metric == "exact" else found.metric
    lines = [
        _(
            "{count} sentence pairs, loss {loss:.3f}, {metric} {score:.1f}",
            count=found.sentences,
            loss=found.loss,
            metric=metric,
            score=found.score,
        )
    ]
    lines.append(" " * 22 + right((_("at 0"), 33), (_("at its mean"), 33)))
    ways = ((_("loss"), 9), (metric, 8), ("95%", 16))
    lines.append(" " * 22 + right(*ways, *ways, (_("gradient"), 10)))
    names = [*reversed(found.order), *sorted(found.parts, key=lambda name: -found.parts[name].loss)]
    for name in names:
        cells = _numbers(found.heads.get(name) or found.parts[name])
        if name in found.means:
            cells += f"{_numbers(found.means[name])}{found.gradient[name]:10.3f}"
        lines.append(f"  {name:20}{cells}".rstrip())
    rho = found.agreement()
    if math.isnan(rho):
        lines.append("  " + _("no rank correlation of gradient and loss: one of them is the same for all heads"))
    else:
        lines.append("  " + _("rank correlation of gradient and loss: {rho:.2f}", rho=rho))
    for order in ORDERS:
        curves = found.curves[order]
        if curves:
            scores = [sum(values) / len(curves) for values in zip(*(curve.score for curve in curves), strict=True)]
            shown = " ".join(f"{left}:{score:.1f}" for left, score in zip(curves[0].left, scores, strict=True))
            lines.append(f"  {translate(NAMES[order], count=len(curves))}: {shown}")
    return "\n".join(lines)


def run(options: argparse.Namespace) -> int:
    model = load(options.checkpoint, common.find_device(options.device))
    if options.output and not options.data:
        raise common.CommandError("--output needs --data; name a file or a folder there")
    corpus, complain = corpus_of(options.data, options) if options.data else None, Broken()
    pairs = common.sentence_pairs(model, options.data) if corpus is None else corpus.pairs(complain)
    pairs = list(itertools.islice(pairs, options.sentences))
    if not any(layers_of(model.config, kind) for kind in KINDS):
        raise common.CommandError("{name} has no layer, so there is no head to measure", name=model.name)

    many = any(value is not None for value in (options.output, options.workers, options.scheduler))
    task = job("importance", [(options.checkpoint, model)], options.device, pairs=pairs)
    shards = Shards(options.output, task, corpus, "json", 1) if corpus and options.output else None
    given = 0  # units

    def over(units: Sequence[Unit]) -> Iterator[Any]:
        """The units on several processes."""
        nonlocal given
        first, given = given, given + len(units)
        chunks = [Chunk(first + number, "", 1, unit, number + 1) for number, unit in enumerate(units)]
        found = computed(task, chunks, shards, options.workers or 1, options.scheduler, Progress(len(units)))
        return itertools.islice(values_of(found, shards, first), len(units))

    found = survey(
        model, pairs, curves=not options.no_pruning, progress=common.show_progress, over=over if many else None
    )
    print(f"{translate(LEGEND)}\n\n{table(found)}")
    common.write_json(options, to_json(found))
    return complain.status
