"""The app under many viewers at once, through its real server and sockets. Nothing here is timed."""

import asyncio
import os
import random
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

import transformer
from pages.registry import pages
from tests.support.clicks import PAGES, any_choice, click
from tests.support.processes import sample
from tests.support.server import App, running
from tests.support.viewer import Viewer, ViewerError, waits
from transformer.inference.pretrained import Pretrained

pytestmark = pytest.mark.slow  # many viewers

Answer = TypeVar("Answer")
VIEWERS = 30
LONGEST = 64  # tokens that the checkpoint reads
PROC = pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="this system does not list processes")


@pytest.fixture(scope="module")
def model() -> Pretrained:
    return transformer.load("reverse")


@pytest.fixture(scope="module")
def app(model: Pretrained) -> Iterator[App]:
    with running(model.path) as server:
        yield server


def run(asked: Coroutine[Any, Any, Answer]) -> Answer:
    """`asyncio.run` in its own thread, because Playwright leaves an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, asked).result()


def word(number: int, length: int = 6) -> str:
    return "".join(random.Random(number).choices("abcdefghijklmnopqrstuvwxyz", k=length))


async def connected(app: App, count: int) -> int:
    """How many viewers the server knows: returns when there are `count`, or after ten seconds."""
    for _ in range(100):
        if await asyncio.to_thread(app.sessions) == count:
            break
        await asyncio.sleep(0.1)
    return await asyncio.to_thread(app.sessions)


class Staying(random.Random):
    """Draws that never ask for another part of a page."""

    def random(self) -> float:
        return 0.9


def test_there_are_clicks_in_every_part_of_the_pages_that_have_no_others(app: App, model: Pretrained) -> None:
    async def visit(name: str) -> int:
        async with Viewer(app.host, name) as viewer:
            await viewer.open(source="headscope", target="epocsdaeh")
            menu = f"{name}_part"
            for number in range(len(viewer.options[menu])):
                await viewer.choose(menu, number)
                await click(viewer, model, Staying(number))
            return len(viewer.options[menu])

    names = ["decoding", *(name for name, clicks in PAGES.items() if clicks is any_choice)]
    assert len(names) > 4
    parts = {page.name: len(page.content.parts()) for page in pages()}
    assert [run(visit(name)) for name in names] == [parts[name] for name in names]


def test_long_texts_from_many_viewers_at_once_are_all_answered(app: App) -> None:
    async def ask(number: int) -> str:
        async with Viewer(app.host) as viewer:
            await viewer.open(source=word(number))
            await viewer.type(source=word(200 + number, LONGEST - 1))
            return viewer.labels["source"]

    async def everybody() -> list[str]:
        return await asyncio.gather(*map(ask, range(VIEWERS)))

    assert all(f"{LONGEST} of {LONGEST} tokens" in label for label in run(everybody()))


@PROC
def test_viewers_who_leave_during_work_leave_no_work_behind(app: App) -> None:
    async def leave() -> None:
        crowd = [Viewer(app.host) for _ in range(VIEWERS)]
        for viewer in crowd:
            await viewer.open(source="a")
        for index, viewer in enumerate(crowd):
            await viewer.ask(source=word(300 + index, LONGEST - 1))
        for viewer in crowd:
            await viewer.vanish()
        assert await connected(app, 0) == 0

    async def look() -> None:
        async with Viewer(app.host) as viewer:
            await viewer.open(source="b")
            await viewer.type(source=word(400, LONGEST - 1))  # the queue is empty: this is answered

    run(leave())
    run(look())
    end = time.monotonic() + 60
    while True:  # until nothing is computed for a second; it would be, if the thirty were still waiting
        before = sample(app.pid).cpu
        time.sleep(1)
        if sample(app.pid).cpu - before < 0.1:
            break
        assert time.monotonic() < end, "the process goes on working for nobody"


def test_a_viewer_who_reads_nothing_does_not_block_others(app: App) -> None:
    async def crowd() -> None:
        async with Viewer(app.host) as viewer:
            deaf = Viewer(app.host)
            await deaf.open(source=word(1, LONGEST - 1))
            await viewer.open(source="a")
            for index in range(20):
                deaf.large.clear()
                await deaf.ask()
                await viewer.type(source=word(500 + index))
            await deaf.vanish()

    run(crowd())


def test_an_error_on_a_page_is_an_error_of_the_viewer(app: App) -> None:
    async def ask() -> None:
        async with Viewer(app.host) as viewer:
            await viewer.open(source="a")
            await viewer.type(source=word(1, LONGEST))

    with pytest.raises(ViewerError, match=f"{LONGEST + 1} tokens"):
        run(ask())


def test_waits_by_hand() -> None:
    assert waits([5, 1, 4, 2, 3]) == (3, 5, 5) and waits(range(1, 101)) == (50, 95, 100) and waits([7]) == (7, 7, 7)


@PROC
def test_a_process_is_read() -> None:
    usage = sample(os.getpid())
    assert usage.memory > 10_000_000 and usage.threads >= 1 and usage.files >= 3 and usage.cpu > 0
