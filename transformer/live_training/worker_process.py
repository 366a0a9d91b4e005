"""The server's side of a worker process: its pipes, its limits and its exit code.

The process starts with pipes and limits and only sends `messages`: nothing is pickled, forked or shared.
"""

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformer.live_training.messages import Message, read
from transformer.texts import Text

COMMAND = (sys.executable, "-P", "-m", "transformer.live_training.worker")
# Largest memory of a worker in bytes, where the system can limit it (Linux). The default experiment takes 0.2 GB, six
# layers of width 128 with 128 inputs of 32 symbols 0.8 GB (deploy/README.md).
MEMORY = 1_500_000_000


def _environment() -> dict[str, str]:
    """The worker's environment: one thread, set before torch is imported, and the path of this package."""
    home = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": path}


def _process_group() -> dict[str, Any]:
    """A separate process group, so that Ctrl+C in the server's terminal does not reach the worker. Not a separate
    session: Linux first divides the cores among sessions (autogroup), so nice 19 would have no effect there."""
    if os.name == "posix":
        return {"process_group": 0}
    names = ("CREATE_NEW_PROCESS_GROUP", "IDLE_PRIORITY_CLASS", "CREATE_NO_WINDOW")
    return {"creationflags": sum(int(getattr(subprocess, name, 0)) for name in names)}


def _limit(pid: int, seconds: float) -> None:
    """Limits that the system enforces, where it can: lowest priority for a core, first to be killed when memory runs
    out, and an end even if the worker no longer reacts. seconds: of core time."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, pid, 19)  # before torch is imported, which takes a second of core time
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
    with contextlib.suppress(ImportError, AttributeError):
        resource: Any = importlib.import_module("resource")  # Windows has none, macOS no prlimit
        for name, limits in (
            (resource.RLIMIT_CORE, (0, 0)),  # a core dump would write typed text to the disk
            (resource.RLIMIT_DATA, (MEMORY, MEMORY)),
            (resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5)),
        ):
            with contextlib.suppress(OSError, ValueError):  # the server's own limit is lower and applies to the worker
                resource.prlimit(pid, name, limits)


class WorkerProcess:
    """A started worker; always call `end`.

    seconds: limit of its core time, where the system can enforce it. Raises OSError if it cannot be started.
    """

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment(), **_process_group()
        )
        self.pid = self._process.pid
        _limit(self.pid, seconds)

    def send(self, values: Mapping[str, Any]) -> None:
        """Send one line, which a worker that is gone does not read. Waits while the pipe is full."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # gone; or closed by `end`
            self._process.stdin.write(json.dumps(values).encode() + b"\n")
            self._process.stdin.flush()

    def receive(self) -> Message | None:
        """The next message, None at the end; waits for it. Raises MessageError, EOFError, OSError."""
        assert self._process.stdout is not None
        return read(self._process.stdout)  # type: ignore[arg-type]

    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill it at once. Does not wait."""
        self._process.kill()

    def end(self, seconds: float = 0.0) -> int:
        """Kill it after so many seconds, in which it may end by itself; wait until it is gone and close the pipes.
        Returns its exit code as in `subprocess`: negative for a signal."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self.kill()
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # unsent data is lost, as intended
                assert pipe is not None
                pipe.close()
        return code


def describe_exit(code: int) -> Text:
    """A sentence about the exit code of a process; negative codes are signals."""
    if code >= 0:
        return Text("The training process ended with exit code {code}.", code=code)
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    if name == "SIGKILL":
        return Text("The system or another program ended the training process (SIGKILL), perhaps for lack of memory.")
    return Text("The training process ended with the signal {name}.", name=name)
