"""The queue of trainings: a limited number of training processes, and the runs that wait for one."""

import atexit
import contextlib
import heapq
import logging
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from transformer.live_training.live_run import VIEWER_LEFT, Ending, LiveRun
from transformer.live_training.worker_process import COMMAND, WorkerProcess
from transformer.texts import Text, UserError

TRAININGS = "HEADSCOPE_TRAININGS"
SECONDS = "HEADSCOPE_TRAINING_SECONDS"
TIME_LIMIT = 120.0  # seconds of a core
# Most waiting runs. One address can have half of them: the first runs of a class of 40, even if some start several.
MOST_WAITING = 150
MOST_PER_VIEWER = 4  # unfinished runs
CHECK_EVERY = 0.25  # seconds between two checks of all runs
SPARE_FOR = 60.0  # seconds that a worker waits for a run after the last call of `prepare`
SPARE_EVERY = 10.0  # seconds between two starts of such a worker, which may fail at once
CLOSING = 5.0  # seconds that `close` waits for each thread
MEASURED_RUNS = 20  # the last runs that were not ended early: their mean duration is expected of the next ones

Owner = tuple[Hashable, Hashable]  # of a run: its viewer, and the viewer's network address


class QueueError(UserError):
    """No further run can start now. The message says why and what to do."""


def turns(waiting: Sequence[Owner], running: Sequence[Owner]) -> list[int]:
    """The indices of the waiting runs, given in the order in which they came, in the order in which they will start.

    First the first run of every viewer of whom none trains, then the second ones, and so on. Within such a round, the
    addresses take turns, those with the fewest running runs first: many viewers of one address delay a viewer of
    another one by a single run. Within an address, the order in which they came.
    """
    runs = Counter(viewer for viewer, _ in running)
    trains = Counter(address for _, address in running)
    taken: Counter[tuple[int, Hashable]] = Counter()
    ranks = []
    for viewer, address in waiting:
        number = runs[viewer]
        ranks.append((number, trains[address] + taken[number, address]))
        runs[viewer] += 1
        taken[number, address] += 1
    return sorted(range(len(waiting)), key=ranks.__getitem__)


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


class TrainingQueue:
    """Trains in separate processes: `most` runs at the same time, the others wait for their turn.

    seconds: of a core, after which a run ends. command: starts a worker. The queue does not keep ended runs; their
    viewers do. At most one more worker exists, the spare, which has imported torch and waits for the next run.
    """

    def __init__(self, most: int, seconds: float, command: Sequence[str] = COMMAND) -> None:
        self.most, self.seconds = most, seconds
        self._command = tuple(command)
        self._lock = threading.Lock()
        self._waiting: list[LiveRun] = []  # in the order in which they came
        self._running: dict[LiveRun, threading.Thread] = {}
        self._durations: deque[float] = deque(maxlen=MEASURED_RUNS)  # seconds of runs that were not ended early
        self._checker: threading.Thread | None = None  # checks all runs and the spare
        self._spare: WorkerProcess | None = None
        self._spare_until = self._next_spare = time.monotonic()  # until when one is wanted, and when one may start
        self._closed = False
        atexit.register(self.close)

    @property
    def waiting(self) -> int:
        """Number of waiting runs."""
        return sum(not run.ended for run in self._waiting)

    @property
    def running(self) -> int:
        """Number of runs that start, train or pause."""
        return len(self._running)

    def submit(
        self, experiment: Any, watched: Callable[[], bool], viewer: Hashable = None, address: Hashable = None
    ) -> LiveRun:
        """Train an experiment now or when its turn comes. watched: whether its viewer is still there, called from
        another thread several times a second; viewer: owner of the run, for the limit MOST_PER_VIEWER; address: of the
        viewer in the network, for its share of the queue; None: one that nobody else has. Raises QueueError."""
        if self.most < 1:
            raise QueueError(
                "training is switched off on this server; its operator can allow it with headscope --trainings N"
            )
        owner = _owner(viewer, address)
        with self._lock:
            if self._closed:
                raise QueueError("the server is shutting down; no new run can start")
            self._number_waiting()
            self._refuse_too_many(*owner)
            run = LiveRun(experiment, self.seconds, watched, owner)
            self._waiting.append(run)
            try:
                self._start_checker()
                self._start_waiting()
            except RuntimeError as error:  # no thread could be started
                if run not in self._running:
                    self._waiting.remove(run)
                    raise QueueError(
                        "the machine is busy ({error}); try again in a few minutes", error=error
                    ) from error
        return run

    def expected_wait(self, viewer: Hashable = None, address: Hashable = None) -> float | None:
        """In how many seconds a new run of this viewer would start; None if nobody knows."""
        with self._lock:
            if len(self._running) < self.most:
                return 0.0
            waiting = [*(run.owner for run in self._waiting if not run.ended), _owner(viewer, address)]
            waits = self._waits(len(waiting))
            place = turns(waiting, [run.owner for run in self._running]).index(len(waiting) - 1)
            return None if waits is None else waits[place]

    def prepare(self) -> None:
        """A viewer may train soon: start a worker ahead."""
        with self._lock:
            if self.most > 0 and not self._closed:
                self._spare_until = time.monotonic() + SPARE_FOR
                with contextlib.suppress(RuntimeError):  # no thread could be started
                    self._start_checker()

    def close(self) -> None:
        """End all runs and workers and wait for them, at most CLOSING seconds for each, so that a process that does not
        end cannot stop the server from ending. No run can start afterwards."""
        atexit.unregister(self.close)
        with self._lock:
            self._closed = True
            runs = [*self._waiting, *self._running]
            threads = [*self._running.values(), *([self._checker] if self._checker else [])]
            self._waiting.clear()
        for run in runs:
            run.force(VIEWER_LEFT)
        for thread in threads:
            thread.join(CLOSING)

    # -- callers hold the lock ----------------------------------------------------------------------------------------

    def _refuse_too_many(self, viewer: Hashable, address: Hashable) -> None:
        """Raises QueueError if the queue is full, or a viewer or an address has its share of it.

        A run may wait while its address has fewer waiting runs than there are free places, a viewer's second run while
        it has fewer than half as many, and so on. So one address has at most half of the places, two have a third each,
        a viewer of another address always finds one, and so do viewers without a run (Choudhury and Hahne 1998,
        "Dynamic queue length thresholds").
        """
        own = sum(run.owner[0] == viewer for run in [*self._running, *self._waiting])
        if own >= MOST_PER_VIEWER:
            raise QueueError("you already have {count} runs, the limit for one viewer; stop one of them", count=own)
        count = len(self._waiting)
        if count >= MOST_WAITING:
            raise QueueError("the queue is full, {count} runs are waiting; try again in a few minutes", count=count)
        same = sum(run.owner[1] == address for run in self._waiting)
        if len(self._running) >= self.most and same * (own + 1) >= MOST_WAITING - count:
            raise QueueError(
                "{count} runs from your network address are waiting already; try again in a few minutes", count=same
            )

    def _number_waiting(self) -> None:
        """Forget runs that ended in the queue, and tell the others their places and when they will probably start."""
        self._waiting = [run for run in self._waiting if not run.ended]
        order = turns([run.owner for run in self._waiting], [run.owner for run in self._running])
        waits = self._waits(len(order))
        for position, index in enumerate(order):
            run = self._waiting[index]
            run.place = position + 1
            if waits is not None:
                run.wait = waits[position]

    def _start_waiting(self) -> None:
        """Start waiting runs, as many as can train. Raises RuntimeError if no thread can be started."""
        self._number_waiting()
        while self._waiting and len(self._running) < self.most:
            run = min(self._waiting, key=lambda run: run.place)
            thread = threading.Thread(
                target=self._train, args=(run, self._spare), daemon=True, name="headscope-training"
            )
            thread.start()  # waits for the lock
            self._spare = None
            self._waiting.remove(run)
            run.start()
            self._running[run] = thread
            self._number_waiting()

    def _waits(self, count: int) -> list[float] | None:
        """In how many seconds that many waiting runs start, from the pace of the running and of the last runs; None
        before anybody knows."""
        running = [run.duration() for run in self._running]
        totals = [*self._durations, *(duration[1] for duration in running if duration)]
        if not totals:
            return None
        each = sum(totals) / len(totals)
        return starts([duration[1] - duration[0] if duration else each for duration in running], each, count)

    def _start_checker(self) -> None:
        """Start the thread that checks all runs and the spare worker, if it does not run yet."""
        if self._checker is None:
            checker = threading.Thread(target=self._check_all, daemon=True, name="headscope-trainings")
            checker.start()  # waits for the lock
            self._checker = checker

    # -- threads ------------------------------------------------------------------------------------------------------

    def _train(self, run: LiveRun, worker: WorkerProcess | None) -> None:
        """Train a run with this worker or a new one, then start the next run."""
        try:
            if worker is not None and not worker.alive():
                worker.end()
                worker = None
            ending = run.train(worker or self._new_worker())
        except OSError as error:
            reason = error.strerror or str(error)
            text = Text("The training process could not be started ({reason}). Try again later.", reason=reason)
            ending = Ending("failed", "died", text)
        except Exception as error:  # a bug in this app ends this run, but not the waiting runs
            logging.getLogger(__name__).exception("a training ended by an error of the app")
            text = Text("The training was lost because of a bug in this app ({kind}).", kind=type(error).__name__)
            ending = Ending("failed", "died", text)
        with self._lock:
            del self._running[run]
            if ending.reason in ("steps", "time") and (duration := run.duration()):
                self._durations.append(duration[0])
            with contextlib.suppress(RuntimeError):  # no thread could be started: the checker tries again
                self._start_waiting()
        run.finish(ending)

    def _new_worker(self) -> WorkerProcess:
        return WorkerProcess(self._command, 3 * self.seconds + 120)

    def _check_all(self) -> None:
        while True:
            with self._lock:
                now = time.monotonic()
                wanted = not self._closed and (now < self._spare_until or bool(self._waiting))
                if not (wanted or self._running or self._waiting or self._spare):
                    self._checker = None
                    return
                with contextlib.suppress(RuntimeError):
                    self._start_waiting()
                unused = self._change_spare(wanted, now)
                runs = [*self._running, *self._waiting]
            if unused is not None:
                unused.end()
            while runs:  # and keep none of them in memory
                runs.pop().check()
            time.sleep(CHECK_EVERY)

    def _change_spare(self, wanted: bool, now: float) -> WorkerProcess | None:
        """Start a spare worker if one is wanted, and return one that is dead or of no use. Holds the lock."""
        spare = self._spare
        if spare is not None and not (wanted and spare.alive()):
            self._spare = None
            return spare
        if spare is None and wanted and now >= self._next_spare:
            self._next_spare = now + SPARE_EVERY
            with contextlib.suppress(OSError):
                self._spare = self._new_worker()
        return None


def _owner(viewer: Hashable, address: Hashable) -> Owner:
    """None: one that nobody else has."""
    return object() if viewer is None else viewer, object() if address is None else address


# -- the queue of this process -----------------------------------------------------------------------------------------

_shared: list[TrainingQueue] = []
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


def shared() -> TrainingQueue:
    """The queue of this process, for all viewers. It is not in a Streamlit cache, because any visitor can empty those
    caches, and then the number of processes would have no limit."""
    with _lock:
        if not _shared:
            _shared.append(TrainingQueue(trainings(), training_seconds()))
        return _shared[0]
