"""Background jobs: measurements on demand, one at a time for all viewers, one a viewer, cancelled when it leaves, and
behind the passes of viewers, also while they run."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st

from pages.runtime.queue import MODEL_QUEUE, TurnQueue
from pages.runtime.session import from_session
from pages.runtime.shared import SharedCache
from pages.runtime.streamlit import session_id
from transformer.cancellation import Stopped
from transformer.texts import UserError, reader_language, use_language

POLL = 0.5  # seconds between two updates of a page
MOST_WAITING = 20
JOB_QUEUE = TurnQueue(1)  # of the jobs of all kinds, which runs one


class BusyError(UserError):
    """Too many jobs wait."""


class BackgroundJob:
    """One measurement in its own thread, which never calls Streamlit; pages read these fields. Its result is kept in
    `jobs`, for all viewers.

    stage: "waiting", "running", "done", "stopped" or "failed". error: the message of an error; for errors of the
    classes in `known`, which a person can correct, without the name of the class. patience: seconds without a call of
    `look`, after which the viewer has left.

    A subclass does its work in `_work`. Between steps it asks `_wanted`, which lets passes for viewers go first, and
    raises Stopped if that is False. It calls `start` after it has set its own fields; that stops the job that this
    viewer started before.
    """

    known: tuple[type[Exception], ...] = ()

    def __init__(self, jobs: SharedCache, name: str, patience: float) -> None:
        self.stage, self.error = "waiting", ""
        self._language = reader_language()
        self._jobs, self._patience = jobs, patience
        self._stop, self._looked = threading.Event(), time.monotonic()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        if session_id():
            jobs = from_session(Started).jobs
            for old in jobs.values():
                if old.running:
                    old.stop()
            jobs[type(self)] = self
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
        MODEL_QUEUE.give_way()
        return not self._stop.is_set() and time.monotonic() - self._looked < self._patience

    def _check(self) -> None:
        if not self._wanted():
            raise Stopped

    def _work(self) -> None:
        raise NotImplementedError

    def _run(self) -> None:
        use_language(self._language)
        try:
            if JOB_QUEUE.waiting >= MOST_WAITING:
                raise BusyError("{count} computations are waiting; try again in a few minutes", count=MOST_WAITING)
            with JOB_QUEUE.turn(self._check):
                self.stage = "running"
                with MODEL_QUEUE.turn(self._check, background=True):
                    self._work()
            self.stage = "done"
        except Stopped:
            self.stage = "stopped"
        except Exception as error:  # any error must end the wait of the page
            self.error = str(error)
            if not isinstance(error, (BusyError, *self.known)):
                logging.getLogger(__name__).exception("%s failed", self.thread.name)
                self.error = f"{type(error).__name__}: {error}"
            self.stage = "failed"


Job = TypeVar("Job", bound=BackgroundJob)


@dataclass
class Started:
    """jobs: by class, what this session started last."""

    jobs: dict[type[BackgroundJob], Any] = field(default_factory=dict)


def started(kind: type[Job]) -> Job | None:
    """The job of a class that this session started last."""
    job: Job | None = from_session(Started).jobs.get(kind)
    return job


def start(kind: Callable[..., BackgroundJob], *args: Any) -> None:
    """For a button: start a job, which is made with these arguments."""
    kind(*args)


def follow(kind: type[Job], draw: Callable[[Job | None, bool], None]) -> None:
    """Draw a fragment that reruns by itself while a job of this class runs, and only then; the page reruns when one
    begins or ends. draw: called with the job that this session started last, and whether it runs."""
    first = started(kind)
    polling = first is not None and first.running

    def body() -> None:
        job = started(kind)
        running = job is not None and job.running
        if job is not None and running:
            job.look()
        if running != polling:
            st.rerun()
        draw(job, running)

    st.fragment(body, run_every=POLL if polling else None)()
