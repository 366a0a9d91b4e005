"""The app in a separate process, started like a user does."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PORTS = range(8610, 8620)
START = 120  # seconds; a cold start imports torch from a cold disk
KEY = "the-key-of-the-benchmarks"  # of the operator's page and the metrics


class AppError(RuntimeError):
    """The app did not start; the message holds the end of what it wrote."""


@dataclass(frozen=True)
class App:
    """host: "localhost:8610"; pid: of the server's process."""

    host: str
    pid: int

    @property
    def address(self) -> str:
        return f"http://{self.host}"


def free_port() -> int:
    for port in random.sample(PORTS, len(PORTS)):  # two that start at once seldom choose the same
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("", port))
                return port
    raise AppError(f"ports {PORTS.start} to {PORTS.stop - 1} are all in use; end the programs that use them")


@contextlib.contextmanager
def running(checkpoint: Path, *options: str) -> Iterator[App]:
    """The app with this checkpoint and these options on a free port, ended afterwards. Raises AppError."""
    host = f"localhost:{free_port()}"
    command = [sys.executable, "-m", "transformer", "app", "--checkpoint", str(checkpoint), "--port", host[-4:]]
    command += options
    environment = {**os.environ, "HEADSCOPE_OPERATOR": KEY}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment
        )
        try:
            _wait(host, process)
            yield App(host, process.pid)
        except AppError as error:
            log.seek(0)
            raise AppError(f"{error}:\n{log.read().decode(errors='replace')[-2000:]}") from None
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(host: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{host}/_stcore/health", timeout=5) as answer:
            if answer.status == 200:
                return
        time.sleep(0.2)
    raise AppError("the app did not start")
