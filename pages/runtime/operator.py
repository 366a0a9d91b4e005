"""The figures of this process for its operator: on a page, and as metrics for programs that watch servers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamlit.runtime.stats import CounterStat, GaugeStat, Stat

from pages.runtime.cache import SENTENCES
from pages.runtime.memory import MEMORY, Accountant, resident
from pages.runtime.queue import MODEL_QUEUE, Rate, TurnQueue
from pages.runtime.streamlit import guard_metrics, viewers
from transformer.live_training import workshop
from transformer.live_training.workshop import Workshop
from transformer.operator_key import opens

STARTED = time.monotonic()


@dataclass(frozen=True)
class Figures:
    """No text that anybody typed, no address and no id of a session is in here.

    resident: bytes that the process takes, None if unknown; budget: most of them.
    in_caches: bytes in all caches; cache_limit: most of them; caches: name -> number of values, and their bytes.
    viewers: open pages.
    running, waiting: passes of a model; at_once: how many can run. passes, sentences: how many since the start.
    trainings, trainings_waiting: those that run and those that wait; most_trainings: how many can run.
    uptime: seconds.
    """

    resident: int | None
    budget: int
    in_caches: int
    cache_limit: int
    caches: Mapping[str, tuple[int, int]]
    viewers: int
    running: int
    waiting: int
    at_once: int
    passes: int
    passes_per_second: float
    sentences: int
    sentences_per_second: float
    trainings: int
    trainings_waiting: int
    most_trainings: int
    uptime: float


def figures(
    memory: Accountant = MEMORY,
    queue: TurnQueue = MODEL_QUEUE,
    sentences: Rate = SENTENCES,
    trainings: Workshop | None = None,
) -> Figures:
    """The figures as they are now."""
    trainings = trainings or workshop.shared()
    return Figures(
        resident=resident(), budget=memory.budget, in_caches=memory.used,
        cache_limit=memory.cache_limit, caches=memory.by_cache(), viewers=viewers(),
        running=queue.running, waiting=queue.waiting, at_once=queue.at_once,
        passes=queue.turns.total, passes_per_second=queue.turns.per_second(),
        sentences=sentences.total, sentences_per_second=sentences.per_second(),
        trainings=trainings.running, trainings_waiting=trainings.waiting, most_trainings=trainings.most,
        uptime=time.monotonic() - STARTED,
    )  # fmt: skip


def metrics(now: Figures) -> dict[str, list[Stat]]:
    """The figures in the form of Streamlit's metrics: family -> its numbers."""
    trainings = {"running": now.trainings, "waiting": now.trainings_waiting, "most": now.most_trainings}
    memory = {"resident": now.resident, "budget": now.budget, "caches": now.in_caches, "room": now.cache_limit}
    gauges: dict[str, tuple[str, str, Mapping[str, float | None]]] = {  # family -> label, what it is, label -> number
        "memory_bytes": ("kind", "Memory of the process.", memory),
        "cache_bytes": ("cache", "Memory by cache.", {name: size for name, (_, size) in now.caches.items()}),
        "cache_values": ("cache", "Values by cache.", {name: number for name, (number, _) in now.caches.items()}),
        "viewers": ("", "Open pages.", {"": now.viewers}),
        "queue": ("state", "Passes of a model.", {"running": now.running, "waiting": now.waiting, "most": now.at_once}),
        "trainings": ("state", "Trainings.", trainings),
        "uptime_seconds": ("", "Time since the start.", {"": int(now.uptime)}),
    }  # fmt: skip
    found: dict[str, list[Stat]] = {
        f"headscope_{family}": [
            GaugeStat(
                f"headscope_{family}", int(number), {label: name} if label else None,
                unit=next((unit for unit in ("bytes", "seconds") if family.endswith(unit)), ""), help=about,
            )
            for name, number in numbers.items() if number is not None
        ]
        for family, (label, about, numbers) in gauges.items()
    }  # fmt: skip
    counters = {"passes": (now.passes, "Passes of a model."), "sentences": (now.sentences, "New sentence pairs.")}
    for family, (number, about) in counters.items():
        found[f"headscope_{family}"] = [CounterStat(f"headscope_{family}", number, help=about)]
    return found


class Metrics:
    """What Streamlit's address for metrics asks for our figures."""

    stats_families = (
        *(f"headscope_{name}" for name in ("memory_bytes", "cache_bytes", "cache_values", "viewers", "queue")),
        *(f"headscope_{name}" for name in ("trainings", "uptime_seconds", "passes", "sentences")),
    )

    def get_stats(self, family_names: Sequence[str] | None = None) -> dict[str, list[Stat]]:
        return {name: found for name, found in metrics(figures()).items() if not family_names or name in family_names}


def prepare_metrics() -> None:
    """Call before the server starts."""
    guard_metrics(opens, Metrics())
