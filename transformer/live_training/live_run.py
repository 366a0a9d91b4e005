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
MOST_PAUSES = 100  # of a run: 4 KB of commands, which fit into the smallest pipe even if the worker does not read


class Setting(Protocol):
    """The settings of a training: an `Experiment`."""

    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Patience:
    """For how many seconds the workshop waits; longer means that somebody has left, or that a worker has failed.

    gone: for a viewer who has left. start: for a new worker to train; on a busy machine, importing torch and making
        data take long.
    asleep: while a worker neither computes nor waits for a core (`Idle`).
    mute: of a core, which a training worker uses without a message; it sends five a second.
    silence: for a message of a training worker, which may get no core. stuck: for its next step.
    stop: after the command to stop, for the last message, with the model.
    pause: all pauses of a run together, because other runs wait. unused: with a worker that was started ahead.
    look: between two checks of all this.
    """

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


# The viewer has left, a viewer has stopped the run, or its time is over.
VIEWER_LEFT, STOPPED, OUT_OF_TIME = (Ending("done", reason) for reason in ("left", "stopped", "time"))


class LiveRun:
    """A run of the workshop. Any thread may read its attributes; they change until `ended`.

    stage: "waiting", "starting", "training", "paused", "done" or "failed"
    place: in the queue, 1: next, 0: not waiting; wait: seconds until it will probably start, None if nobody knows
    opening, frames: from the worker; frames are only added. step: made last; seconds: of a core, so far
    limit: seconds of a core after which it ends; reason, error, result: as in `Ending`, after the end
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
        """experiment, limit, alive, viewer, address: as in `Workshop.begin`. withdraw: removes the run from the queue;
        returns False if it is not in the queue."""
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
        self._forced: Ending | None = None  # the ending of a run whose worker was killed
        self._stop_sent = 0.0  # when the worker got the command to stop; 0: not yet
        self._out_of_time = False  # it got this command because its time is over
        self._pauses, self._paused_for, self._paused_at = 0, 0.0, 0.0
        # When, for the last time: the viewer was there, the worker sent something, a stage began, a step was made.
        self._viewer_seen = self._last_message = self._stage_began = self._last_step = time.monotonic()

    # -- for viewers ------------------------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """Whether it is over, well or not."""
        return self.stage in ENDED

    @property
    def pause_left(self) -> float:
        """Seconds of pause that remain."""
        if self.stage == "paused":
            return max(0.0, self._patience.pause - self._paused_for - (time.monotonic() - self._paused_at))
        return max(0.0, self._patience.pause - self._paused_for) if self._pauses < MOST_PAUSES else 0.0

    def pause(self) -> None:
        """Pause the training, for at most `pause_left` seconds; then it continues."""
        left = self.pause_left
        with self._lock:
            if self.stage == "training" and left > 0 and not self._stop_sent and self._worker:
                self._pauses += 1
                self._worker.send({"do": "pause"})
                self._paused_at = time.monotonic()
                self.stage = "paused"

    def go_on(self) -> None:
        """Continue after a pause."""
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
            self.end_by_force(STOPPED)
        else:
            self._send_stop()

    def _send_stop(self, late: bool = False) -> None:
        with self._lock:
            if self.stage in ("training", "paused") and not self._stop_sent and self._worker:
                self._stop_sent, self._out_of_time = time.monotonic(), late
                self._worker.send({"do": "stop"})

    # -- for the workshop -------------------------------------------------------------------------------------------

    @property
    def trained(self) -> float | None:
        """Seconds since its first step could begin, without pauses; None before."""
        if self.opening is None:
            return None
        paused = self._paused_for + (time.monotonic() - self._paused_at if self.stage == "paused" else 0.0)
        return time.monotonic() - self._stage_began - paused

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
            self._stage_began = self._last_message = self._last_step = time.monotonic()
            self.place, self.stage = 0, "starting"

    def end_by_force(self, ending: Ending) -> None:
        """Kill its worker. The run gets this ending, unless its last message has been sent already."""
        with self._lock:
            self._forced = self._forced or ending
            worker = self._worker
        if worker is not None:
            worker.kill()

    def finish(self, ending: Ending) -> None:
        """Note how the run has ended, and keep only its results."""
        with self._lock:
            if not self.ended:
                self.reason, self.error, self.result, self.place = ending.reason, ending.error, ending.result, 0
                self._worker = self._alive = self._withdraw = None
                self.stage = ending.stage

    def train_with(self, worker: WorkerProcess) -> Ending:
        """Train with this worker, read its messages, end the worker and return how the run ended."""
        with self._lock:
            self._worker = worker
            has_ended = self._forced is not None
        if has_ended:
            worker.kill()
        problem: Text | None = None
        last = None
        try:
            last = self._read_messages(worker)
        except MessageError as error:
            problem = Text("The training process sent an invalid message ({error}) and was ended.", error=error)
        except (EOFError, OSError):
            pass
        finally:
            code = worker.end(0.0 if last or problem else 0.5)  # a dying process closes its pipes before it is gone
        with self._lock:
            if last is not None:
                late = self._out_of_time and last.reason == "stopped"
                return Ending(last.stage, "time", "", last.result) if late else last
            if self._forced is not None:
                return self._forced
        return self._died(problem or how_it_ended(code))

    def _died(self, problem: Text) -> Ending:
        """The ending of a run whose process failed. problem: one sentence."""
        if self.opening:
            text = Text("{problem} Its last step was {step:,}. Train again, or train a smaller model.",
                        problem=problem, step=self.step)  # fmt: skip
        else:
            text = Text("{problem} It had not made a step yet. Train again, or train a smaller model.", problem=problem)
        return Ending("failed", "died", text)

    def _read_messages(self, worker: WorkerProcess) -> Ending | None:
        """Read all messages. Returns None if they end without a last message."""
        checked = Checked(int(getattr(self.experiment, "steps", STEPS)))
        ready = False
        while (message := worker.receive()) is not None:
            self._last_message = time.monotonic()
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
                self._take_over(message, checked)
        return None

    def _take_over(self, message: Message, checked: Checked) -> None:
        """Take over an opening, a frame or a pulse."""
        if message.kind == "opening":
            checked.opening(message)
            self.opening = Opening.from_dict(message.values)
            with self._lock:
                self._stage_began, self.stage = self._last_message, "training"
        elif message.kind == "frame":
            checked.frame(message)
            frame = Frame.from_message(message.values, message.body)
            self.frames.append(frame)
            self.step, self.seconds, self._last_step = frame.step, frame.seconds, self._last_message
        else:
            step, self.seconds = checked.pulse(message)
            if step != self.step or self.stage == "paused":
                self._last_step = self._last_message
            self.step = step

    def look(self) -> None:
        """Call every `Patience.look` seconds: ends a run without a viewer, or without a process that works."""
        now, patience, worker = time.monotonic(), self._patience, self._worker
        if worker is not None and not worker.alive():
            worker.kill()  # its child processes could keep its pipes open and hide that it is gone
        if self._viewer_is_there():
            self._viewer_seen = now
        if now - self._viewer_seen > patience.gone:
            withdraw = self._withdraw
            if withdraw is not None and withdraw(self):
                self.finish(VIEWER_LEFT)
            else:
                self.end_by_force(VIEWER_LEFT)
        elif self.stage == "starting" and now - self._stage_began > patience.start:
            late = Text("The training process did not start within {seconds:g} seconds and was ended.",
                        seconds=patience.start)  # fmt: skip
            self.end_by_force(self._died(late))
        elif worker is not None and (hangs := self._hangs(now, worker)) is not None:
            stopped = OUT_OF_TIME if self._out_of_time else STOPPED
            self.end_by_force(stopped if self._stop_sent else self._died(hangs))
        elif self.stage in ("training", "paused"):
            self._look_at_worker(now, patience)

    def _hangs(self, now: float, worker: WorkerProcess) -> Text | None:
        """A sentence if the worker was stopped, waits for what never comes, or computes without a message."""
        activity = worker.activity()
        if activity is None:
            return None
        starts = self.stage == "starting"  # it may read from a slow disk, but has no second thread that uses a core
        progress = self.stage, self.step, len(self.frames), activity.seconds if starts else 0.0
        self._idle.look(now, activity, progress, self._last_message, self.stage == "paused")
        if self._idle.asleep > self._patience.asleep:
            return Text("The training process did nothing for {seconds:g} seconds and was ended.",
                        seconds=self._patience.asleep)  # fmt: skip
        if self.stage == "training" and self._idle.computed > self._patience.mute:
            return Text("The training process computed for {seconds:g} seconds without a message and was ended.",
                        seconds=self._patience.mute)  # fmt: skip
        return None

    def _viewer_is_there(self) -> bool:
        """Whether its viewer is still there; False if that cannot be found out."""
        alive = self._alive
        with contextlib.suppress(Exception):
            return alive is not None and bool(alive())
        return False

    def _look_at_worker(self, now: float, patience: Patience) -> None:
        if self.stage == "paused" and not self.pause_left:
            self.go_on()
        if self._stop_sent and now - self._stop_sent > patience.stop:
            self.end_by_force(OUT_OF_TIME if self._out_of_time else STOPPED)
        elif now - self._last_message > patience.silence:
            silent = Text("The training process sent nothing for {seconds:g} seconds and was ended.",
                          seconds=patience.silence)  # fmt: skip
            self.end_by_force(self._died(silent))
        elif now - self._last_step > patience.stuck:
            stuck = Text("The training process made no step for {seconds:g} seconds and was ended.",
                         seconds=patience.stuck)  # fmt: skip
            self.end_by_force(self._died(stuck))
        elif self.seconds > self.limit + 5:  # of a core: a busy machine takes none of them
            self._send_stop(late=True)
