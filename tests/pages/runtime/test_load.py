"""The app under many viewers at once, through its real server and sockets. Nothing here is timed."""

from __future__ import annotations

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
from benchmarks import load
from benchmarks.app import App, running
from benchmarks.clicks import PAGES, TREES, click, in_trees
from benchmarks.crowd import NEW, Beside, Crowd, Left, Rush
from benchmarks.process import Sample, sample, sessions, slope
from benchmarks.viewer import Run, Viewer, ViewerError
from pages.registry import pages
from transformer.inference.pretrained import Pretrained

pytestmark = pytest.mark.slow  # many viewers

Answer = TypeVar("Answer")
ROOT = Path(__file__).resolve().parents[3]
VIEWERS, CLICKS = 30, 2
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
        if await asyncio.to_thread(sessions, app) == count:
            break
        await asyncio.sleep(0.1)
    return await asyncio.to_thread(sessions, app)


class Staying(random.Random):
    """Draws that never ask for another part of a page."""

    def random(self) -> float:
        return 0.9


def test_there_are_clicks_for_every_page_and_in_every_part_of_the_newer_ones(app: App, model: Pretrained) -> None:
    without = {"lessons", "training", "model"}  # no sentence, or clicks of their own in the benchmark `playground`
    assert PAGES.keys() | without == {page.path for page in pages()} and not PAGES.keys() & without

    async def visit(name: str) -> int:
        async with Viewer(app.host, name) as viewer:
            await viewer.open(source="headscope", target="epocsdaeh")
            menu = f"{name}_part"
            for number in range(len(viewer.options[menu])):
                await viewer.choose(menu, number)
                await click(viewer, model, Staying(number))
            return len(viewer.options[menu])

    names = ("decoding", "recipe", "results", "roles", "attribution")
    parts = {page.name: len(page.content.parts()) for page in pages()}
    assert [run(visit(name)) for name in names] == [parts[name] for name in names]


@pytest.mark.long
def test_clicks_in_trees_are_measured_after_one_sentence_for_warming_up(app: App) -> None:
    found = run(in_trees(app, ["headscope", "mississippi"]))
    assert found.keys() == TREES.keys() and all(len(runs) == 1 for runs in found.values())
    assert all(one.received and cpu >= 0 for ((one, cpu),) in found.values())


@pytest.mark.long
def test_thirty_viewers_click_on_all_pages_at_once(app: App, model: Pretrained) -> None:
    sentences = {page.path for page in pages() if page.content.sentence}

    async def visit(number: int) -> int:
        """Types a sentence, clicks, and types another; raises an error unless every run ends well."""
        rng = random.Random(number)
        async with Viewer(app.host, list(PAGES)[number % len(PAGES)]) as viewer:
            await viewer.open(source=word(number))
            runs = [await click(viewer, model, rng) for _ in range(CLICKS)]
            runs.append(await viewer.type(source=word(100 + number, 5)))
            if viewer.name in sentences:
                assert f"6 of {LONGEST} tokens" in viewer.labels["source"]
            assert all(run.received for run in runs)
            return len(runs)

    async def everybody() -> list[int]:
        return await asyncio.gather(*map(visit, range(VIEWERS)))

    assert run(everybody()) == [CLICKS + 1] * VIEWERS
    assert run(connected(app, 0)) == 0


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


def test_growth_by_hand() -> None:
    samples = [Sample(second, memory, 1, 1, 0.0) for second, memory in ((0, 10.0), (1, 12.0), (2, 11.0), (3, 13.0))]
    assert slope(samples) == pytest.approx(0.8)
    assert slope(samples[:1]) == 0.0


@PROC
def test_a_process_is_read() -> None:
    usage = sample(os.getpid())
    assert usage.memory > 10 and usage.threads >= 1 and usage.files >= 3 and usage.cpu > 0


def a_crowd(times: dict[str, list[float]], sizes: list[float]) -> Crowd:
    """A crowd after its clicks. times: page -> milliseconds; sizes: MB, one per second."""
    crowd = Crowd(App("localhost:1", 1), transformer.load("reverse"), [], 2.0)
    crowd.runs = {page: [Run(seconds, 20_000, 100) for seconds in many] for page, many in times.items()}
    crowd.samples = [Sample(second, size, 5, 30, 0.1 * second) for second, size in enumerate(sizes)]
    return crowd


def test_the_tables_judge_by_hand() -> None:
    crowd = a_crowd({NEW: [900.0], "": [10.0] * 19 + [500.0], "lab": [10.0, 101.0]}, [500.0, 530.0, 549.0, 560.0])
    by_page = {row.cells[:2]: row for row in load.clicks(crowd, 10).rows}
    assert by_page["Heads", "a click"].cells[2:6] == ("20", "10", "10", "500") and by_page["Heads", "a click"].good
    assert by_page["Lab", "a click"].good is False and by_page["all", NEW].good is None
    assert by_page["all", "a click"].cells[2] == "22" and by_page["all", "a click"].good is False
    memory = load.holds(crowd.samples, crowd, 0).rows[0]
    assert memory.good is False and memory.cells[1:5] == ("500", "560", "500", "560")
    assert load.holds(a_crowd({NEW: []}, [500.0, 540.0, 500.0]).samples, crowd, 0).rows[0].good


def test_results_of_runs_match_a_judgement_by_hand() -> None:
    rush = Rush([100.0, 200.0, 150.0, 400.0], 4.0, 0)
    assert rush.overtaken == 0 and Rush([300.0, 310.0, 100.0], 4.0, 0).overtaken == 1
    left, calm, late = Left([0.2] + [0.0] * 9, 0.0, 0, 1.0), Beside([10.0], 0.0), Beside([150.0], 0.0)
    verdicts = [row.good for row in load.happenings(rush, left, calm, late, 30, 3).rows]
    assert verdicts == [True, None, None, None, True, None, True, True, False]
    lost = load.happenings(Rush([1.0], 4.0, 1), Left([2.0] * 10, 0.0, 3, 1.0), calm, calm, 30, 3)
    assert [row.good for row in lost.rows] == [False, None, None, None, False, None, False, True, True]
