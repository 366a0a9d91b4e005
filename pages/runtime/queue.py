"""Queues: first come, first served, except that short work may pass long work, and viewers who had little those who
had much; without viewers who have left."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

import streamlit as st

from pages.runtime.streamlit import is_connected, session_id

LOOK = 0.5  # seconds between two checks that a waiting viewer is still there
HALF = 30.0  # seconds
LATER = 30.0  # most seconds by which a viewer who had much may have to let others pass
MOST_VIEWERS = 1000
MINUTE = 60  # seconds


def stop_if_gone() -> None:
    """End the run of a viewer who has left, as Streamlit would at the next drawn element."""
    session = session_id()
    if session and not is_connected(session):
        st.stop()


class Rate:
    """How many events there were, in all and in the last minute. total: since the start."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = 0
        self._clock = clock
        self._seconds: deque[list[int]] = deque(maxlen=MINUTE)  # a second, and its number of events
        self._lock = threading.Lock()

    def add(self) -> None:
        with self._lock:
            now = int(self._clock())
            self.total += 1
            if self._seconds and self._seconds[-1][0] == now:
                self._seconds[-1][1] += 1
            else:
                self._seconds.append([now, 1])

    def per_second(self) -> float:
        """Events a second, the mean of the last minute."""
        with self._lock:
            oldest = int(self._clock()) - MINUTE
            return sum(number for second, number in self._seconds if second > oldest) / MINUTE


class Use:
    """For how many seconds each viewer held a turn, what is long ago counting less: half after HALF seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._held: dict[str, tuple[float, float]] = {}  # viewer -> seconds, and when they were counted

    def of(self, viewer: str) -> float:
        seconds, then = self._held.get(viewer, (0.0, 0.0))
        return seconds * 0.5 ** ((self._clock() - then) / HALF)

    def add(self, viewer: str, seconds: float) -> None:
        """viewer: "" is nobody."""
        if viewer:
            self._held[viewer] = self.of(viewer) + seconds, self._clock()
            if len(self._held) > MOST_VIEWERS:  # forgets those who had least
                self._held = dict(sorted(self._held.items(), key=lambda held: self.of(held[0]))[MOST_VIEWERS // 2 :])


class TurnQueue:
    """Lets `at_once` threads in. The others wait in the order in which they came, each as if it came later: by `grace`
    seconds, and by the seconds that its viewer had lately, at most LATER. turns: how many were taken."""

    def __init__(self, at_once: int) -> None:
        self.at_once = self._free = at_once
        self.turns = Rate()
        self.use = Use()
        self._waiting: list[tuple[float, int, threading.Event]] = []  # sorted
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._inside = threading.local()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def running(self) -> int:
        """How many threads have a turn now."""
        return self.at_once - self._free

    @contextlib.contextmanager
    def turn(self, look: Callable[[], None] = stop_if_gone, grace: float = 0.0) -> Iterator[None]:
        """Wait for a turn and hold it inside `with`; a thread that already has a turn goes on at once.

        grace: seconds by which others may come later and still go first. look: called every LOOK seconds and right
        before the turn; if it raises, the thread leaves the queue.
        """
        if getattr(self._inside, "now", False):
            yield
            return
        viewer = session_id()
        with self._lock:
            later = min(LATER, self.use.of(viewer))
        self._take(look, grace + later)
        self.turns.add()
        self._inside.now = True
        begin = time.monotonic()
        try:
            yield
        finally:
            self._inside.now = False
            with self._lock:
                self.use.add(viewer, time.monotonic() - begin)
            self._give()

    def _take(self, look: Callable[[], None], grace: float) -> None:
        turn = threading.Event()
        place = (time.monotonic() + grace, next(self._numbers), turn)
        with self._lock:
            if self._free:  # so nobody waits
                self._free -= 1
                turn.set()
            else:
                bisect.insort(self._waiting, place)
        try:
            while not turn.wait(LOOK):
                look()
            look()
        except BaseException:  # Streamlit ends runs with exceptions that are not subclasses of Exception
            with self._lock:
                called = place not in self._waiting
                if not called:
                    self._waiting.remove(place)
            if called:
                self._give()
            raise

    def _give(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.pop(0)[2].set()
            else:
                self._free += 1


# The queue for passes of a model. Thirty passes at once would all end late and need thirty times the memory; in a
# queue the first viewer waits for one. A viewer's script runs in one thread, so nobody is in the queue twice. Each
# pass has one thread (`cache.load`), and half of the cores stay free for clicks, which only need Python.
MODEL_QUEUE = TurnQueue(max(1, (os.cpu_count() or 2) // 2))
