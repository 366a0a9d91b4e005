"""Statistics of this process for its operator: on a page, and as metrics for programs that watch servers."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from pages.runtime.cache import SENTENCES
from pages.runtime.memory import MEMORY, Accountant, resident
from pages.runtime.queue import MODEL_QUEUE, Rate, TurnQueue
from pages.runtime.streamlit import viewers
from transformer.live_training import training_queue
from transformer.live_training.training_queue import TrainingQueue

STARTED = time.monotonic()


@dataclass(frozen=True)
class Stats:
    """What the process does and holds. No text that anybody typed, no address and no id of a session is in here.

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


def stats(
    memory: Accountant = MEMORY,
    queue: TurnQueue = MODEL_QUEUE,
    sentences: Rate = SENTENCES,
    trainings: TrainingQueue | None = None,
) -> Stats:
    """The statistics as they are now."""
    trainings = trainings or training_queue.shared()
    return Stats(
        resident=resident(), budget=memory.budget, in_caches=memory.used,
        cache_limit=memory.cache_limit, caches=memory.by_cache(), viewers=viewers(),
        running=queue.running, waiting=queue.waiting, at_once=queue.at_once,
        passes=queue.turns.total, passes_per_second=queue.turns.per_second(),
        sentences=sentences.total, sentences_per_second=sentences.per_second(),
        trainings=trainings.running, trainings_waiting=trainings.waiting, most_trainings=trainings.most,
        uptime=time.monotonic() - STARTED,
    )  # fmt: skip


def metrics(now: Stats | None = None) -> dict[str, str]:
    """The statistics in the form of Prometheus: name of a family -> its lines."""
    now = now or stats()
    trainings = {"running": now.trainings, "waiting": now.trainings_waiting, "most": now.most_trainings}
    memory = {"resident": now.resident, "budget": now.budget, "caches": now.in_caches, "room": now.cache_limit}
    families: dict[str, tuple[str, str, Mapping[str, float | None]]] = {  # family -> label, what it is, label -> number
        "memory_bytes": ("kind", "Memory of the process.", memory),
        "cache_bytes": ("cache", "Memory by cache.", {name: size for name, (_, size) in now.caches.items()}),
        "cache_values": ("cache", "Values by cache.", {name: number for name, (number, _) in now.caches.items()}),
        "viewers": ("", "Open pages.", {"": now.viewers}),
        "queue": ("state", "Passes of a model.", {"running": now.running, "waiting": now.waiting, "most": now.at_once}),
        "trainings": ("state", "Trainings.", trainings),
        "uptime_seconds": ("", "Time since the start.", {"": now.uptime}),
        "passes": ("", "Passes of a model.", {"": now.passes}),
        "sentences": ("", "New sentence pairs.", {"": now.sentences}),
    }  # fmt: skip
    found = {}
    for family, (label, about, numbers) in families.items():
        if not numbers:
            continue
        name, counts = f"headscope_{family}", family in ("passes", "sentences")
        unit = next((unit for unit in ("bytes", "seconds") if family.endswith(unit)), "")
        lines = [f"# TYPE {name} {'counter' if counts else 'gauge'}", *([f"# UNIT {name} {unit}"] if unit else [])]
        lines.append(f"# HELP {name} {about}")
        for value, number in numbers.items():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            labels = f'{{{label}="{escaped}"}}' if label else ""
            if number is not None:
                lines.append(f"{name}{'_total' if counts else ''}{labels} {int(number)}")
        found[name] = "\n".join(lines) + "\n"
    return found
