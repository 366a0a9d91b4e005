"""One training that a viewer watches: its state so far, and the viewer's commands."""

from __future__ import annotations

import contextlib
import math
import secrets
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

from transformer.live_training.frames import Frame, Opening
from transformer.live_training.idle import Idle
from transformer.live_training.messages import STEPS, Checked, Message, MessageError
from transformer.live_training.worker_process import WorkerProcess, how_it_ended
from transformer.texts import Text

ENDED = ("done", "failed")
PAUSES = 100  # of a run: 4 KB of commands, which fit into the smallest pipe even if the worker does not read


class Setting(Protocol):
    """The settings of a training: an `Experiment`."""

    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Patience:
    """Time limits in seconds. gone: until a viewer who left must be back; asleep: in which a worker does not even wait
    for a core (`Idle`); mute: of a core that a training worker uses without a message, which it sends five times a
    second; start: until a worker trains (on a busy machine, importing torch and making data take long); silence:
    between two messages of a training worker that gets no core; stuck: between two of its steps; stop: until its last
    message, with the model; pause: all pauses of a run together, because others wait; unused: for a worker that was
    started ahead; look: between two checks."""

    gone: float = 10.0
    asleep: float = 8.0
    mute: float = 8.0
    start: float = 600.0
    silence: float = 60.0
    stuck: float = 1200.0
    stop: float = 30.0
    pause: float = 120.0
    unused: float = 60.0
    look: float = 0.25


@dataclass(frozen=True)
class Ending:
    """How a run ended. stage: one of ENDED; reason: "steps", "stopped", "time", "left", "died", or "" with the worker's
    error message; result: the trained model as a zip."""

    stage: str
    reason: str
    error: Text | str = ""
    result: bytes | None = None


LEFT, STOPPED, TIME = (Ending("done", reason) for reason in ("left", "stopped", "time"))


class LiveRun:
    """A run of the workshop. Any thread may read its attributes; they change until `ended`.

    stage: "waiting", "starting", "training", "paused", "done" or "failed"
    place: in the queue, 1: next, 0: not waiting; wait: seconds until it will probably start, None if nobody knows
    opening, frames: from the worker, frames are only added; step, seconds (of a core): so far
    limit: core seconds after which it ends; reason, error, result: as in `Ending`, after the end
    """

    def __init__(
        self,
        experiment: Setting,
        limit: float,
        alive: Callable[[], bool],
        viewer: Hashable,
        withdraw: Callable[[LiveRun], bool],
        patience: Patience,
        address: Hashable = None,
    ) -> None:
        """withdraw: removes the run from the queue; False if it is not in the queue."""
        self.id = secrets.token_hex(6)
        self.experiment, self.limit = experiment, limit
        self.viewer, self.address = viewer, address
        self.stage, self.place, self.reason = "waiting", 0, ""
        self.wait: float | None = None
        self.error: Text | str = ""
        self.opening: Opening | None = None
        self.frames: list[Frame] = []
        self.step, self.seconds = 0, 0.0
        self.result: bytes | None = None
        self._alive: Callable[[], bool] | None = alive
        self._withdraw: Callable[[LiveRun], bool] | None = withdraw
        self._patience = patience
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._idle = Idle()
        self._verdict: Ending | None = None  # why the worker was killed
        self._stopping = 0.0  # when it was told to stop; 0: not yet
        self._late = False  # told to stop because its time is over
        self._pauses, self._paused_for, self._paused_at = 0, 0.0, 0.0
        # When the viewer was seen, the worker heard, the stage begun, a step made.
        self._seen = self._heard = self._since = self._moved = time.monotonic()

    # -- for viewers ------------------------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        return self.stage in ENDED

    @property
    def pause_left(self) -> float:
        """Seconds of pause that remain."""
        if self.stage == "paused":
            return max(0.0, self._patience.pause - self._paused_for - (time.monotonic() - self._paused_at))
        return max(0.0, self._patience.pause - self._paused_for) if self._pauses < PAUSES else 0.0

    def pause(self) -> None:
        """Pause the training, for at most `pause_left` seconds; then it continues."""
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
        """End the run with the model so far; a run that does not train yet ends without a model."""
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

    @property
    def trained(self) -> float | None:
        """Seconds since its first step could begin, without pauses; None before."""
        if self.opening is None:
            return None
        paused = self._paused_for + (time.monotonic() - self._paused_at if self.stage == "paused" else 0.0)
        return time.monotonic() - self._since - paused

    @property
    def total(self) -> float | None:
        """Seconds that it will take at its pace so far, for all its steps or until its time is over; None before a
        step."""
        steps, trained = int(getattr(self.experiment, "steps", 0)), self.trained
        if trained is None or not self.step:
            return None
        until_time = self.limit / self.seconds if self.seconds > 0 else math.inf
        return trained * max(1.0, min(steps / self.step, until_time))

    @property
    def left(self) -> float | None:
        """Seconds until its end at its pace so far; None before a step."""
        total, trained = self.total, self.trained
        return None if total is None or trained is None else max(0.0, total - trained)

    def start(self) -> None:
        """The run leaves the queue and starts."""
        with self._lock:
            self._since = self._heard = self._moved = time.monotonic()
            self.place, self.stage = 0, "starting"

    def condemn(self, ending: Ending) -> None:
        """Kill its worker. The run gets this ending, unless its last message is already on the way."""
        with self._lock:
            self._verdict = self._verdict or ending
            worker = self._worker
        if worker is not None:
            worker.kill()

    def finish(self, ending: Ending) -> None:
        """The run has ended; keep only its results."""
        with self._lock:
            if not self.ended:
                self.reason, self.error, self.result, self.place = ending.reason, ending.error, ending.result, 0
                self._worker = self._alive = self._withdraw = None
                self.stage = ending.stage

    def follow(self, worker: WorkerProcess) -> Ending:
        """Train with this worker, read its messages, end the worker and return how the run ended."""
        with self._lock:
            self._worker = worker
            condemned = self._verdict is not None
        if condemned:
            worker.kill()
        problem: Text | None = None
        last = None
        try:
            last = self._listen(worker)
        except MessageError as error:
            problem = Text("The training process sent an invalid message ({error}) and was ended.", error=error)
        except (EOFError, OSError):
            pass
        finally:
            code = worker.end(0.0 if last or problem else 0.5)  # a dying process closes its pipes before it is gone
        with self._lock:
            if last is not None:
                late = self._late and last.reason == "stopped"
                return Ending(last.stage, "time", "", last.result) if late else last
            if self._verdict is not None:
                return self._verdict
        return self._died(problem or how_it_ended(code))

    def _died(self, problem: Text) -> Ending:
        """The ending of a run whose process failed. problem: one sentence."""
        if self.opening:
            text = Text("{problem} Its last step was {step:,}. Train again, or train a smaller model.",
                        problem=problem, step=self.step)  # fmt: skip
        else:
            text = Text("{problem} It had not made a step yet. Train again, or train a smaller model.", problem=problem)
        return Ending("failed", "died", text)

    def _listen(self, worker: WorkerProcess) -> Ending | None:
        """Read all messages. Returns None if they end without a last message."""
        checked = Checked(int(getattr(self.experiment, "steps", STEPS)))
        ready = False
        while (message := worker.receive()) is not None:
            self._heard = time.monotonic()
            if message.kind == "ready":
                if ready:
                    raise MessageError('a second "ready"')
                ready = True
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
            self.step, self.seconds, self._moved = frame.step, frame.seconds, self._heard
        else:
            step, self.seconds = checked.pulse(message)
            if step != self.step or self.stage == "paused":
                self._moved = self._heard
            self.step = step

    def look(self) -> None:
        """Called every `Patience.look` seconds: end a run without a viewer, or without a working process."""
        now, patience, worker = time.monotonic(), self._patience, self._worker
        if worker is not None and not worker.alive():
            worker.kill()  # its child processes could keep its pipes open and hide that it is gone
        if self._here():
            self._seen = now
        if now - self._seen > patience.gone:
            withdraw = self._withdraw
            if withdraw is not None and withdraw(self):
                self.finish(LEFT)
            else:
                self.condemn(LEFT)
        elif self.stage == "starting" and now - self._since > patience.start:
            late = Text("The training process did not start within {seconds:g} seconds and was ended.",
                        seconds=patience.start)  # fmt: skip
            self.condemn(self._died(late))
        elif worker is not None and (hangs := self._hangs(now, worker)) is not None:
            stopped = TIME if self._late else STOPPED
            self.condemn(stopped if self._stopping else self._died(hangs))
        elif self.stage in ("training", "paused"):
            self._look_at_worker(now, patience)

    def _hangs(self, now: float, worker: WorkerProcess) -> Text | None:
        """A sentence if the worker was stopped, waits for what never comes, or computes without a message."""
        activity = worker.activity()
        if activity is None:
            return None
        starts = self.stage == "starting"  # it may read from a slow disk, but has no second thread that uses a core
        progress = self.stage, self.step, len(self.frames), activity.seconds if starts else 0.0
        self._idle.look(now, activity, progress, self._heard, self.stage == "paused")
        if self._idle.asleep > self._patience.asleep:
            return Text("The training process did nothing for {seconds:g} seconds and was ended.",
                        seconds=self._patience.asleep)  # fmt: skip
        if self.stage == "training" and self._idle.computed > self._patience.mute:
            return Text("The training process computed for {seconds:g} seconds without a message and was ended.",
                        seconds=self._patience.mute)  # fmt: skip
        return None

    def _here(self) -> bool:
        """Whether its viewer is still there; False if that cannot be found out."""
        alive = self._alive
        with contextlib.suppress(Exception):
            return alive is not None and bool(alive())
        return False

    def _look_at_worker(self, now: float, patience: Patience) -> None:
        if self.stage == "paused" and not self.pause_left:
            self.go_on()
        if self._stopping and now - self._stopping > patience.stop:
            self.condemn(TIME if self._late else STOPPED)
        elif now - self._heard > patience.silence:
            silent = Text("The training process sent nothing for {seconds:g} seconds and was ended.",
                          seconds=patience.silence)  # fmt: skip
            self.condemn(self._died(silent))
        elif now - self._moved > patience.stuck:
            stuck = Text("The training process made no step for {seconds:g} seconds and was ended.",
                         seconds=patience.stuck)  # fmt: skip
            self.condemn(self._died(stuck))
        elif self.seconds > self.limit + 5:  # of a core: a busy machine takes none of them
            self._tell_to_stop(late=True)
