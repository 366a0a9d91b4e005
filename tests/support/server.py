"""Start and stop the app, as tests do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WAIT = 30_000  # milliseconds
START = 120  # seconds; a cold start imports torch from a cold disk


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a server and whatever it started; it leads a process group of its own."""
    if os.name == "posix":
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
                process.wait(10)
                return
            except ProcessLookupError:
                return
            except subprocess.TimeoutExpired:
                continue
    else:
        process.kill()
    process.wait(10)


def spawn(log: Path, *command: str, **environment: str) -> subprocess.Popen[bytes]:
    """A command in a process group of its own, which `stop` ends, with what it writes in the log."""
    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # Without the engine: it would load in every page of every test (tests/browser/conftest.py, live_server).
            env={**os.environ, "OMP_NUM_THREADS": "1", "HEADSCOPE_ENGINE": "off", **environment},
        )


def start(log: Path, port: int = 0, script: str = "app.py", **environment: str) -> tuple[subprocess.Popen[bytes], str]:
    """Start the app, on a free port unless one is given, and wait until it answers. Returns process and address."""
    port = port or free_port()
    command = [sys.executable, "-m", "transformer", "app", f"--port={port}"]
    if script != "app.py":
        command = [sys.executable, "-m", "streamlit", "run", script, f"--server.port={port}"]
    process = spawn(log, *command, **environment)
    address = f"http://localhost:{port}"
    until = time.monotonic() + START
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5) as answer:
                if answer.status == 200:
                    return process, address
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    stop(process)
    pytest.fail(f"the app did not start:\n{log.read_text(errors='replace')[-3000:]}", pytrace=False)


APP = [sys.executable, "-m", "transformer", "app"]
# A test may run where Ctrl+C is ignored (a background job of a shell), and its children would inherit that.
LISTENING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"


def started(log: Path, *options: str, **environment: str) -> subprocess.Popen[bytes]:
    """The app as a person starts it, in a process group of its own."""
    return spawn(log, sys.executable, "-c", LISTENING, *APP, *options, **environment)


def until(what: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START
    while not what():
        assert process.poll() is None and time.monotonic() < end, log.read_text()
        time.sleep(0.02)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def ended_cleanly(process: subprocess.Popen[bytes], log: Path) -> None:
    """The process ends by Ctrl+C, says nothing of it but that, and leaves nobody behind."""
    status = process.wait(60)
    text = log.read_text(errors="replace")
    assert status in (0, 130, -signal.SIGINT), (status, text)
    for word in ("Traceback", "Exception", "Error", "Warning", "never retrieved", "Aborted"):
        assert word not in text, text
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
