"""One training that somebody watches: what is known of it so far, and what a person can tell it."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

from transformer.live_training.frames import Frame, Opening
from transformer.live_training.messages import STEPS, Checked, Message, MessageError
from transformer.live_training.worker_process import WorkerProcess, how

ENDED = ("done", "failed")
PAUSES = 100  # of a run: what a worker that does not read leaves in the pipe, 4 KB, fits into the smallest


class Setting(Protocol):
    """What is trained: an `Experiment`."""

    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Patience:
    """Seconds. gone: a viewer who left may come back; start: until a worker trains, torch imported and data made, on a
    machine that is busy; silence: between two messages of one that trains; stop: for its last message, with the model;
    pause: all pauses of a run, others wait for it; unused: a worker started ahead; look: between two looks."""

    gone: float = 10.0
    start: float = 120.0
    silence: float = 60.0
    stop: float = 30.0
    pause: float = 120.0
    unused: float = 60.0
    look: float = 0.25


@dataclass(frozen=True)
class Ending:
    """stage: of ENDED; reason: "steps", "stopped", "time", "left", "died", or "" with the worker's own error; result: a
    trained model as a zip."""

    stage: str
    reason: str
    error: str = ""
    result: bytes | None = None


LEFT, STOPPED, TIME = (Ending("done", reason) for reason in ("left", "stopped", "time"))


class LiveRun:
    """A run of the workshop. Attributes are read by any thread at any time, and change until `ended`.

    stage: "waiting", "starting", "training", "paused", "done" or "failed"; place: in the line, 1: next, 0: not there
    opening, frames: as the worker sent them, frames only ever added; step, seconds: of training, as far as it has come
    limit: seconds of training after which it ends; reason, error, result: as in `Ending`, once it has ended
    """

    def __init__(
        self,
        experiment: Setting,
        limit: float,
        alive: Callable[[], bool],
        viewer: Hashable,
        withdraw: Callable[[LiveRun], bool],
        patience: Patience,
    ) -> None:
        """withdraw: takes the run off the line; False if it stands there no more."""
        self.id = secrets.token_hex(6)
        self.experiment, self.limit, self.viewer = experiment, limit, viewer
        self.stage, self.place, self.reason, self.error = "waiting", 0, "", ""
        self.opening: Opening | None = None
        self.frames: list[Frame] = []
        self.step, self.seconds = 0, 0.0
        self.result: bytes | None = None
        self._alive: Callable[[], bool] | None = alive
        self._withdraw: Callable[[LiveRun], bool] | None = withdraw
        self._patience = patience
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._verdict: Ending | None = None  # why the worker was killed
        self._stopping = 0.0  # when it was told to stop; 0: it was not
        self._late = False  # told so because its time is over
        self._pauses, self._paused_for, self._paused_at = 0, 0.0, 0.0
        self._seen = self._heard = self._since = time.monotonic()  # viewer, worker, begin of starting or training

    # -- for whoever watches ----------------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        return self.stage in ENDED

    @property
    def pause_left(self) -> float:
        """Seconds for which it may still be paused; 0: no more."""
        if self.stage == "paused":
            return max(0.0, self._patience.pause - self._paused_for - (time.monotonic() - self._paused_at))
        return max(0.0, self._patience.pause - self._paused_for) if self._pauses < PAUSES else 0.0

    def pause(self) -> None:
        """Hold the training, for `pause_left` seconds at most: then it goes on."""
        left = self.pause_left
        with self._lock:
            if self.stage == "training" and left > 0 and not self._stopping and self._worker:
                self._pauses += 1
                self._worker.send({"do": "pause"})
                self._paused_at = time.monotonic()
                self.stage = "paused"

    def go_on(self) -> None:
        with self._lock:
            if self.stage == "paused" and self._worker:
                self._worker.send({"do": "go"})
                self._paused_for += time.monotonic() - self._paused_at
                self.stage = "training"

    def stop(self) -> None:
        """End it, with the model as it is; one that does not train yet ends without a model."""
        withdraw = self._withdraw
        if withdraw is not None and withdraw(self):
            self.finish(STOPPED)
        elif self.stage == "starting":
            self.condemn(STOPPED)
        else:
            self._tell_to_stop()

    def _tell_to_stop(self, late: bool = False) -> None:
        with self._lock:
            if self.stage in ("training", "paused") and not self._stopping and self._worker:
                self._stopping, self._late = time.monotonic(), late
                self._worker.send({"do": "stop"})

    # -- for the workshop -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """It has a place among those that train."""
        with self._lock:
            self._since = self._heard = time.monotonic()
            self.place, self.stage = 0, "starting"

    def condemn(self, ending: Ending) -> None:
        """Kill its worker; it ends as said here, unless its last message is on its way."""
        with self._lock:
            self._verdict = self._verdict or ending
            worker = self._worker
        if worker is not None:
            worker.kill()

    def finish(self, ending: Ending) -> None:
        """It has ended, and holds nothing any more but what it has to show."""
        with self._lock:
            if not self.ended:
                self.reason, self.error, self.result, self.place = ending.reason, ending.error, ending.result, 0
                self._worker = self._alive = self._withdraw = None
                self.stage = ending.stage

    def follow(self, worker: WorkerProcess) -> Ending:
        """Hand it to a worker, read what the worker says, and return how it ended, the worker gone."""
        with self._lock:
            self._worker = worker
            condemned = self._verdict is not None
        if condemned:
            worker.kill()
        problem, last = "", None
        try:
            last = self._listen(worker)
        except MessageError as error:
            problem = f"sent what no worker sends, {error}, and was ended"
        except (EOFError, OSError):
            problem = ""
        finally:
            code = worker.end(0.0 if last or problem else 0.5)  # one that dies closes its pipes before it is gone
        with self._lock:
            if last is not None:
                late = self._late and last.reason == "stopped"
                return Ending(last.stage, "time", "", last.result) if late else last
            if self._verdict is not None:
                return self._verdict
        return Ending("failed", "died", self._obituary(problem or f"ended {how(code)}"))

    def _obituary(self, what: str) -> str:
        where = f"at step {self.step:,}" if self.opening else "before the first step"
        said = f"The process that trained {what}, {where}."
        if "SIGKILL" in what:
            said += " Something outside ended it, as the system does when memory runs out."
        return f"{said} Train again, or train a smaller model."

    def _listen(self, worker: WorkerProcess) -> Ending | None:
        """Take message after message; None: there are no more, and none was the last."""
        checked = Checked(int(getattr(self.experiment, "steps", STEPS)))
        told = False
        while (message := worker.receive()) is not None:
            self._heard = time.monotonic()
            if message.kind == "ready":
                if told:
                    raise MessageError('a second "ready"')
                told = True
                worker.send({"experiment": self.experiment.to_dict(), "seconds": self.limit})
            elif message.kind == "done":
                reason = checked.done(message)
                self.step = message.values["step"]
                return Ending("done", reason, "", message.body or None)
            elif message.kind == "failed":
                return Ending("failed", "", checked.failed(message))
            else:
                self._take(message, checked)
        return None

    def _take(self, message: Message, checked: Checked) -> None:
        if message.kind == "opening":
            checked.opening(message)
            self.opening = Opening.from_dict(message.values)
            with self._lock:
                self._since, self.stage = self._heard, "training"
        elif message.kind == "frame":
            checked.frame(message)
            frame = Frame.from_message(message.values, message.body)
            self.frames.append(frame)
            self.step, self.seconds = frame.step, frame.seconds
        else:
            self.step, self.seconds = checked.pulse(message)

    def look(self) -> None:
        """Called every `Patience.look` seconds: end what nobody waits for, or what waits for nothing."""
        now, patience, worker = time.monotonic(), self._patience, self._worker
        if worker is not None and not worker.alive():
            worker.kill()  # what it may have started would hold its pipes open, and nobody hear that it is gone
        if self._here():
            self._seen = now
        if now - self._seen > patience.gone:
            withdraw = self._withdraw
            if withdraw is not None and withdraw(self):
                self.finish(LEFT)
            else:
                self.condemn(LEFT)
        elif self.stage == "starting" and now - self._since > patience.start:
            said = f"did not begin within {patience.start:g} seconds and was ended"
            self.condemn(Ending("failed", "died", self._obituary(said)))
        elif self.stage in ("training", "paused"):
            self._look_at_worker(now, patience)

    def _here(self) -> bool:
        """Whether its viewer is; who cannot be asked is not."""
        alive = self._alive
        with contextlib.suppress(Exception):
            return alive is not None and bool(alive())
        return False

    def _look_at_worker(self, now: float, patience: Patience) -> None:
        if self.stage == "paused" and not self.pause_left:
            self.go_on()
        paused = self._paused_for + (now - self._paused_at if self.stage == "paused" else 0.0)
        # Training alone counts, and measuring beside it takes a part of the time: twice the limit is for a worker that
        # does not keep to it.
        overdue = self.seconds > self.limit + 5 or now - self._since - paused > 2 * self.limit + 30
        if self._stopping and now - self._stopping > patience.stop:
            self.condemn(TIME if self._late else STOPPED)
        elif now - self._heard > patience.silence:
            said = f"said nothing for {patience.silence:g} seconds and was ended"
            self.condemn(Ending("failed", "died", self._obituary(said)))
        elif overdue:
            self._tell_to_stop(late=True)
