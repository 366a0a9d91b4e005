"""One training that a viewer watches: its state so far, and the viewer's commands."""

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from transformer.live_training.frames import Frame, Opening
from transformer.live_training.messages import Conversation, MessageError
from transformer.live_training.worker_process import WorkerProcess, describe_exit
from transformer.texts import Text

UNWATCHED = 10.0  # seconds without a viewer after which a run ends
# Seconds without a message after which a worker counts as lost. A worker of the lowest priority needs minutes for its
# start or for a large step while other programs use all cores.
SILENT = 600.0
PAUSES = 120.0  # seconds of all pauses of a run together, because other runs wait
SHORTEST_PAUSE = 1.0  # seconds that a pause counts at least: so few commands fit into a pipe that nobody reads


@dataclass(frozen=True)
class Ending:
    """How a run ended. stage: "done" or "failed"; reason: "steps", "stopped", "time", "left", "died", or "" with the
    worker's error message; result: the trained model as a zip."""

    stage: str
    reason: str
    error: Text | str = ""
    result: bytes | None = None


VIEWER_LEFT, STOPPED = Ending("done", "left"), Ending("done", "stopped")


class LiveRun:
    """A run of the `TrainingQueue`. Any thread may read its attributes; they change until `ended`.

    stage: "waiting", "starting", "training", "paused", "done" or "failed"
    place: in the queue, 1: next, 0: not waiting; wait: seconds until it will probably start, None if nobody knows
    opening, frames: from the worker; frames are only added. step: made last; seconds: of a core, so far
    limit: seconds of a core after which it ends; reason, error, result: as in `Ending`, after the end
    owner: its viewer and the network address; experiment: an `Experiment`
    """

    recording = False  # a `RecordedRun` is one

    def __init__(
        self, experiment: Any, limit: float, watched: Callable[[], bool], owner: tuple[Hashable, Hashable]
    ) -> None:
        """watched: whether its viewer is still there."""
        self.id = secrets.token_hex(6)
        self.experiment, self.limit, self.owner = experiment, limit, owner
        self.stage, self.place, self.reason = "waiting", 0, ""
        self.wait: float | None = None
        self.error: Text | str = ""
        self.opening: Opening | None = None
        self.frames: list[Frame] = []
        self.step, self.seconds = 0, 0.0
        self.result: bytes | None = None
        self._watched: Callable[[], bool] | None = watched
        self._lock = threading.RLock()
        self._worker: WorkerProcess | None = None
        self._stopping = False  # its worker has been told to stop
        self._forced: Ending | None = None  # the ending of a run whose worker was killed
        self._pauses = 0.0  # seconds of the pauses that are over
        # When the viewer was seen last, the worker sent something last, its training began, and the last pause began.
        self._seen = self._heard = self._began = self._pause_began = time.monotonic()

    # -- for viewers ------------------------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """Whether it is over, well or not."""
        return self.stage in ("done", "failed")

    def _paused_for(self) -> float:
        now = max(SHORTEST_PAUSE, time.monotonic() - self._pause_began) if self.stage == "paused" else 0.0
        return self._pauses + now

    @property
    def pause_left(self) -> float:
        """Seconds of pause that remain."""
        return max(0.0, PAUSES - self._paused_for())

    def pause(self) -> None:
        """Pause the training, for at most `pause_left` seconds; then it continues."""
        with self._lock:
            if self.stage == "training" and self.pause_left and self._worker and not self._stopping:
                self._worker.send({"do": "pause"})
                self._pause_began = time.monotonic()
                self.stage = "paused"

    def go_on(self) -> None:
        """Continue after a pause."""
        with self._lock:
            if self.stage == "paused":
                self._end_pause("go")

    def stop(self) -> None:
        """End the run with the model so far; a run that does not train yet ends without a model."""
        with self._lock:
            if self.stage in ("waiting", "starting"):
                self.force(STOPPED)
            elif not self.ended and not self._stopping:
                self._stopping = True
                self._end_pause("stop")

    def _end_pause(self, command: str) -> None:
        """Send a command that ends a pause, if there is one."""
        self._pauses = self._paused_for()
        self._heard = time.monotonic()
        self.stage = "training"
        if self._worker:
            self._worker.send({"do": command})

    # -- for the queue ----------------------------------------------------------------------------------------------

    def duration(self) -> tuple[float, float] | None:
        """Seconds of its training so far, and of all of it at its pace so far, without pauses; None before a step."""
        if not self.step:
            return None
        so_far = time.monotonic() - self._began - self._paused_for()
        done = max(self.step / self.experiment.steps, self.seconds / self.limit)
        return so_far, so_far / min(1.0, done)

    def start(self) -> None:
        """Its turn has come."""
        with self._lock:
            if not self.ended:
                self._heard = time.monotonic()
                self.place, self.stage = 0, "starting"

    def force(self, ending: Ending) -> None:
        """End it now. A run that trains gets this ending, unless its last message has been sent already."""
        with self._lock:
            self._forced = self._forced or ending
            if self.stage == "waiting":
                self.finish(ending)
            if self._worker:
                self._worker.kill()

    def finish(self, ending: Ending) -> None:
        """Note how it has ended, and keep only its results."""
        with self._lock:
            if not self.ended:
                self.reason, self.error, self.result, self.place = ending.reason, ending.error, ending.result, 0
                self._worker = self._watched = None
                self.stage = ending.stage

    def check(self) -> None:
        """Call several times a second: ends a run without a viewer or with a lost worker, and a pause that is over."""
        now = time.monotonic()
        with contextlib.suppress(Exception):  # a question that fails is no answer
            if self._watched and self._watched():
                self._seen = now
        if now - self._seen > UNWATCHED:
            self.force(VIEWER_LEFT)
        elif self.stage == "paused":
            if not self.pause_left:
                self.go_on()
        elif self.stage != "waiting" and now - self._heard > SILENT:
            silent = Text("The training process sent nothing for {seconds:g} seconds and was ended.", seconds=SILENT)
            self.force(self._died(silent))

    def train(self, worker: WorkerProcess) -> Ending:
        """Train with this worker, read its messages, end the worker and return how the run ended."""
        with self._lock:
            self._worker = worker
            if self._forced:
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
        return last or self._forced or self._died(problem or describe_exit(code))

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
        conversation = Conversation(self.experiment.steps)
        ready = False
        while (message := worker.receive()) is not None:
            self._heard = time.monotonic()
            match message.kind:
                case "ready":
                    if ready:
                        raise MessageError('a second "ready"')
                    ready = True
                    worker.send({"experiment": self.experiment.to_dict(), "seconds": self.limit})
                case "opening":
                    self.opening = conversation.opening(message)
                    with self._lock:
                        self._began, self.stage = self._heard, "training"
                case "frame":
                    frame = conversation.frame(message)
                    self.frames.append(frame)
                    self.step, self.seconds = frame.step, frame.seconds
                case "progress":
                    self.step, self.seconds = conversation.progress(message)
                case "done":
                    reason, self.step = conversation.done(message)
                    return Ending("done", reason, "", message.body or None)
                case "failed":
                    return Ending("failed", "", conversation.failed(message))
        return None
