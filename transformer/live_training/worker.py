"""The training process: `python -m transformer.live_training.worker`. The app starts one per training.

Standard input: one JSON object per line, first {"experiment": {...}, "seconds": 120.0}, later {"do": "pause" | "go" |
"stop"}. The end of the input means that the parent is gone, and ends the process at once. Standard output: messages
(see `messages`):

    ready                        torch is imported; waiting for the experiment
    opening   ...Opening         everything known before the first step
    frame     ...Frame           body: its weights
    progress  step, seconds of a core   after a step, at most five times a second, and when a pause begins
    done      reason, step       reason: "steps", "stopped" or "time"; body: the trained model's folder as a zip
    failed    error, exception   a sentence, or TOO_LARGE or CRASHED of `messages`; the name of the exception

It writes no file and uses one thread of torch.
"""

import contextlib
import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

PROGRESS_EVERY = 0.2  # seconds
LONGEST = 2_000_000  # characters of a line; 2,000 pairs as JSON take 600,000
Send = Callable[..., None]  # kind, values, body: a message to the parent


class Commands:
    """The parent's commands, read by a separate thread, which ends the process when the parent is gone.

    first: the first line, the experiment; go: set while the training is not paused.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.first: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.go = threading.Event()
        self.go.set()
        self.stopped = False
        threading.Thread(target=self._listen, args=(stream,), daemon=True, name="commands").start()

    def _listen(self, stream: BinaryIO) -> None:
        try:
            self.first.put(_read(stream))
            while True:
                values = _read(stream)
                command = values.get("do") if isinstance(values, dict) else None
                if command == "pause":
                    self.go.clear()
                elif command in ("go", "stop"):
                    self.stopped = self.stopped or command == "stop"
                    self.go.set()
        finally:
            os._exit(0)  # the parent is gone, and nothing else would interrupt a computation in the main thread


def _read(stream: BinaryIO) -> Any:
    """The next line; None if it is no JSON. Raises EOFError at the end."""
    if not (line := stream.readline(LONGEST)):
        raise EOFError
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(line)


def sender(stream: BinaryIO) -> Send:
    """Sends messages to the parent."""
    from transformer.live_training.messages import write

    def send(kind: str, values: Mapping[str, Any], body: bytes = b"") -> None:
        try:
            write(stream, kind, values, body)
        except OSError:
            os._exit(0)  # the parent is gone

    return send


def message_of(error: Exception) -> str:
    """What to tell the viewer who pressed Train."""
    from transformer.live_training.messages import CRASHED, TOO_LARGE
    from transformer.texts import UserError

    if isinstance(error, UserError):
        return str(error)
    traceback.print_exception(error)
    if isinstance(error, MemoryError) or "memory" in str(error):
        return TOO_LARGE
    return CRASHED


def train(first: Any, commands: Commands, send: Send) -> None:
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
    send("opening", session.opening.to_dict())
    sent = time.monotonic()

    def stop() -> bool:
        nonlocal sent
        if not commands.go.is_set() or time.monotonic() - sent >= PROGRESS_EVERY:
            send("progress", {"step": session.trainer.step, "seconds": session.seconds})
            commands.go.wait()
            sent = time.monotonic()
        return commands.stopped

    reason = session.run(lambda frame: send("frame", *frame.to_message()), stop, float(first["seconds"]))
    body = zipped(result_files(session, reason), name_of(experiment))
    send("done", {"reason": reason, "step": session.trainer.step}, body)


def main() -> None:
    """Serve one training, then end."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries goes to the log
    commands = Commands(sys.stdin.buffer)
    import torch

    import transformer.checkpoints.archive
    import transformer.live_training.result
    import transformer.live_training.session  # noqa: F401  imported before a viewer waits for the first step

    torch.set_num_threads(1)
    send = sender(out)
    send("ready", {})
    first = commands.first.get()
    try:
        train(first, commands, send)
    except Exception as error:
        send("failed", {"error": message_of(error), "exception": type(error).__name__})
    out.close()
    os._exit(0)  # at once, because the listening thread would still wait for the parent


if __name__ == "__main__":
    main()
