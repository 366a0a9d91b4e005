"""What is measured on demand: in a thread of its own, one at a time for all viewers, as long as somebody looks."""

from __future__ import annotations

import logging
import threading
import time
from typing import TypeVar

from pages.runtime.kept import Kept
from transformer.cancellation import Stopped

Value = TypeVar("Value")
POLL = 0.5  # seconds between two looks of a page


class Desk(Kept[Value]):
    """What all viewers share: one measurement at a time, and what was measured last.

    room: results kept; turn: held by the thread that measures.
    """

    def __init__(self, room: int = 256) -> None:
        super().__init__(room, lambda _: 1)
        self.turn = threading.Lock()


class Measurement:
    """One measurement in a thread of its own, which never calls Streamlit; pages look at these fields.

    stage: "waiting" for others, "measuring", "done", "stopped" or "failed"; error: what went wrong, in the words of the
    errors that are a person's to mend (`known`); patience: seconds without a look, after which the viewer has left.

    A kind of measurement says in `_measure` what it does, asks `_wanted` between its parts and raises Stopped where
    that is False; it calls `start` once its own fields are there.
    """

    known: tuple[type[Exception], ...] = ()

    def __init__(self, desk: Desk, name: str, patience: float) -> None:
        self.stage, self.error = "waiting", ""
        self._desk, self._patience = desk, patience
        self._stop, self._looked = threading.Event(), time.monotonic()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self.thread.start()

    @property
    def running(self) -> bool:
        return self.stage in ("waiting", "measuring")

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def look(self) -> None:
        """Somebody is still there."""
        self._looked = time.monotonic()

    def stop(self) -> None:
        self._stop.set()

    def _wanted(self) -> bool:
        return not self._stop.is_set() and time.monotonic() - self._looked < self._patience

    def _measure(self) -> None:
        raise NotImplementedError

    def _run(self) -> None:
        try:
            while not self._desk.turn.acquire(timeout=0.2):
                if not self._wanted():
                    raise Stopped
            try:
                self.stage = "measuring"
                self._measure()
            finally:
                self._desk.turn.release()
            self.stage = "done"
        except Stopped:
            self.stage = "stopped"
        except self.known as error:
            self.error, self.stage = str(error), "failed"
        except Exception as error:  # whatever it is, the page must not wait for ever
            logging.getLogger(__name__).exception("%s failed", self.thread.name)
            self.error, self.stage = f"{type(error).__name__}: {error}", "failed"
