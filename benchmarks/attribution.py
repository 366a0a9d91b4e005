"""Do the methods of attribution agree, are they faithful, and what do they cost?"""

from __future__ import annotations

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence

import torch

from benchmarks.report import Table, load
from transformer.attribution import METHODS, attribute, removal_curve
from transformer.attribution.agreement import agreement
from transformer.attribution.faithfulness import removable
from transformer.inference.pretrained import Pretrained
from transformer.probing.alignment import gold_pairs

SENTENCES = 50
LEAST = 3  # tokens to rank
RANDOM = "random"


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    """Every token the model writes for the first sentences of the gold alignments, by every method."""
    before = load()
    taus: list[torch.Tensor] = []
    areas: dict[str, list[float]] = defaultdict(list)
    best: dict[str, int] = dict.fromkeys(METHODS, 0)
    seconds = dict.fromkeys(METHODS, 0.0)
    tokens = 0
    for gold in gold_pairs()[: 2 if quick else SENTENCES]:
        trace = model.trace(gold.source, model.translate(gold.source).text)
        for step in range(len(trace.target_out)):
            columns = removable(trace, step)
            if len(columns) < LEAST:
                continue
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
    return [_agreement(taus, tokens, before), _faithfulness(areas, best, seconds, tokens)]


def _agreement(taus: Sequence[torch.Tensor], tokens: int, before: str) -> Table:
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
