"""The processes behind the Training page: how many run, which runs wait, and that none outlives its viewer."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.navigation import link_to
from tests.support.processes import children, gone
from tests.support.server import start, stop

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="processes as POSIX lists them"),
    pytest.mark.long,  # 215 s; tests/live_training/test_workers.py has the rules without a browser
]
LONG = "steps=5000"  # far more than are trained while a test looks
WAIT = 180_000  # milliseconds; workers come last, and a busy machine leaves them little
AWAY = 60.0  # seconds until a worker is gone: ten in which its viewer may come back, on a machine that may be busy
UNSEEN = 12.0  # seconds: longer than a viewer may be away


@pytest.fixture(scope="module")
def server(
    browser_path: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """An app of its own, one training at a time."""
    folder = tmp_path_factory.mktemp("workers")
    process, address = start(folder / "log.txt", HEADSCOPE_TRAININGS="1")
    yield process, address
    workers = children(process.pid)
    stop(process)
    assert gone(set(workers))


def train(context: BrowserContext, address: str) -> Page:
    """Open the page in another session and press Train."""
    page = context.new_page()
    page.set_default_timeout(WAIT)
    page.goto(f"{address}/training?{LONG}")
    page.get_by_role("button", name="Train it live", exact=True).click()
    return page


def says(page: Page, text: str) -> None:
    expect(page.get_by_text(text).first).to_be_visible(timeout=WAIT)


def trains(page: Page) -> None:
    """A step was made, and its heads are drawn."""
    says(page, "of 5,000")
    says(page, "steps/s")


def test_runs_wait_for_one_another_go_on_unseen_and_leave_no_busy_worker(
    server: tuple[subprocess.Popen[bytes], str], context: BrowserContext
) -> None:
    process, address = server
    first = train(context, address)
    trains(first)
    link_to(first, "Heads").click()
    first.wait_for_selector("[data-drawn]")
    seen = time.monotonic()
    second = train(context, address)
    says(second, "next in the queue")
    third = train(context, address)
    says(third, "2nd of 2 waiting")
    assert len(children(process.pid)) <= 2  # one that trains, and one started ahead
    time.sleep(max(0.0, seen + UNSEEN - time.monotonic()))
    link_to(first, "Training").click()
    trains(first)
    first.close()  # a tab that is closed, without a word
    trains(second)
    says(third, "next in the queue")
    second.get_by_role("button", name="Stop").first.click()
    trains(third)
    says(second, "stopped at step")
    for number in children(process.pid):
        os.kill(number, signal.SIGKILL)
    says(third, "SIGKILL")
    third.get_by_role("button", name="Train it live", exact=True).click()
    trains(third)
    for page in (second, third):
        page.close()
    until = time.monotonic() + AWAY
    while len(children(process.pid)) > 1:  # the one started ahead; zombies are listed, and none stays one
        assert time.monotonic() < until
        time.sleep(0.1)
