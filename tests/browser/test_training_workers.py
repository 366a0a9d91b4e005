"""The processes behind the Training page: how many run, which runs wait, and that none outlives its viewer."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.processes import children, gone
from tests.support.server import start, stop

pytest.importorskip("playwright")
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.navigation import link_to

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes as POSIX lists them")
LONG = "steps=5000"  # far more than are trained while a test looks
WAIT = 180_000  # milliseconds; workers come last, and a busy machine leaves them little
AWAY = 60.0  # seconds until a worker is gone: ten in which its viewer may come back, on a machine that may be busy


@pytest.fixture
def server(browser_path: str, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """An app of its own, two trainings at once."""
    process, address = start(
        tmp_path / "log.txt", HEADSCOPE_TRAININGS="2", HEADSCOPE_ROOMS=str(tmp_path / "rooms.sqlite")
    )
    yield process, address
    workers = children(process.pid)
    stop(process)
    assert gone(set(workers))


@pytest.fixture
def train(browser: Browser, server: tuple[subprocess.Popen[bytes], str]) -> Iterator[Callable[..., Page]]:
    """Opens the page as another person, and presses Train."""
    contexts: list[BrowserContext] = []

    def begin(room: str = "") -> Page:
        contexts.append(browser.new_context())
        page = contexts[-1].new_page()
        page.set_default_timeout(WAIT)
        page.goto(f"{server[1]}/training?{LONG}{room and f'&room={room}'}")
        page.get_by_role("button", name="Train it live", exact=True).click()
        return page

    yield begin
    for context in contexts:
        context.close()


def says(page: Page, text: str) -> None:
    expect(page.get_by_text(text).first).to_be_visible(timeout=WAIT)


def trains(page: Page) -> None:
    """A step was made, and its heads are drawn."""
    says(page, "of 5,000")
    says(page, "steps/s")


def test_two_runs_train_a_third_waits_and_no_busy_worker_is_left(
    server: tuple[subprocess.Popen[bytes], str], train: Callable[..., Page]
) -> None:
    first, second, third = train(), train(), train()
    trains(first)
    trains(second)
    says(third, "next in the queue")
    fourth = train()
    says(fourth, "2nd of 2 waiting")
    assert len(children(server[0].pid)) <= 3  # two that train, and one started ahead
    first.close()  # a tab that is closed, without a word
    trains(third)
    says(fourth, "next in the queue")
    third.get_by_role("button", name="Stop").first.click()
    trains(fourth)
    says(third, "stopped at step")
    for page in (second, third, fourth):
        page.close()
    until = time.monotonic() + AWAY
    while len(children(server[0].pid)) > 1:  # the one started ahead; zombies are listed, and none stays one
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_class_trains_one_run_which_all_see(
    browser: Browser, server: tuple[subprocess.Popen[bytes], str], train: Callable[..., Page]
) -> None:
    teacher = browser.new_page()
    teacher.goto(f"{server[1]}/lessons")
    teacher.get_by_role("button", name="Open a room").click()
    code = teacher.locator(".hs-room-code b").inner_text().split()[-1]
    teacher.goto(f"{server[1]}/training?{LONG}&room={code}")
    expect(teacher.locator(".hs-room-code")).to_contain_text(code)
    first, second = train(code), train(code)
    for page, stops, text in ((first, 1, "of 5,000"), (second, 0, "you watch a run of your room")):
        trains(page)
        expect(page.get_by_test_id("training-run").last).to_contain_text(text)
        expect(page.get_by_role("button", name="Stop")).to_have_count(stops)
    follower = browser.new_page()
    follower.goto(f"{server[1]}/?room={code}")
    teacher.get_by_role("button", name="Train it live", exact=True).click()
    for page in (teacher, follower):
        trains(page)
    assert len(children(server[0].pid)) <= 2  # one that trains, and one started ahead
    first.context.close()  # the others watch on, and the teacher ends it for all
    teacher.get_by_role("button", name="Stop").first.click()
    for page in (teacher, second, follower):
        says(page, "stopped at step")
    for page in (teacher, follower):
        page.context.close()


def test_a_run_goes_on_unseen_and_a_killed_worker_is_reported(
    server: tuple[subprocess.Popen[bytes], str], train: Callable[..., Page]
) -> None:
    page = train()
    trains(page)
    link_to(page, "Heads").click()
    page.wait_for_selector("[data-drawn]")
    time.sleep(12)  # longer than a viewer may be away
    link_to(page, "Training").click()
    trains(page)
    for number in children(server[0].pid):
        os.kill(number, signal.SIGKILL)
    says(page, "SIGKILL")
    page.get_by_role("button", name="Train it live", exact=True).click()
    trains(page)


def test_workers_end_when_their_server_is_killed(
    server: tuple[subprocess.Popen[bytes], str], train: Callable[..., Page]
) -> None:
    pages = [train(), train()]
    for page in pages:
        trains(page)
    workers = set(children(server[0].pid))
    assert len(workers) >= 2
    server[0].kill()
    assert gone(workers)
