"""Queues of fake workers, for tests: what they are told, what is waited for, and that nothing is left of them."""

import contextlib
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from tests.support.processes import PATIENCE, children
from transformer.live_training import live_run, training_queue
from transformer.live_training.live_run import LiveRun
from transformer.live_training.training_queue import TrainingQueue

ROOT = Path(__file__).resolve().parents[2]
FAKE = [sys.executable, "-S", "-E", str(ROOT / "tests" / "support" / "fake_worker.py")]


@dataclass(frozen=True)
class Fake:
    """What a fake worker is told: how many frames, seconds between them, and the one it misbehaves at."""

    steps: int = 5
    pause: float = 0.0
    at: int = 1
    more: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {"steps": self.steps, "pause": self.pause, "at": self.at, "more": self.more}


LONG = Fake(steps=100_000, pause=0.01)  # ends when it is ended
Start = Callable[..., TrainingQueue]


def files() -> int:
    return len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0


def until(what: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.005)


_others: set[int] = set()  # processes that were there before: in a run of the whole suite the browser's


def workers() -> dict[int, str]:
    """Process number -> state letter of the processes that a test's queues started."""
    return {number: state for number, state in children().items() if number not in _others}


@contextlib.contextmanager
def training_queues() -> Iterator[Start]:
    """Makes queues of fake workers; afterwards no process, thread or pipe of them is left.

    unwatched, silent, pauses, spare: the limits in seconds, for all queues of a test.
    """
    _others.clear()
    _others.update(children())
    gc.collect()
    open_files, threads = files(), {thread.name for thread in threading.enumerate()}
    made: list[TrainingQueue] = []
    with contextlib.ExitStack() as stack:

        def limit(module: object, name: str, seconds: float) -> None:
            stack.enter_context(mock.patch.object(module, name, seconds))

        def make(
            most: int = 1, behaviour: str = "well", seconds: float = 1e5, unwatched: float = 0.3, silent: float = 60,
            pauses: float = 60, spare: float = 60, command: list[str] | None = None,
        ) -> TrainingQueue:  # fmt: skip
            for name, value in (("UNWATCHED", unwatched), ("SILENT", silent), ("PAUSES", pauses)):
                limit(live_run, name, value)
            limit(training_queue, "SPARE_FOR", spare)
            limit(training_queue, "CHECK_EVERY", 0.02)
            made.append(TrainingQueue(most, seconds, command or [*FAKE, behaviour]))
            return made[-1]

        yield make
        for queue in made:
            queue.close()
            assert (queue.running, queue.waiting, queue._spare, queue._checker) == (0, 0, None, None)
    # Files and threads of other tests of this process may have ended meanwhile.
    assert not workers() and files() <= open_files and {thread.name for thread in threading.enumerate()} <= threads


def watched() -> bool:
    return True


def ended(*runs: LiveRun) -> None:
    until(lambda: all(run.ended for run in runs))


def trains(run: LiveRun) -> None:
    until(lambda: run.stage == "training" and run.frames)
