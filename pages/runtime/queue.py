"""Queues of threads that want a turn, such as a pass of a model.

First come, first served, but for two delays that move a thread back in the queue: long work lets short work pass, also
while it runs, and a viewer who had much lately lets those pass who had little. Viewers who have left are dropped.
"""

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

CHECK_EVERY = 0.5  # seconds between two checks that a waiting viewer is still there
HALF_LIFE = 30.0  # seconds after which what a viewer had counts half
# A delay of so many seconds moves a thread behind those that come within them.
MOST_DELAY = 30.0  # of a viewer who had much lately
DELAY_PER_SECOND = 5.0  # for each second that a pass has taken so far
SLACK = 0.3  # seconds that a thread may stand behind others and still go on
BACKGROUND_DELAY = 1e6  # of background jobs: all others go first
MOST_VIEWERS = 1000
MINUTE = 60  # seconds


def stop_if_gone() -> None:
    """End the run of a viewer who has left, as Streamlit would at the next drawn element."""
    session = session_id()
    if session and not is_connected(session):
        st.stop()


class Rate:
    """Counts events. total: since the start."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = 0
        self._clock = clock
        self._seconds: deque[list[int]] = deque(maxlen=MINUTE)  # a second, and its number of events
        self._lock = threading.Lock()

    def add(self) -> None:
        """Count one event."""
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


class RecentUse:
    """For how many seconds each viewer had a turn lately: after HALF_LIFE seconds they count half."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._used: dict[str, tuple[float, float]] = {}  # viewer -> seconds, and when they were counted

    def of(self, viewer: str) -> float:
        """Seconds that a viewer had lately."""
        seconds, then = self._used.get(viewer, (0.0, 0.0))
        return seconds * 0.5 ** ((self._clock() - then) / HALF_LIFE)

    def add(self, viewer: str, seconds: float) -> None:
        """Count seconds of a turn. viewer: "" for nobody, who is not counted."""
        if viewer:
            self._used[viewer] = self.of(viewer) + seconds, self._clock()
            if len(self._used) > MOST_VIEWERS:  # forget those who had least
                self._used = dict(sorted(self._used.items(), key=lambda used: self.of(used[0]))[MOST_VIEWERS // 2 :])


@dataclass(eq=False)
class _Turn:
    """The turn of a thread, waiting or running.

    check: see `TurnQueue.turn`. viewer_delay: seconds for what the viewer had lately; work_delay: for what this work is
    expected to take. came: when it joined the queue; used: seconds that it ran until it gave way last; since: when it
    began to run again. may_run: set when it is called.
    """

    viewer: str
    check: Callable[[], None]
    work_delay: float
    viewer_delay: float
    came: float = field(default_factory=time.monotonic)
    used: float = 0.0
    since: float = 0.0
    may_run: threading.Event = field(default_factory=threading.Event)

    def rank(self, now: float | None = None) -> float:
        """The smallest goes first: the time at which it came, with its delays. now: of a turn that runs."""
        used = self.used if now is None else self.used + now - self.since
        return self.came + self.viewer_delay + max(self.work_delay, DELAY_PER_SECOND * used)


class TurnQueue:
    """Lets `at_once` threads run. The others wait in the order in which they came, but a thread is moved back by a
    delay: what its work is expected to take or has taken, and what its viewer had lately.

    Work that calls `give_way` between its steps lets those go first who stand before it by then. turns: counts the
    turns; recent_use: of the viewers.
    """

    def __init__(self, at_once: int) -> None:
        self.at_once = self._free = at_once
        self.turns = Rate()
        self.recent_use = RecentUse()
        self._waiting: list[_Turn] = []  # sorted by rank
        self._lock = threading.Lock()
        self._of_thread = threading.local()

    @property
    def waiting(self) -> int:
        """How many threads wait for a turn."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """How many threads have a turn now."""
        return self.at_once - self._free

    @contextlib.contextmanager
    def turn(
        self, check: Callable[[], None] = stop_if_gone, delay: float = 0.0, background: bool = False
    ) -> Iterator[None]:
        """Wait for a turn and have it inside `with`; a thread that already has a turn goes on at once.

        check: called every CHECK_EVERY seconds of waiting and right before the turn; if it raises, the thread leaves
        the queue. delay: threads that come within so many seconds go first; background: all others go first.
        """
        if self._turn() is not None:
            yield
            return
        viewer = session_id()
        with self._lock:
            viewer_delay = BACKGROUND_DELAY if background else min(MOST_DELAY, self.recent_use.of(viewer))
        turn = _Turn(viewer, check, delay, viewer_delay)
        self._wait_for(turn)
        self.turns.add()
        try:
            yield
        finally:
            if self._turn() is not None:
                self._end(turn)

    def give_way(self) -> None:
        """Call between the steps of work: waits if others stand before it in the queue now. Does nothing in a thread
        without a turn. Raises what `check` of the turn raises."""
        turn = self._turn()
        if turn is None or not self._waiting:
            return
        with self._lock:
            first = self._waiting[0].rank() if self._waiting else math.inf
        if first + SLACK < turn.rank(time.monotonic()):
            self._end(turn)
            self._wait_for(turn)

    @contextlib.contextmanager
    def step_aside(self) -> Iterator[None]:
        """Give the turn back inside `with`, to wait for what another thread does, which may need a turn for it."""
        turn = self._turn()
        if turn is None:
            yield
            return
        self._end(turn)
        try:
            yield
        finally:
            self._wait_for(turn)

    def _turn(self) -> _Turn | None:
        """The turn that this thread has."""
        turn: _Turn | None = getattr(self._of_thread, "turn", None)
        return turn

    def _wait_for(self, turn: _Turn) -> None:
        turn.may_run.clear()
        with self._lock:
            if self._free:  # so nobody waits
                self._free -= 1
                turn.may_run.set()
            else:
                bisect.insort(self._waiting, turn, key=_Turn.rank)
        try:
            while not turn.may_run.wait(CHECK_EVERY):
                turn.check()
            turn.check()
        except BaseException:  # Streamlit ends runs with exceptions that are not subclasses of Exception
            with self._lock:
                called = turn not in self._waiting
                if not called:
                    self._waiting.remove(turn)
            if called:
                self._call_next()
            raise
        turn.since = time.monotonic()
        self._of_thread.turn = turn

    def _end(self, turn: _Turn) -> None:
        self._of_thread.turn = None
        used = time.monotonic() - turn.since
        turn.used += used
        with self._lock:
            self.recent_use.add(turn.viewer, used)
        self._call_next()

    def _call_next(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.pop(0).may_run.set()
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
