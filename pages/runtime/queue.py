"""Queues: first come, first served, and nothing for a viewer who has left."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator

import streamlit as st

from pages.runtime.streamlit import is_connected, session_id

LOOK = 0.5  # seconds between two looks at whether who waits is still there


def stop_if_gone() -> None:
    """End the run of a viewer who has left, as Streamlit would at the next thing that is drawn."""
    session = session_id()
    if session and not is_connected(session):
        st.stop()


class TurnQueue:
    """`at_once` threads are let in, the others wait in the order in which they came."""

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
        """Wait for a turn, and have it inside `with`; who has one already goes on.

        look: is called every LOOK seconds and right before the turn; what it raises gives up the place.
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
            if self._free:  # then nobody waits
                self._free -= 1
                turn.set()
            else:
                self._waiting.append(turn)
        try:
            while not turn.wait(LOOK):
                look()
            look()
        except BaseException:  # Streamlit ends runs with exceptions that are no Exception
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


# Before passes of a model. Thirty side by side end all at about the same late moment and need thirty times the memory;
# one after the other the first viewer waits for one. A viewer's script runs in one thread, so nobody stands in the
# queue twice. One thread a pass (`cache.load`), and half of the cores stay free for clicks, which need Python alone.
MODEL_QUEUE = TurnQueue(max(1, (os.cpu_count() or 2) // 2))
