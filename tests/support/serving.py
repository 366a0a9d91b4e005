"""The app as a process of its own, as `python -m transformer app` starts it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.conftest import spawn

APP = [sys.executable, "-m", "transformer", "app"]
# A test may run where Ctrl+C is ignored (a background job of a shell), and its children would inherit that.
LISTENING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
PATIENCE = 120  # seconds; a cold start imports torch from a cold disk


def free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def started(log: Path, *options: str, **environment: str) -> subprocess.Popen[bytes]:
    """The app as a person starts it, in a process group of its own."""
    return spawn(log, sys.executable, "-c", LISTENING, *APP, *options, **environment)


def until(what: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
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
