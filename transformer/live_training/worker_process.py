"""One worker process, seen from the server: its pipes, its end, and what is known of how it ended.

The child is started with pipes and bounds, and speaks through `messages` alone: nothing is pickled, forked or shared.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformer.live_training.messages import Message, read

COMMAND = (sys.executable, "-P", "-m", "transformer.live_training.worker")
# Bytes of its own that a worker may have, where the system can bound it (Linux). What the page begins with takes
# 0.2 GB, six layers of width 128 over 128 inputs of 32 symbols 0.8 (deploy/README.md).
MEMORY = 1_500_000_000
LOOK = 0.005  # seconds between two looks at whether a process that was killed is gone
POSIX = os.name == "posix"


def _environment() -> dict[str, str]:
    """One thread, said before torch is imported; our package found where this process found it, not where it stands."""
    home = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": path}


def _apart() -> dict[str, Any]:
    """A process group of its own: Ctrl+C in the server's terminal is not for it. Not a session of its own: Linux shares
    the cores out among sessions first (autogroup), and there nice 19 would count for nothing against the server."""
    if POSIX:
        return {"process_group": 0}
    names = ("CREATE_NEW_PROCESS_GROUP", "IDLE_PRIORITY_CLASS", "CREATE_NO_WINDOW")
    return {"creationflags": sum(int(getattr(subprocess, name, 0)) for name in names)}


def _bound(pid: int, seconds: float) -> None:
    """What the system itself sees to, as far as it can: last in the queue for a core, first to go when memory runs out,
    and an end even for a worker that hears nothing any more. seconds: of a core."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, pid, 19)  # before torch is imported: that takes a second of a core too
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
    with contextlib.suppress(ImportError, AttributeError):
        resource: Any = importlib.import_module("resource")  # Windows has none, macOS no prlimit
        for name, limits in (
            (resource.RLIMIT_CORE, (0, 0)),  # nothing of what people typed is left on a disk
            (resource.RLIMIT_DATA, (MEMORY, MEMORY)),
            (resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5)),
        ):
            with contextlib.suppress(OSError, ValueError):  # the server's own limit is lower, and so the worker's
                resource.prlimit(pid, name, limits)


class WorkerProcess:
    """A worker that was started; `end` it in every case.

    seconds: of a core that it may take in all, where the system can bound it. Raises OSError if it cannot be started.
    """

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment(), **_apart()
        )
        self.pid = self._process.pid
        self._ended = False
        _bound(self.pid, seconds)

    def send(self, values: Mapping[str, Any]) -> bool:
        """One line to the worker; False if it is gone. Waits where the pipe is full."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(values).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):  # gone; or closed by `end`
            return False
        return True

    def receive(self) -> Message | None:
        """The next message, None at the end; waits for it. Raises MessageError, EOFError, OSError."""
        assert self._process.stdout is not None
        return read(self._process.stdout)  # type: ignore[arg-type]

    def alive(self) -> bool:
        """Whether the process runs. It is looked at without taking its number back from the system: until `end`, nobody
        else can be meant by it."""
        if not hasattr(os, "waitid"):  # Windows, macOS
            return self._process.poll() is None
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:
            return False

    def kill(self) -> None:
        """At once, with what it may have started, which would hold its pipes open; does not wait."""
        with self._lock, contextlib.suppress(OSError):
            if not self._ended:
                if POSIX:
                    os.killpg(self.pid, signal.SIGKILL)
                else:
                    self._process.kill()

    def end(self, patience: float = 0.0) -> int:
        """Kill it, after so many seconds in which it may end by itself, wait until it is gone, and close the pipes:
        nothing of it is left. The code it ended with, as `subprocess` counts it: negative for a signal."""
        until = time.monotonic() + patience
        while self.alive() and time.monotonic() < until:
            time.sleep(LOOK)
        self.kill()
        while self.alive():
            time.sleep(LOOK)
        with self._lock:
            self._ended = True
            code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was not written yet is for nobody
                assert pipe is not None
                pipe.close()
        return code


def how(code: int) -> str:
    """The code a process ended with, as a part of a sentence."""
    if code >= 0:
        return f"with exit code {code}"
    try:
        return f"by the signal {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"
