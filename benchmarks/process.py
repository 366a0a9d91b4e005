"""Memory, threads, files and CPU time of a process, from /proc on Linux."""

from __future__ import annotations

import contextlib
import os
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.app import KEY, App


@dataclass(frozen=True)
class Sample:
    """second: of the clock; memory: resident, in MB of 10^6 bytes; threads, files: how many; cpu: seconds, all of it
    since the process began."""

    second: float
    memory: float
    threads: int
    files: int
    cpu: float


def sample(process: int) -> Sample:
    """The process as it is now. Raises OSError where there is no /proc, or no such process."""
    place = Path(f"/proc/{process}")
    status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines() if ":" in line)
    times = (place / "stat").read_text().rpartition(")")[2].split()
    return Sample(
        time.monotonic(),
        int(status["VmRSS"].split()[0]) * 1024 / 1e6,
        int(status["Threads"]),
        len(os.listdir(place / "fd")),
        (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK"),
    )


def children(parent: int) -> list[int]:
    """The processes it started, as Linux lists them."""
    found = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that ended meanwhile
            found += [int(number) for number in task.read_text().split()]
    return found


def sessions(app: App) -> int:
    """How many viewers Streamlit says are connected."""
    with urllib.request.urlopen(f"{app.address}/_stcore/metrics?key={KEY}", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    (found,) = (line for line in lines if line.startswith("active_sessions"))
    return int(float(found.rsplit(" ", 1)[1]))


def slope(samples: Sequence[Sample]) -> float:
    """MB a second by which memory grows, by least squares."""
    times, sizes = [one.second for one in samples], [one.memory for one in samples]
    middle, mean = sum(times) / len(times), sum(sizes) / len(sizes)
    spread = sum((time - middle) ** 2 for time in times)
    shared = sum((time - middle) * (size - mean) for time, size in zip(times, sizes, strict=True))
    return shared / spread if spread else 0.0
