"""Queues: first come, first served, without viewers who have left."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator

import streamlit as st

from pages.runtime.streamlit import is_connected, session_id

LOOK = 0.5  # seconds between two checks that a waiting viewer is still there


def stop_if_gone() -> None:
    """End the run of a viewer who has left, as Streamlit would at the next drawn element."""
    session = session_id()
    if session and not is_connected(session):
        st.stop()


class TurnQueue:
    """Lets `at_once` threads in; the others wait in the order in which they came."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()
        self._inside = threading.local()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @contextlib.contextmanager
    def turn(self, look: Callable[[], None] = stop_if_gone) -> Iterator[None]:
        """Wait for a turn and hold it inside `with`; a thread that already has a turn goes on at once.

        look: called every LOOK seconds and right before the turn; if it raises, the thread leaves the queue.
        """
        if getattr(self._inside, "now", False):
            yield
            return
        self._take(look)
        self._inside.now = True
        try:
            yield
        finally:
            self._inside.now = False
            self._give()

    def _take(self, look: Callable[[], None]) -> None:
        turn = threading.Event()
        with self._lock:
            if self._free:  # so nobody waits
                self._free -= 1
                turn.set()
            else:
                self._waiting.append(turn)
        try:
            while not turn.wait(LOOK):
                look()
            look()
        except BaseException:  # Streamlit ends runs with exceptions that are not subclasses of Exception
            with self._lock:
                called = turn not in self._waiting
                if not called:
                    self._waiting.remove(turn)
            if called:
                self._give()
            raise

    def _give(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1


# The queue for passes of a model. Thirty passes at once would all end late and need thirty times the memory; in a
# queue the first viewer waits for one. A viewer's script runs in one thread, so nobody is in the queue twice. Each
# pass has one thread (`cache.load`), and half of the cores stay free for clicks, which only need Python.
MODEL_QUEUE = TurnQueue(max(1, (os.cpu_count() or 2) // 2))
