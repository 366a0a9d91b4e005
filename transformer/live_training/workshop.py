"""The workshop: a limited number of training processes, and a fair queue for further runs."""

from __future__ import annotations

import atexit
import contextlib
import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from transformer.live_training.fair_queue import has_share, in_turn, starts
from transformer.live_training.live_run import VIEWER_LEFT, Ending, LiveRun, Patience, Setting
from transformer.live_training.worker_process import CHECK_EVERY, COMMAND, WorkerProcess
from transformer.texts import Text, UserError

TRAININGS = "HEADSCOPE_TRAININGS"
SECONDS = "HEADSCOPE_TRAINING_SECONDS"
TIME_LIMIT = 120.0  # seconds of a core
# Most waiting runs. One address can have half of them: the first runs of a class of 40, even if some start several.
MOST_WAITING = 150
MOST_PER_VIEWER = 4  # unfinished runs
CLOSING = 5.0  # seconds that `close` waits for each thread
MEASURED_RUNS = 20  # the last runs that were not ended early: their mean duration is expected of the next ones
RESTART_AFTER = 10.0  # seconds from the death of a worker that was started ahead to the next one


class WorkshopError(UserError):
    """No further run can start now. The message says why and what to do."""


@dataclass(frozen=True)
class _Newcomer:
    """The next run of a viewer, which does not wait yet."""

    viewer: Hashable
    address: Hashable


class Workshop:
    """Trains in separate processes: `most` runs at the same time, the others wait in a queue.

    seconds: of a core, after which a run ends. command: starts a worker. The queue is fair (`fair_queue`): every
    viewer's first run goes before anybody's second, and addresses take turns. The workshop does not keep ended runs;
    their viewers do. At most one more worker exists, the spare, which has imported torch and waits for the next run.
    """

    def __init__(
        self, most: int, seconds: float, command: Sequence[str] = COMMAND, patience: Patience | None = None
    ) -> None:
        self.most, self.seconds = most, seconds
        self._command, self._patience = tuple(command), patience or Patience()
        self._lock = threading.Lock()
        self._queue: list[LiveRun] = []  # in the order in which they came
        self._durations: deque[float] = deque(maxlen=MEASURED_RUNS)  # seconds of runs that were not ended early
        self._running: list[LiveRun] = []
        self._slots: list[threading.Thread] = []  # each trains one run after the other
        self._checker: threading.Thread | None = None  # checks all runs and the spare
        self._wake = threading.Event()
        self._spare: WorkerProcess | None = None
        self._spare_until = -math.inf  # until when a viewer may need a worker
        self._no_spare_before = -math.inf
        self._closed = False
        atexit.register(self.close)

    @property
    def waiting(self) -> int:
        """Number of waiting runs."""
        return len(self._queue)

    @property
    def running(self) -> int:
        """Number of runs that start, train or pause."""
        return len(self._running)

    def begin(
        self, experiment: Setting, alive: Callable[[], bool], viewer: Hashable = None, address: Hashable = None
    ) -> LiveRun:
        """Train an experiment now or when its turn comes. alive: whether its viewer is still there, called from another
        thread several times a second; viewer: owner of the run, for the limit MOST_PER_VIEWER; address: of the viewer
        in the network, for its share of the queue; None: no limit. Raises WorkshopError."""
        if self.most < 1:
            raise WorkshopError(
                "training is switched off on this server; its operator can allow it with headscope --trainings N"
            )
        with self._lock:
            if self._closed:
                raise WorkshopError("the server is shutting down; no new run can start")
            count = sum(run.viewer == viewer for run in [*self._running, *self._queue])
            if viewer is not None and count >= MOST_PER_VIEWER:
                raise WorkshopError(
                    "you already have {count} runs, the limit for one viewer; stop one of them", count=count
                )
            if len(self._queue) >= MOST_WAITING:
                raise WorkshopError(
                    "the queue is full, {count} runs are waiting; try again in a few minutes", count=len(self._queue)
                )
            others = 0 if viewer is None else count
            if len(self._running) >= self.most and not has_share(self._queue, address, MOST_WAITING, others):
                raise WorkshopError(
                    "{count} runs from your network address are waiting already; try again in a few minutes",
                    count=sum(run.address == address for run in self._queue),
                )
            run = LiveRun(experiment, self.seconds, alive, viewer, self._withdraw, self._patience, address)
            try:
                self._start_checker()
                if len(self._running) < self.most:
                    self._open_slot(run)
                else:
                    self._queue.append(run)
                    self._number_queue()
            except RuntimeError as error:  # no thread could be started
                raise WorkshopError("the machine is busy ({error}); try again in a few minutes", error=error) from error
        return run

    def wait(self, viewer: Hashable = None, address: Hashable = None) -> float | None:
        """In how many seconds a new run of this viewer would start; None if nobody knows."""
        with self._lock:
            if len(self._running) < self.most:
                return 0.0
            new = _Newcomer(viewer, address)
            queue: list[LiveRun | _Newcomer] = [*self._queue, new]
            place = in_turn(queue, self._running).index(new)
            pace = self._pace()
            return None if pace is None else starts(*pace, place + 1)[place]

    def prepare(self) -> None:
        """A viewer may train soon: start a worker ahead. It ends a minute after the last call."""
        with self._lock:
            if self.most > 0 and not self._closed:
                self._spare_until = time.monotonic() + self._patience.unused
                with contextlib.suppress(RuntimeError):  # no thread could be started
                    self._start_checker()
                if self._spare is None:
                    self._wake.set()

    def close(self) -> None:
        """End all runs and workers and wait for them, at most CLOSING seconds for each, so that a process that does not
        end cannot stop the server from ending. No run can start afterwards."""
        atexit.unregister(self.close)
        with self._lock:
            self._closed = True
            waiting, running = list(self._queue), list(self._running)
            threads = [*self._slots, *([self._checker] if self._checker else [])]
            self._queue.clear()
            self._wake.set()
        for run in waiting:
            run.finish(VIEWER_LEFT)
        for run in running:
            run.end_by_force(VIEWER_LEFT)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(CLOSING)

    # -- the queue and the slots; callers hold the lock ---------------------------------------------------------------

    def _open_slot(self, run: LiveRun) -> None:
        """Start a thread that trains this run and then the runs of the queue until it is empty."""
        slot = threading.Thread(target=self._train_in_turn, args=([run],), daemon=True, name="headscope-training")
        run.start()
        self._running.append(run)
        self._slots.append(slot)
        try:
            slot.start()
        except RuntimeError:
            self._running.remove(run)
            self._slots.remove(slot)
            raise

    def _number_queue(self) -> None:
        """Tell each waiting run its place in the queue."""
        for place, run in enumerate(in_turn(self._queue, self._running), 1):
            run.place = place

    def _pace(self) -> tuple[list[float], float] | None:
        """Seconds until the end of every running run, and those of a run, from the pace of the running and the last
        runs; None before anybody knows."""
        totals = [*self._durations, *(total for run in self._running if (total := run.total) is not None)]
        if not totals:
            return None
        each = sum(totals) / len(totals)
        return [each if (left := run.left) is None else left for run in self._running], each

    def _tell_waits(self) -> None:
        """Tell each waiting run in how many seconds it will probably start."""
        if (pace := self._pace()) is not None:
            found = starts(*pace, len(self._queue))
            for run, wait in zip(in_turn(self._queue, self._running), found, strict=True):
                run.wait = wait

    def _start_checker(self) -> None:
        """Start the thread that checks all runs and the spare worker, if it does not run yet."""
        if self._checker is None:
            checker = threading.Thread(target=self._check_all, daemon=True, name="headscope-workshop")
            checker.start()  # waits for the lock
            self._checker = checker

    # -- threads ------------------------------------------------------------------------------------------------------

    def _withdraw(self, run: LiveRun) -> bool:
        """Remove the run from the queue; False if it is not in the queue."""
        with self._lock:
            if run not in self._queue:
                return False
            self._queue.remove(run)
            self._number_queue()
            return True

    def _train_in_turn(self, given: list[LiveRun]) -> None:
        run: LiveRun | None = given.pop()  # in a list, because the thread keeps its arguments in memory to the end
        while run is not None:
            ending = self._train(run)
            with self._lock:
                self._running.remove(run)
                following = None
                if ending.reason in ("steps", "time") and run.trained is not None:
                    self._durations.append(run.trained)
                self._number_queue()
                if self._queue:
                    following = min(self._queue, key=lambda run: run.place)
                    self._queue.remove(following)
                    following.start()
                    self._running.append(following)
                    self._number_queue()
                else:
                    self._slots.remove(threading.current_thread())
            run.finish(ending)
            run, ending = following, VIEWER_LEFT  # do not keep the result in memory during the next run

    def _train(self, run: LiveRun) -> Ending:
        try:
            return run.train_with(self._take_worker())
        except OSError as error:
            reason = error.strerror or str(error)
            text = Text("The training process could not be started ({reason}). Try again later.", reason=reason)
            return Ending("failed", "died", text)
        except Exception as error:  # a bug in this app ends this run, but not the waiting runs
            logging.getLogger(__name__).exception("a training ended by an error of the workshop")
            text = Text("The training was lost because of a bug in this app ({kind}).", kind=type(error).__name__)
            return Ending("failed", "died", text)

    def _new_worker(self) -> WorkerProcess:
        return WorkerProcess(self._command, 3 * self.seconds + 120)

    def _take_worker(self) -> WorkerProcess:
        """The spare worker, or a new one. Raises OSError."""
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None and (not spare.alive() or spare.stopped()):
            spare.end()
            spare = None
        return spare or self._new_worker()

    def _check_all(self) -> None:
        while True:
            with self._lock:
                now = time.monotonic()
                wanted = not self._closed and (now < self._spare_until or bool(self._queue))
                if not wanted and not self._running and not self._queue and self._spare is None:
                    self._checker = None
                    return
                self._wake.clear()
                self._tell_waits()
                runs = [*self._running, *self._queue]
            self._check_spare(wanted, now)
            while runs:
                runs.pop().look()
            if self._closed:
                time.sleep(CHECK_EVERY)
            else:
                self._wake.wait(self._patience.look)

    def _check_spare(self, wanted: bool, now: float) -> None:
        with self._lock:
            spare = self._spare
            dead = spare is not None and (not spare.alive() or spare.stopped())
            if spare is not None and (dead or not wanted):
                self._spare = None
        if spare is None and wanted and now >= self._no_spare_before:
            try:
                worker = self._new_worker()
            except OSError:
                self._no_spare_before = now + RESTART_AFTER
                return
            with self._lock:
                self._spare = worker
        elif spare is not None and (dead or not wanted):
            spare.end()
            if dead:
                self._no_spare_before = now + RESTART_AFTER


# -- the workshop of this process --------------------------------------------------------------------------------------

_shared: list[Workshop] = []
_lock = threading.Lock()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def trainings() -> int:
    """How many runs can train at the same time: HEADSCOPE_TRAININGS, or the number of cores; 0: none."""
    text = os.environ.get(TRAININGS, "")
    return int(text) if _is_number(text) and len(text) < 5 else os.cpu_count() or 2


def training_seconds() -> float:
    """Seconds of a core after which a run ends: HEADSCOPE_TRAINING_SECONDS, or TIME_LIMIT."""
    text = os.environ.get(SECONDS, "")
    return float(text) if _is_number(text) and 0 < int(text) < 1e6 else TIME_LIMIT


def shared() -> Workshop:
    """The workshop of this process, for all viewers. It is not in a Streamlit cache, because any visitor can empty
    those caches, and then the number of processes would have no limit."""
    with _lock:
        if not _shared:
            _shared.append(Workshop(trainings(), training_seconds()))
        return _shared[0]
