"""Workshops of fake workers, for tests: what they are told, what is waited for, and that nothing is left of them."""

from __future__ import annotations

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

from tests.support.processes import PATIENCE, children
from transformer.live_training.live_run import LiveRun, Patience
from transformer.live_training.workshop import Workshop

ROOT = Path(__file__).resolve().parents[2]
FAKE = [sys.executable, "-S", "-E", str(ROOT / "tests" / "support" / "fake_worker.py")]
QUICK = Patience(gone=0.3, start=60, silence=60, stop=60, pause=60, unused=60, look=0.02)


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
Start = Callable[..., Workshop]


def files() -> int:
    return len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0


def until(what: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.005)


_others: set[int] = set()  # processes that were there before: in a run of the whole suite the browser's


def workers() -> dict[int, str]:
    """Process number -> state letter of the processes that a test's workshops started."""
    return {number: state for number, state in children().items() if number not in _others}


@contextlib.contextmanager
def workshops() -> Iterator[Start]:
    """Makes workshops of fake workers; afterwards no process, thread or pipe of them is left."""
    _others.clear()
    _others.update(children())
    gc.collect()
    open_files, threads = files(), {thread.name for thread in threading.enumerate()}
    made: list[Workshop] = []

    def make(most: int = 1, behaviour: str = "well", seconds: float = 1e5, **patience: float) -> Workshop:
        kept = Patience(**{**QUICK.__dict__, **patience})
        made.append(Workshop(most, seconds, [*FAKE, behaviour], kept))
        return made[-1]

    yield make
    for one in made:
        one.close()
        assert (one.running, one.waiting, one._spare, one._checker, one._slots) == (0, 0, None, None, [])
    # Files and threads of other tests of this process may have ended meanwhile.
    assert not workers() and files() <= open_files and {thread.name for thread in threading.enumerate()} <= threads


def here() -> bool:
    return True


def ended(*runs: LiveRun) -> None:
    until(lambda: all(run.ended for run in runs))


def trains(run: LiveRun) -> None:
    until(lambda: run.stage == "training" and run.frames)
