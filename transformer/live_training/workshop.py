"""Where models are trained while people watch: worker processes, a bounded number at once, and a line before them."""

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

from transformer.live_training.live_run import LEFT, Ending, LiveRun, Patience, Setting
from transformer.live_training.worker_process import COMMAND, LOOK, WorkerProcess
from transformer.texts import UserError

TRAININGS = "HEADSCOPE_TRAININGS"
SECONDS = "HEADSCOPE_TRAINING_SECONDS"
TIME_LIMIT = 120.0  # seconds of training
LINE = 100  # runs that wait
EACH = 4  # runs of one viewer that have not ended
END = 5.0  # seconds
AGAIN = 10.0  # seconds after a worker that was started ahead died, until another is


class WorkshopError(UserError):
    """Nothing more can be begun here now; one sentence."""


class Workshop:
    """Trains in processes of their own: `most` at once, the others in a line, first come, first served.

    seconds: of training, after which a run ends. Nothing is kept of runs that have ended; whoever began them does.
    Besides `most` workers there is one more at most, which has imported torch and waits for the next run.
    """

    def __init__(
        self, most: int, seconds: float, command: Sequence[str] = COMMAND, patience: Patience | None = None
    ) -> None:
        self.most, self.seconds = most, seconds
        self._command, self._patience = tuple(command), patience or Patience()
        self._lock = threading.Lock()
        self._line: deque[LiveRun] = deque()
        self._running: list[LiveRun] = []
        self._slots: list[threading.Thread] = []
        self._keeper: threading.Thread | None = None
        self._wake = threading.Event()
        self._spare: WorkerProcess | None = None
        self._wanted = -math.inf  # until when somebody may want a worker
        self._none_before = -math.inf
        self._closed = False
        atexit.register(self.close)

    @property
    def waiting(self) -> int:
        """How many stand in the line."""
        return len(self._line)

    @property
    def running(self) -> int:
        """How many have a place: start, train or pause."""
        return len(self._running)

    def begin(self, experiment: Setting, alive: Callable[[], bool], viewer: Hashable = None) -> LiveRun:
        """Train it, as soon as there is a place. alive: whether its viewer is still there, asked from another thread
        several times a second; viewer: whose runs are counted together, None: nobody's. Raises WorkshopError."""
        if self.most < 1:
            raise WorkshopError(
                "training is switched off on this server; its operator can allow it with headscope --trainings N"
            )
        with self._lock:
            if self._closed:
                raise WorkshopError("the server is shutting down; no new run can start")
            own = sum(run.viewer == viewer for run in [*self._running, *self._line])
            if viewer is not None and own >= EACH:
                raise WorkshopError(
                    "you already have {count} runs, the limit for one viewer; stop one of them", count=own
                )
            if len(self._line) >= LINE:
                raise WorkshopError(
                    "the queue is full, {count} runs are waiting; try again in a few minutes", count=len(self._line)
                )
            run = LiveRun(experiment, self.seconds, alive, viewer, self._withdraw, self._patience)
            try:
                self._keep()
                if len(self._running) < self.most:
                    self._open_slot(run)
                else:
                    self._line.append(run)
                    run.place = len(self._line)
            except RuntimeError as error:  # no thread could be started
                raise WorkshopError("the machine is busy ({error}); try again in a few minutes", error=error) from error
        return run

    def prepare(self) -> None:
        """Somebody may begin soon: a worker is started ahead, and ends after a minute in which nobody called this."""
        with self._lock:
            if self.most > 0 and not self._closed:
                self._wanted = time.monotonic() + self._patience.unused
                with contextlib.suppress(RuntimeError):  # no thread could be started
                    self._keep()
                if self._spare is None:
                    self._wake.set()

    def close(self) -> None:
        """End all runs and workers, and wait until they are gone, END seconds at most for each: a process that the
        system itself holds must not hold the server. Nothing can be begun afterwards."""
        atexit.unregister(self.close)
        with self._lock:
            self._closed = True
            waiting, running = list(self._line), list(self._running)
            threads = [*self._slots, *([self._keeper] if self._keeper else [])]
            self._line.clear()
            self._wake.set()
        for run in waiting:
            run.finish(LEFT)
        for run in running:
            run.condemn(LEFT)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(END)

    # -- the line and the places, the lock held -----------------------------------------------------------------------

    def _open_slot(self, run: LiveRun) -> None:
        """A thread for a place that is free: it serves this run, and then the next of the line until there is none."""
        slot = threading.Thread(target=self._serve_all, args=([run],), daemon=True, name="headscope-training")
        run.start()
        self._running.append(run)
        self._slots.append(slot)
        try:
            slot.start()
        except RuntimeError:
            self._running.remove(run)
            self._slots.remove(slot)
            raise

    def _number(self) -> None:
        for place, run in enumerate(self._line, 1):
            run.place = place

    def _keep(self) -> None:
        """A thread that looks after all runs and the worker started ahead, as long as there are any."""
        if self._keeper is None:
            keeper = threading.Thread(target=self._look_after, daemon=True, name="headscope-workshop")
            keeper.start()  # waits for the lock
            self._keeper = keeper

    # -- threads ------------------------------------------------------------------------------------------------------

    def _withdraw(self, run: LiveRun) -> bool:
        """Take it off the line; False if it stands there no more."""
        with self._lock:
            if run not in self._line:
                return False
            self._line.remove(run)
            self._number()
            return True

    def _serve_all(self, given: list[LiveRun]) -> None:
        run: LiveRun | None = given.pop()  # in a list: the thread's arguments would hold the first run to the end
        while run is not None:
            ending: Ending | None = self._serve(run)
            with self._lock:
                self._running.remove(run)
                following = None
                if self._line:
                    following = self._line.popleft()
                    following.start()
                    self._running.append(following)
                    self._number()
                else:
                    self._slots.remove(threading.current_thread())
            assert ending is not None
            run.finish(ending)
            run, ending = following, None  # the result is not this thread's to keep while it serves the next

    def _serve(self, run: LiveRun) -> Ending:
        try:
            return run.follow(self._take_worker())
        except OSError as error:
            said = error.strerror or str(error)
            return Ending("failed", "died", f"A process to train in could not be started ({said}); try again later.")
        except Exception as error:  # a defect of ours costs this run, and not the place of those who wait
            logging.getLogger(__name__).exception("a training ended by an error of the workshop")
            return Ending("failed", "died", f"The training was lost by a defect of this app ({type(error).__name__}).")

    def _new_worker(self) -> WorkerProcess:
        return WorkerProcess(self._command, 3 * self.seconds + 120)

    def _take_worker(self) -> WorkerProcess:
        """The one started ahead, or a new one. Raises OSError."""
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None and not spare.alive():
            spare.end()
            spare = None
        return spare or self._new_worker()

    def _look_after(self) -> None:
        while True:
            with self._lock:
                now = time.monotonic()
                wanted = not self._closed and (now < self._wanted or bool(self._line))
                if not wanted and not self._running and not self._line and self._spare is None:
                    self._keeper = None
                    return
                self._wake.clear()
                runs = [*self._running, *self._line]
            self._look_at_spare(wanted, now)
            while runs:
                runs.pop().look()
            if self._closed:
                time.sleep(LOOK)
            else:
                self._wake.wait(self._patience.look)

    def _look_at_spare(self, wanted: bool, now: float) -> None:
        with self._lock:
            spare = self._spare
            dead = spare is not None and not spare.alive()
            if spare is not None and (dead or not wanted):
                self._spare = None
        if spare is None and wanted and now >= self._none_before:
            try:
                made = self._new_worker()
            except OSError:
                self._none_before = now + AGAIN
                return
            with self._lock:
                self._spare = made
        elif spare is not None and (dead or not wanted):
            spare.end()
            if dead:
                self._none_before = now + AGAIN


# -- the one of this process -------------------------------------------------------------------------------------------

_shared: list[Workshop] = []
_lock = threading.Lock()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def trainings() -> int:
    """How many may train at once: HEADSCOPE_TRAININGS, or as many as there are cores; 0: none."""
    text = os.environ.get(TRAININGS, "")
    return int(text) if _is_number(text) and len(text) < 5 else os.cpu_count() or 2


def training_seconds() -> float:
    """Seconds of training after which a run ends: HEADSCOPE_TRAINING_SECONDS, or TIME_LIMIT."""
    text = os.environ.get(SECONDS, "")
    return float(text) if _is_number(text) and 0 < int(text) < 1e6 else TIME_LIMIT


def shared() -> Workshop:
    """The workshop of this process, for all viewers. Not a cache of Streamlit: any visitor may empty those, and the
    number of processes would be bounded no more."""
    with _lock:
        if not _shared:
            _shared.append(Workshop(trainings(), training_seconds()))
        return _shared[0]
