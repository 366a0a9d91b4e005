"""The training process: `python -m transformer.live_training.worker`. The app starts one per training.

Standard input: one JSON object per line, first {"experiment": {...}, "seconds": 120.0}, later {"do": "pause" | "go" |
"stop"}. The end of the input means that the parent is gone, and ends the process at once. Standard output: messages
(see `messages`):

    ready                        torch is imported; waiting for the experiment
    opening  ...Opening          everything known before the first step
    frame    ...Frame            body: its weights
    pulse    step, seconds of a core   several times a second: still alive, and the current step
    done     reason, step        reason: "steps", "stopped" or "time"; body: the trained model's folder as a zip
    failed   error, exception    a sentence, or TOO_LARGE or CRASHED of `messages`; the name of the exception

It writes no file and uses one thread of torch.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import traceback
from collections.abc import Mapping
from typing import Any, BinaryIO

PULSE = 0.2  # seconds between two pulses
LONGEST = 2_000_000  # characters of a line; 2,000 pairs as JSON take 600,000


class Commands:
    """The parent's commands, read by a separate thread, which ends the process when the parent is gone."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._changed = threading.Condition()
        self._first: Any = None
        self.paused = self.stopped = False
        threading.Thread(target=self._listen, daemon=True, name="commands").start()

    def _listen(self) -> None:
        try:
            while line := self._stream.readline(LONGEST):
                with self._changed:
                    self._read(line)
                    self._changed.notify_all()
        finally:
            os._exit(0)  # the parent is gone, and nothing else would interrupt a computation in the main thread

    def _read(self, line: bytes) -> None:
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            values = {}
        if self._first is None:
            self._first = values
            return
        command = values.get("do") if isinstance(values, dict) else None
        self.stopped = self.stopped or command == "stop"
        self.paused = command == "pause" or (self.paused and command not in ("go", "stop"))

    def first(self) -> Any:
        """Wait for the first line, the experiment."""
        with self._changed:
            self._changed.wait_for(lambda: self._first is not None)
            return self._first

    def wait_while_paused(self) -> None:
        """Return at once if the training is not paused, else when it goes on or stops."""
        if self.paused:
            with self._changed:
                self._changed.wait_for(lambda: not self.paused)


class Messages:
    """Messages to the parent, from several threads."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._lock = stream, threading.Lock()

    def send(self, kind: str, values: Mapping[str, Any], body: bytes = b"") -> None:
        from transformer.live_training.messages import write

        with self._lock:
            try:
                write(self._stream, kind, values, body)
            except OSError:
                os._exit(0)  # the parent is gone


def message_of(error: Exception) -> str:
    """What to tell the viewer who pressed Train."""
    from transformer.live_training.messages import CRASHED, TOO_LARGE
    from transformer.live_training.pairs import ExperimentError
    from transformer.model.config import ConfigError
    from transformer.text.tokenizer import TokenizerError
    from transformer.training.data import DataError
    from transformer.training.settings import TrainingError

    if isinstance(error, ConfigError | ExperimentError | TokenizerError | DataError | TrainingError):
        return str(error)
    traceback.print_exception(error)
    if isinstance(error, MemoryError) or "memory" in str(error):
        return TOO_LARGE
    return CRASHED


def train(first: Any, commands: Commands, messages: Messages) -> None:
    """Train one experiment, from its first message to the zip."""
    from transformer.checkpoints.archive import zipped
    from transformer.live_training.experiment import Experiment
    from transformer.live_training.pairs import ExperimentError
    from transformer.live_training.result import name_of, result_files
    from transformer.live_training.session import Session

    if not isinstance(first, dict) or not isinstance(first.get("seconds"), int | float):
        raise ExperimentError("there is no experiment; send a table with experiment and seconds first")
    experiment = Experiment.from_dict(first.get("experiment", {}))
    session = Session(experiment)
    trainer = session.trainer
    messages.send("opening", session.opening.to_dict())
    finished = threading.Event()

    def pulse() -> None:
        while not finished.wait(PULSE):
            messages.send("pulse", {"step": trainer.step, "seconds": session.recorder.seconds})

    beating = threading.Thread(target=pulse, daemon=True, name="pulse")
    beating.start()
    try:
        reason = session.run(
            lambda frame: messages.send("frame", *frame.to_message()),
            lambda: commands.stopped,
            commands.wait_while_paused,
            float(first["seconds"]),
        )
        body = zipped(result_files(session, reason), name_of(experiment))
    finally:
        finished.set()
        beating.join()
    messages.send("done", {"reason": reason, "step": trainer.step}, body)


def main() -> None:
    """Serve one training, then end."""
    with contextlib.suppress(AttributeError, OSError):
        os.setpriority(os.PRIO_PROCESS, 0, 19)  # exploring has priority over training
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries goes to the log
    commands, messages = Commands(sys.stdin.buffer), Messages(out)
    os.environ["OMP_NUM_THREADS"] = "1"  # read when torch is imported
    import torch

    import transformer.checkpoints.archive
    import transformer.live_training.result
    import transformer.live_training.session  # noqa: F401  imported before a viewer waits for the first step

    torch.set_num_threads(1)
    messages.send("ready", {})
    first = commands.first()
    try:
        train(first, commands, messages)
    except Exception as error:
        messages.send("failed", {"error": message_of(error), "exception": type(error).__name__})
    out.close()
    os._exit(0)  # at once, because the listening thread would still wait for the parent


if __name__ == "__main__":
    main()
