"""From `make app` to a class, as the README says for teachers: the teacher's laptop and a student's device are network
namespaces of their own, with a cable between them and nothing else. Needs Linux and root."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.find import FLAGS
from tests.browser.navigation import open_room
from tests.support.server import spawn, stop, until

TEACHER, STUDENT = "hs-test-teacher", "hs-test-student"
ADDRESSES = {TEACHER: "10.77.25.1", STUDENT: "10.77.25.2"}
PORT = 8501

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="makes network namespaces"),
]


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@pytest.fixture(scope="module")
def machines() -> Iterator[None]:
    """Two machines in one network. The teacher's has a way out, as behind a router; nothing answers there."""
    if shutil.which("ip") is None:
        pytest.skip("the program ip (iproute2) is not installed")
    try:
        for name in ADDRESSES:
            ip("netns", "add", name)
        ip("-n", TEACHER, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", STUDENT)
        for name, address in ADDRESSES.items():
            ip("-n", name, "address", "add", f"{address}/24", "dev", "cable")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "cable", "up")
        ip("-n", TEACHER, "route", "add", "default", "via", ADDRESSES[STUDENT])
    except subprocess.CalledProcessError as error:
        remove()
        pytest.skip(f"this system lets nobody make network namespaces: {error.stderr}")
    yield
    remove()


def remove() -> None:
    for name in ADDRESSES:
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


@pytest.fixture(scope="module")
def address(machines: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What the app that was started on the teacher's machine tells for others."""
    folder = tmp_path_factory.mktemp("teacher")
    log, told = folder / "log.txt", re.compile(r"For others in the network: (http://\S+)")
    command = ["ip", "netns", "exec", TEACHER, sys.executable, "-m", "transformer", "app", f"--port={PORT}"]
    process = spawn(log, *command, HEADSCOPE_ROOMS=str(folder / "rooms.sqlite"))
    try:
        until(lambda: told.search(log.read_text()) is not None, process, log)
        found = told.search(log.read_text())
        assert found is not None
        yield found[1]
    finally:
        stop(process)


@pytest.fixture(scope="module")
def pages(browser: Browser, browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Page]]:
    """An empty page of a browser on each machine."""
    opened: dict[str, Browser] = {}
    for name in ADDRESSES:
        there = tmp_path_factory.mktemp(name) / "chromium"
        there.write_text(f'#!/bin/sh\nexec ip netns exec {name} "{browser_path}" "$@"\n')
        there.chmod(0o755)
        opened[name] = browser.browser_type.launch(executable_path=there, args=FLAGS)
    sizes = {TEACHER: (1440, 900), STUDENT: (390, 844)}
    found = {name: opened[name].new_page(viewport={"width": w, "height": h}) for name, (w, h) in sizes.items()}
    for page in found.values():
        page.set_default_timeout(60_000)
    yield found
    for one in opened.values():
        one.close()


def test_a_student_on_another_machine_joins_by_the_code_and_follows(
    machines: None, address: str, pages: dict[str, Page]
) -> None:
    assert address == f"http://{ADDRESSES[TEACHER]}:{PORT}"
    teacher, student = pages[TEACHER], pages[STUDENT]
    code = open_room(teacher, address)
    teacher.get_by_role("button", name="Show the code").click()
    typed = teacher.locator(".hs-room-address").inner_text().removeprefix("Or type the address: ")
    assert typed == f"{address.removeprefix('http://')}/?room={code}"
    teacher.keyboard.press("Escape")
    student.goto(f"http://{typed}")
    expect(student.locator(".st-key-hs-room")).to_contain_text(code)
    expect(teacher.locator(".hs-room-code")).to_contain_text("students: 1, following you: 1")
    teacher.locator("[class*=st-key-hs-lesson-start-paper] button").click()
    expect(student.locator(".hs-lesson-title")).to_have_text("What attention replaced")
