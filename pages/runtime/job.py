"""Background jobs: measurements on demand, one at a time for all viewers, cancelled when the viewer leaves."""

from __future__ import annotations

import logging
import threading
import time
from typing import TypeVar

from pages.runtime.queue import TurnQueue
from pages.runtime.shared import SharedCache
from transformer.cancellation import Stopped
from transformer.texts import reader_language, use_language

Value = TypeVar("Value")
POLL = 0.5  # seconds between two updates of a page


class JobQueue(SharedCache[Value]):
    """What all viewers share of a kind of job: its results, and a queue that runs one job at a time."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.queue = TurnQueue(1)


class BackgroundJob:
    """One measurement in its own thread, which never calls Streamlit; pages read these fields.

    stage: "waiting", "running", "done", "stopped" or "failed"; error: the message of an error, plain text for the
    classes in `known`, which a person can correct; patience: seconds without a look, after which the viewer has left.

    A subclass does its work in `_work`. Between steps it asks `_wanted` and raises Stopped if that is False. It calls
    `start` after it has set its own fields.
    """

    known: tuple[type[Exception], ...] = ()

    def __init__(self, jobs: JobQueue, name: str, patience: float) -> None:
        self.stage, self.error = "waiting", ""
        self._language = reader_language()
        self._jobs, self._patience = jobs, patience
        self._stop, self._looked = threading.Event(), time.monotonic()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self.thread.start()

    @property
    def running(self) -> bool:
        return self.stage in ("waiting", "running")

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def look(self) -> None:
        """Report that the viewer is still there."""
        self._looked = time.monotonic()

    def stop(self) -> None:
        self._stop.set()

    def _wanted(self) -> bool:
        return not self._stop.is_set() and time.monotonic() - self._looked < self._patience

    def _check(self) -> None:
        if not self._wanted():
            raise Stopped

    def _work(self) -> None:
        raise NotImplementedError

    def _run(self) -> None:
        use_language(self._language)
        try:
            with self._jobs.queue.turn(self._check):
                self.stage = "running"
                self._work()
            self.stage = "done"
        except Stopped:
            self.stage = "stopped"
        except self.known as error:
            self.error, self.stage = str(error), "failed"
        except Exception as error:  # any error must end the wait of the page
            logging.getLogger(__name__).exception("%s failed", self.thread.name)
            self.error, self.stage = f"{type(error).__name__}: {error}", "failed"
