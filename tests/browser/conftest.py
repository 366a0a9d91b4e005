"""A real browser and a real server, one each for the whole session."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

import transformer
from tests.browser.find import FLAGS, NoBrowser, NoNginx, find_browser, find_nginx
from transformer.inference.pretrained import Pretrained

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

ROOT = Path(__file__).resolve().parents[2]
WAIT = 30_000  # milliseconds
START = 120  # seconds; a cold start imports torch from a cold disk


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def _do_without(what: str) -> NoReturn:
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(f"CI needs {what}", pytrace=False)
    pytest.skip(f"BROWSER TESTS NOT RUN for want of {what}")


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The program file of the browser. Without one: skipped, said loudly; with CI=true a failure."""
    try:
        return find_browser()
    except NoBrowser as error:
        _do_without(f"a browser: {error}")


@pytest.fixture(scope="session")
def nginx_path() -> str:
    """The program file of nginx. Without one: as without a browser."""
    try:
        return find_nginx()
    except NoNginx as error:
        _do_without(f"nginx: {error}")


@pytest.fixture(scope="session")
def browser(browser_path: str) -> Iterator[Browser]:
    """Headless Chromium through Playwright. A test opens a context of its own: `browser.new_context()`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A person's browser: 1440x900, without a history."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    context.set_default_timeout(WAIT)
    yield context
    context.close()


@pytest.fixture(scope="session")
def model() -> Pretrained:
    return transformer.load("en-de")


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
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
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


@pytest.fixture(scope="session")
def server(browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running app. After browser_path: without a browser nobody asks for it."""
    process, address = start(tmp_path_factory.mktemp("server") / "log.txt")
    yield address
    stop(process)


@pytest.fixture(scope="session")
def training_page(browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a page with made-up runs and nothing but the picture of them: training_app.py."""
    script = "tests/browser/training_app.py"
    process, address = start(tmp_path_factory.mktemp("training") / "log.txt", script=script, PYTHONPATH=".")
    yield address
    stop(process)
