"""Do the methods of attribution agree, are they faithful, what do they cost? Integrated gradients beside captum's."""

import importlib
import importlib.metadata
import math
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from benchmarks.report import Table, load
from transformer.attribution import METHODS, Contributions, attribute, removal_curve
from transformer.attribution.agreement import agreement
from transformer.attribution.faithfulness import removable
from transformer.attribution.gradients import SIDES, completeness, integrated_gradients
from transformer.inference.pretrained import Pretrained
from transformer.model.tap import EditingTap
from transformer.probing.probes import gold_pairs
from transformer.tracing.trace import Trace

SENTENCES, TOKENS = 50, 3  # of every sentence
LEAST = 3  # tokens to rank
RANDOM = "random"
FIXED = 64  # points, for the same integral by captum


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    """Some of the tokens that the model writes for the first sentences of the gold alignments, by every method."""
    before = load()
    sentences = [gold.source for gold in gold_pairs()[: 2 if quick else SENTENCES]]
    taus: list[Tensor] = []
    areas: dict[str, list[float]] = defaultdict(list)
    best: dict[str, int] = dict.fromkeys(METHODS, 0)
    seconds = dict.fromkeys(METHODS, 0.0)
    tokens = 0
    for source in sentences:
        trace = model.trace(source)
        for step in chosen_steps(trace):
            columns = removable(trace, step)
            found = {}
            for name in METHODS:
                start = time.perf_counter()
                found[name] = attribute(model, trace, name, [step])
                seconds[name] += time.perf_counter() - start
            taus.append(agreement([one.joined()[step][columns] for one in found.values()]))
            curves = removal_curve(model, trace, step, found)
            for name, curve in curves.items():
                areas[name].append(curve.area)
            best[min(METHODS, key=lambda name: curves[name].area)] += 1
            tokens += 1
    tables = [_agreement(taus, tokens, before), _faithfulness(areas, best, seconds, tokens)]
    return [*tables, _integrated(model, sentences[:10])]


def chosen_steps(trace: Trace) -> list[int]:
    """At most TOKENS steps, the first one, the last one and evenly between, that have LEAST tokens to rank."""
    steps = [step for step in range(len(trace.target_out)) if len(removable(trace, step)) >= LEAST]
    if len(steps) <= TOKENS:
        return steps
    return [steps[round(index * (len(steps) - 1) / (TOKENS - 1))] for index in range(TOKENS)]


def _agreement(taus: Sequence[Tensor], tokens: int, before: str) -> Table:
    mean = torch.stack(list(taus)).nanmean(0)
    table = Table("Agreement of the methods: Kendall's tau", ("", *METHODS), before)
    for row, name in enumerate(METHODS):
        table.add(name, *(f"{value:.2f}" for value in mean[row].tolist()))
    table.notes.append(f"Mean over {tokens} tokens that the model wrote; 1 is the same order of all tokens, 0 none.")
    return table


def _faithfulness(areas: dict[str, list[float]], best: dict[str, int], seconds: dict[str, float], tokens: int) -> Table:
    table = Table(
        "Faithfulness: the token's probability while tokens are removed, the most important first",
        ("method", "mean height of the curve", "against random order", "lowest of all", "ms for one token"),
    )
    for name in sorted(areas, key=lambda name: statistics.fmean(areas[name])):
        gaps = [one - other for one, other in zip(areas[name], areas[RANDOM], strict=True)]
        spread = statistics.stdev(gaps) / math.sqrt(len(gaps)) if len(gaps) > 1 else math.nan
        table.add(
            name,
            f"{statistics.fmean(areas[name]):.3f}",
            "" if name == RANDOM else f"{statistics.fmean(gaps):+.3f} ± {spread:.3f}",
            "" if name == RANDOM else f"{best[name] / tokens:.0%}",
            "" if name == RANDOM else f"{seconds[name] / tokens * 1e3:.0f}",
        )
    table.notes.append("Smaller is more faithful. ±: standard error over tokens. Random: the mean of ten orders.")
    return table


def captum_contributions(model: Pretrained, trace: Trace, step: int, points: int) -> Tensor:
    """The same integral by captum, [source + target]; float64."""
    captum: Any = importlib.import_module("captum.attr")

    def log_prob(*embeddings: Tensor) -> Tensor:
        source, fed = (torch.tensor([ids] * len(embeddings[0])) for ids in (trace.source_ids, trace.target_in_ids))
        edits = {f"{side}.embedding": lambda _, one=one: one for side, one in zip(SIDES, embeddings, strict=True)}
        logits = model.model(source, fed, EditingTap(edits))
        return logits.log_softmax(-1)[:, step, trace.target_out_ids[step]]

    inputs = tuple(one[None].clone() for one in (trace.source_embedding, trace.target_embedding))
    with torch.inference_mode(False):
        found = captum.IntegratedGradients(log_prob).attribute(inputs, n_steps=points, method="gausslegendre")
    return torch.cat([one[0].double().sum(-1) for one in found])


def _integrated(model: Pretrained, sources: Sequence[str]) -> Table:
    """Errors of the sum for one token of each sentence, and how far captum's numbers are from ours."""
    table = Table(
        "Integrated gradients: how far their sum is from ln p - ln p with embeddings of 0",
        ("", "mean error", "largest error", "s for one token"),
    )
    ways: dict[str, Callable[[Trace, int], Tensor]] = {
        "ours, as many points as the token needs": lambda trace, step: _row(
            integrated_gradients(model, trace, [step]), step
        ),
        f"ours, {FIXED} points": lambda trace, step: _row(integrated_gradients(model, trace, [step], FIXED), step),
    }
    try:
        version = importlib.metadata.version("captum")
    except importlib.metadata.PackageNotFoundError:
        table.notes.append("captum is not installed, so there is nothing to compare with.")
    else:
        importlib.import_module("captum.attr")  # not on the clock
        ways |= {
            f"captum {version}, {points} points": lambda trace, step, points=points: captum_contributions(
                model, trace, step, points
            )
            for points in (FIXED, 50, 256)
        }
    errors: dict[str, list[float]] = defaultdict(list)
    seconds: dict[str, float] = defaultdict(float)
    apart = 0.0
    for source in sources:
        trace = model.trace(source)
        steps = chosen_steps(trace)
        step = steps[len(steps) // 2]
        rows = {}
        for name, compute in ways.items():
            start = time.perf_counter()
            rows[name] = compute(trace, step)
            seconds[name] += time.perf_counter() - start
        wanted = float(completeness(model, trace, integrated_gradients(model, trace, [step], 1))[1][step])
        for name, row in rows.items():
            errors[name].append(abs(float(row.sum()) - wanted) / abs(wanted))
        same = [row for name, row in rows.items() if name.endswith(f" {FIXED} points")]
        apart = max(apart, float((same[0] - same[-1]).abs().max()))
    for name, values in errors.items():
        each = seconds[name] / len(sources)
        table.add(name, f"{statistics.fmean(values):.2%}", f"{max(values):.2%}", f"{each:.2f}")
    if len(ways) > 2:
        table.notes.append(
            f"{len(sources)} tokens, one a sentence. With {FIXED} points both give the same contributions: the largest "
            f"difference is {apart:.0e} nats. captum's default is 50 points."
        )
    return table


def _row(found: Contributions, step: int) -> Tensor:
    return found.joined()[step]
