"""The rules of the queue, without threads, processes and clocks: who comes next, who may wait, and for how long."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Protocol, TypeVar


class Entry(Protocol):
    """viewer: whose run it is; address: where the viewer comes from. None: one that nobody else has."""

    @property
    def viewer(self) -> Hashable: ...
    @property
    def address(self) -> Hashable: ...


Run = TypeVar("Run", bound=Entry)


def in_turn(waiting: Sequence[Run], running: Sequence[Entry]) -> list[Run]:
    """The waiting runs, given in the order in which they came, in the order in which they will start.

    First the first run of every viewer of whom none trains, then the second ones, and so on. Within such a round, the
    addresses take turns, those with the fewest running runs first: many viewers of one address delay a viewer of
    another one by a single run. Within an address, the order in which they came.
    """
    rounds = Counter(run.viewer for run in running if run.viewer is not None)
    trains = Counter(run.address for run in running if run.address is not None)
    taken: Counter[tuple[int, Hashable]] = Counter()
    turns: list[tuple[int, int]] = []
    for run in waiting:
        turn, ahead = 0, 0
        if run.viewer is not None:
            turn = rounds[run.viewer]
            rounds[run.viewer] += 1
        if run.address is not None:
            ahead = trains[run.address] + taken[turn, run.address]
            taken[turn, run.address] += 1
        turns.append((turn, ahead))
    return [waiting[at] for at in sorted(range(len(waiting)), key=turns.__getitem__)]


def has_share(waiting: Sequence[Entry], address: Hashable, most: int, others: int = 0) -> bool:
    """Whether one more run of an address may wait: while the address has fewer runs in the queue than there are free
    places.

    So one address has at most half of the `most` places, two have a third each, and a viewer of another address always
    finds one (Choudhury and Hahne 1998, "Dynamic queue length thresholds", with factor 1). others: unfinished runs of
    the same viewer. A second run may wait while the address has fewer than half as many runs as there are free places,
    a third run while it has fewer than a third, so that viewers without a run find a place.
    """
    free = most - len(waiting)
    return free > 0 and (address is None or sum(run.address == address for run in waiting) * (others + 1) < free)


def starts(left: Sequence[float], each: float, waiting: int) -> list[float]:
    """In how many seconds each of the waiting runs starts, in the order of their turns. left: seconds until the end of
    every running run; each: seconds that a waiting run will take."""
    ends, found = list(left), []
    heapq.heapify(ends)
    for _ in range(waiting):
        start = heapq.heappop(ends) if ends else 0.0
        found.append(start)
        heapq.heappush(ends, start + each)
    return found
