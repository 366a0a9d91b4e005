"""Start and stop the app, as tests and benchmarks do."""

import contextlib
import functools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

ROOT = Path(__file__).resolve().parents[2]
WAIT = 30_000  # milliseconds
START = 120  # seconds; a cold start imports torch from a cold disk
KEY = "the-key-of-these-tests"  # of the operator's page and the metrics
APP = [sys.executable, "-m", "transformer", "app"]


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


def until(what: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START
    while not what():
        assert process.poll() is None and time.monotonic() < end, log.read_text(errors="replace")[-3000:]
        time.sleep(0.02)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def start(
    log: Path, port: int = 0, options: tuple[str, ...] = (), **environment: str
) -> tuple[subprocess.Popen[bytes], str]:
    """Start the app, on a free port unless one is given, and wait until it answers. Returns process and address."""
    port = port or free_port()
    process = spawn(log, *APP, f"--port={port}", *options, **environment)
    try:
        until(lambda: answers(port), process, log)
    except AssertionError:
        stop(process)
        raise
    return process, f"http://localhost:{port}"


@dataclass(frozen=True)
class App:
    """host: "localhost:8610"; pid: of the server's process."""

    host: str
    pid: int

    @property
    def address(self) -> str:
        return f"http://{self.host}"

    def sessions(self) -> int:
        """How many viewers Streamlit says are connected."""
        with urllib.request.urlopen(f"{self.address}/_stcore/metrics?key={KEY}", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        return int(float(next(line for line in lines if line.startswith("active_sessions")).rsplit(" ", 1)[1]))


@contextlib.contextmanager
def served(folder: Path, *options: str, **environment: str) -> Iterator[App]:
    """The app on a free port, with its log in a folder; ended afterwards."""
    process, address = start(folder / "log.txt", options=options, **environment)
    try:
        yield App(address.removeprefix("http://"), process.pid)
    finally:
        stop(process)


@contextlib.contextmanager
def running(checkpoint: Path | str, *options: str, **environment: str) -> Iterator[App]:
    """The app with this checkpoint, a folder or the name of a bundled one, as `served`, for its operator."""
    given = (f"--checkpoint={checkpoint}", *options)
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder), *given, HEADSCOPE_OPERATOR=KEY, **environment) as app,
    ):
        yield app


class Files(SimpleHTTPRequestHandler):
    """A web host of files; headers: sent with each. It remembers what it was asked for."""

    asked: ClassVar[list[str]] = []
    headers_of: ClassVar[dict[str, str]] = {}

    def end_headers(self) -> None:
        for name, value in self.headers_of.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        self.asked.append(self.path.split("?")[0])


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A browser that leaves ends its connections."""


@contextlib.contextmanager
def hosted(folder: Path, files: type[Files] = Files) -> Iterator[str]:
    """The address of a web host with the files of a folder. On this machine's own address a browser keeps files, though
    it is not https."""
    with _Quiet(("127.0.0.1", 0), functools.partial(files, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


# A test may run where Ctrl+C is ignored (a background job of a shell), and its children would inherit that.
LISTENING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"


def started(log: Path, *options: str, **environment: str) -> subprocess.Popen[bytes]:
    """The app as a person starts it, in a process group of its own."""
    return spawn(log, sys.executable, "-c", LISTENING, *APP, *options, **environment)


def ended_cleanly(process: subprocess.Popen[bytes], log: Path) -> None:
    """The process ends by Ctrl+C, says nothing of it but that, and leaves nobody behind."""
    status = process.wait(60)
    text = log.read_text(errors="replace")
    assert status in (0, 130, -signal.SIGINT), (status, text)
    for word in ("Traceback", "Exception", "Error", "Warning", "never retrieved", "Aborted"):
        assert word not in text, text
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
