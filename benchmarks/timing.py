"""Times of functions that take turns, so that other work of the machine affects all of them equally."""

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

Times = Mapping[str, Sequence[float]]  # name -> milliseconds, one a round


@dataclass(frozen=True)
class Ratio:
    """How many times as long `slow` takes as `fast`: of the medians, and of the best rounds (the least disturbed)."""

    median: float
    best: float

    def __str__(self) -> str:
        return f"{self.median:.2f} / {self.best:.2f}"


def take_turns(what: Mapping[str, Callable[[], object]], rounds: int, warm: int = 1) -> dict[str, list[float]]:
    """A B C A B C ...: milliseconds of every call, after `warm` rounds that are not counted.

    Every second round has the reverse order, so that no function always follows the same other one.
    """
    times: dict[str, list[float]] = {name: [] for name in what}
    for number in range(-warm, rounds):
        for name in what if number % 2 else reversed(what):
            start = time.perf_counter()
            what[name]()
            if number >= 0:
                times[name].append((time.perf_counter() - start) * 1e3)
    return times


def ratio(times: Times, slow: str, fast: str) -> Ratio:
    return Ratio(statistics.median(times[slow]) / statistics.median(times[fast]), min(times[slow]) / min(times[fast]))


def cell(times: Sequence[float]) -> str:
    """Median and best."""
    return f"{statistics.median(times):.0f} / {min(times):.0f}"


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
