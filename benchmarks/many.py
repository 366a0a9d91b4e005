"""Work over many sentences on one core: chosen tensors of 1,000 pairs, and what every head is worth."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import torch

from benchmarks.report import Table, load
from transformer.inference.pretrained import Pretrained
from transformer.probing.importance import WAYS, all_heads, effects, name_of
from transformer.probing.probes import gold_pairs, probe_pairs

PAIRS, SINGLE = 1000, 50
LIMIT = 10.0  # seconds
SENTENCES, WORTH_LIMIT = 100, 60.0
KEPT = {
    "cross-attention": ("cross.weights",),
    "attention of all kinds": tuple(f"{kind}.weights" for kind in ("encoder_self", "decoder_self", "cross")),
    "neurons of the decoder": ("decoder_ff.activation",),
}

Value = TypeVar("Value")


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    """The pairs of the gold alignments, again and again until there are enough."""
    table = Table(
        f"`trace_all` of {PAIRS:,} pairs, one thread", ("kept", "CPU, s", "wall clock, s", "largest difference"), load()
    )
    golds = [(gold.source, gold.target) for gold in gold_pairs()]
    count, single = (20, 5) if quick else (PAIRS, SINGLE)
    pairs = [golds[number % len(golds)] for number in range(count)]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        traces, *_ = _timed(lambda: [model.trace(*pair) for pair in pairs[:single]])
        for name, keep in KEPT.items():
            found, cpu, wall = _timed(lambda keep=keep: model.trace_all(pairs, keep))  # type: ignore[misc]
            apart = max(
                float((kept[one] - getattr(getattr(trace, one.split(".")[0]), one.split(".")[1])).abs().max())
                for trace, kept in zip(traces, found, strict=False)
                for one in keep
            )
            table.add(name, f"{cpu:.1f}", f"{wall:.1f}", f"{apart:.0e}", good=cpu < LIMIT)
        _, cpu, wall = _timed(lambda: [model.trace(*pair) for pair in pairs[:single]])
        table.add(f"single traces, for {PAIRS:,}", f"{cpu / single * PAIRS:.1f}", f"{wall / single * PAIRS:.1f}", "")
        worth = _worth(model, quick)
    finally:
        torch.set_num_threads(threads)
    table.notes.append(f"Wanted: {LIMIT:g} s of CPU. Difference: to single traces of {single} of the pairs.")
    return [table, worth]


def _worth(model: Pretrained, quick: bool) -> Table:
    """Loss and BLEU with its interval without each head."""
    heads = {name_of(head): [head] for head in all_heads(model.config)[: 2 if quick else None]}
    pairs = (probe_pairs(model) or [])[: 5 if quick else SENTENCES]
    table = Table(
        f"{len(heads)} heads, one after the other, over {len(pairs)} sentences, one thread",
        ("measured", "CPU, s", "wall clock, s"),
        load(),
    )
    for way in WAYS:
        _, cpu, wall = _timed(lambda way=way: effects(model, pairs, heads, way))  # type: ignore[misc]
        table.add(f"loss and score, head at {way}", f"{cpu:.0f}", f"{wall:.0f}", good=cpu < WORTH_LIMIT)
    table.notes.append(f"Wanted: {WORTH_LIMIT:g} s of CPU for each.")
    return table


def _timed(work: Callable[[], Value]) -> tuple[Value, float, float]:
    """Its result, seconds of CPU and seconds of wall clock."""
    cpu, wall = time.process_time(), time.perf_counter()
    found = work()
    return found, time.process_time() - cpu, time.perf_counter() - wall
