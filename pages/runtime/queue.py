"""Queues: first come, first served, except that short work passes long work, also while that runs, and viewers who had
little those who had much; without viewers who have left."""

from __future__ import annotations

import bisect
import contextlib
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import streamlit as st
from torch import nn

from pages.runtime.streamlit import is_connected, session_id
from transformer.model.layers import SubLayer

LOOK = 0.5  # seconds between two checks that a waiting viewer is still there
HALF = 30.0  # seconds
LATER = 30.0  # most seconds by which a viewer who had much may have to let others pass
COSTS = 5.0  # seconds by which a pass goes behind others for each second that it has taken
STEP = 0.3  # seconds of its place, COSTS times those of the clock, for which a pass goes on although others wait
LAST = 1e6  # seconds by which background jobs let all others pass
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


@dataclass(eq=False)
class _Turn:
    """A thread's turn. later: seconds by which it goes behind others who came at the same time; held: seconds that it
    had the turn, until `since`, when it got it the last time."""

    viewer: str
    look: Callable[[], None]
    grace: float
    later: float
    came: float = field(default_factory=time.monotonic)
    held: float = 0.0
    since: float = 0.0
    called: threading.Event = field(default_factory=threading.Event)

    def place(self, now: float | None = None) -> float:
        """The smallest goes first. Work stands as far behind as it was expected to take, or as it has taken."""
        held = self.held if now is None else self.held + now - self.since
        return self.came + self.later + max(self.grace, COSTS * held)


class TurnQueue:
    """Lets `at_once` threads in. The others wait in the order in which they came, each as if it came later: by `grace`
    seconds, or by COSTS for each second that it has taken; and by the seconds that its viewer had lately, at most
    LATER. turns: how many were taken.

    Work that calls `give_way` between its steps lets those go first who stand before it by then.
    """

    def __init__(self, at_once: int) -> None:
        self.at_once = self._free = at_once
        self.turns = Rate()
        self.use = Use()
        self._waiting: list[_Turn] = []  # sorted
        self._lock = threading.Lock()
        self._mine = threading.local()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def running(self) -> int:
        """How many threads have a turn now."""
        return self.at_once - self._free

    @contextlib.contextmanager
    def turn(self, look: Callable[[], None] = stop_if_gone, grace: float = 0.0, last: bool = False) -> Iterator[None]:
        """Wait for a turn and hold it inside `with`; a thread that already has a turn goes on at once.

        grace: seconds by which others may come later and still go first; last: all others do. look: called every LOOK
        seconds of waiting and right before the turn; if it raises, the thread leaves the queue.
        """
        if self._turn() is not None:
            yield
            return
        viewer = session_id()
        with self._lock:
            later = LAST if last else min(LATER, self.use.of(viewer))
        turn = _Turn(viewer, look, grace, later)
        self._take(turn)
        self.turns.add()
        try:
            yield
        finally:
            if self._turn() is not None:
                self._give(turn)

    def give_way(self) -> None:
        """Call between the steps of work: waits if others stand before it in the queue now. Does nothing in a thread
        without a turn. Raises what `look` raises."""
        turn = self._turn()
        if turn is None or not self._waiting:
            return
        with self._lock:
            first = self._waiting[0].place() if self._waiting else math.inf
        if first + STEP < turn.place(time.monotonic()):
            self._give(turn)
            self._take(turn)

    @contextlib.contextmanager
    def step_aside(self) -> Iterator[None]:
        """Without the turn inside `with`: to wait for what another thread does, who may need a turn for it."""
        turn = self._turn()
        if turn is None:
            yield
            return
        self._give(turn)
        try:
            yield
        finally:
            self._take(turn)

    def _turn(self) -> _Turn | None:
        """The turn of this thread."""
        turn: _Turn | None = getattr(self._mine, "turn", None)
        return turn

    def _take(self, turn: _Turn) -> None:
        turn.called.clear()
        with self._lock:
            if self._free:  # so nobody waits
                self._free -= 1
                turn.called.set()
            else:
                bisect.insort(self._waiting, turn, key=_Turn.place)
        try:
            while not turn.called.wait(LOOK):
                turn.look()
            turn.look()
        except BaseException:  # Streamlit ends runs with exceptions that are not subclasses of Exception
            with self._lock:
                called = turn not in self._waiting
                if not called:
                    self._waiting.remove(turn)
            if called:
                self._call_next()
            raise
        turn.since = time.monotonic()
        self._mine.turn = turn

    def _give(self, turn: _Turn) -> None:
        self._mine.turn = None
        held = time.monotonic() - turn.since
        turn.held += held
        with self._lock:
            self.use.add(turn.viewer, held)
        self._call_next()

    def _call_next(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.pop(0).called.set()
            else:
                self._free += 1


# The queue for passes of a model. Thirty passes at once would all end late and need thirty times the memory; in a
# queue the first viewer waits for one. A viewer's script runs in one thread, so nobody is in the queue twice. Each
# pass has one thread (`cache.load`), and half of the cores stay free for clicks, which only need Python.
MODEL_QUEUE = TurnQueue(max(1, (os.cpu_count() or 2) // 2))


def give_way(*_: object) -> None:
    """Call between the steps of a pass."""
    MODEL_QUEUE.give_way()


give_way.only_waits = True  # type: ignore[attr-defined] # see `inference.drafts.one_pass_will_do`


def let_give_way(model: nn.Module) -> None:
    """From now on, a thread that passes through a model gives way before each of its sub-layers, which take
    milliseconds."""
    for module in model.modules():
        if isinstance(module, SubLayer):
            module.register_forward_pre_hook(give_way)
