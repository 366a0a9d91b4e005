"""The cost of the picture of running trainings in a browser: a redraw, an answer of the server, and memory."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from benchmarks.app import ROOT, START, AppError, free_port
from benchmarks.browser import context
from benchmarks.report import Table, load
from benchmarks.server import percentile
from benchmarks.wire import Wire
from tests.browser.find import FLAGS, find_browser
from transformer.inference.pretrained import Pretrained

APP = Path("tests") / "browser" / "training_app.py"
ALLOWED = 8.0  # milliseconds of a redraw, half of what a screen of 60 frames a second leaves
RATE = 45  # steps a second while what travels is counted
SECONDS = 8.0
# runs, layers, heads, letters, steps; the first is what the page begins with, three times beside itself
SIZES = ((1, 2, 4, 10, 400), (4, 2, 4, 10, 400), (1, 6, 8, 32, 400), (4, 6, 8, 32, 400))
ROUNDS = 3  # times that a training is gone through, while what is kept is watched
_version = ""


def browser_version() -> str:
    return _version


@contextlib.contextmanager
def page_alone() -> Iterator[str]:
    """The address of a page with made-up runs and nothing but the picture. Raises AppError."""
    port = free_port()
    options = (f"--server.port={port}", "--server.headless=true")
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(APP), *options],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": "."}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until = time.monotonic() + START
        while True:
            try:
                with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=5):
                    break
            except (urllib.error.URLError, OSError) as error:
                if process.poll() is not None or time.monotonic() > until:
                    raise AppError(f"the page of {APP} did not start") from error
                time.sleep(0.2)
        yield f"http://localhost:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


@dataclass(frozen=True)
class Redrawn:
    """scripts: milliseconds of our code, of each frame; busy: of the page's main thread a frame, with all it did."""

    scripts: list[float]
    busy: float
    kept: int  # bytes of attention in the browser
    heap: tuple[float, float]  # MB of JavaScript's own, after the first time through the training and after the last
    nodes: tuple[int, int]


def _metrics(session: CDPSession) -> dict[str, float]:
    session.send("HeapProfiler.collectGarbage")
    return {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}


def tell(page: Page, code: str) -> Any:
    return page.get_by_test_id("training").evaluate(f"async (element) => {{ const v = element.training; {code} }}")


def redrawn(browser: Browser, link: str, rounds: int) -> Redrawn:
    """Every frame of a training that is over, one a frame of the browser, `rounds` times."""
    page = context(browser).new_page()
    page.goto(link)
    page.wait_for_selector("[data-frame]")
    tell(page, "while (v.store.active || v.store.lacks) await new Promise((done) => setTimeout(done, 100));")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    through = """
    const frame = () => new Promise(requestAnimationFrame);
    v.took = [];
    for (let i = 0; i <= v.run.last; i++) { v.goTo(i); await frame(); }
    const took = v.took;
    v.took = null;
    return took;
    """
    tell(page, through)  # the first time is everybody's slowest
    first = _metrics(session)
    scripts: list[float] = []
    for _ in range(rounds):
        scripts += tell(page, through)
    last = _metrics(session)
    kept = tell(page, "return v.store.runs.flatMap((run) => run.weights).reduce((all, one) => all + one.length, 0);")
    page.context.close()
    busy = (last["TaskDuration"] - first["TaskDuration"]) * 1e3 / len(scripts)
    heap = (first["JSHeapUsedSize"] / 1e6, last["JSHeapUsedSize"] / 1e6)
    return Redrawn(scripts, busy, kept, heap, (int(first["Nodes"]), int(last["Nodes"])))


def watched(browser: Browser, link: str, seconds: float) -> tuple[int, int, int, list[float]]:
    """While it trains: answers, bytes of them, pictures that were drawn, and milliseconds of our code for each."""
    page = context(browser).new_page()
    page.goto(link)
    page.wait_for_selector("[data-frame]")
    tell(page, "while (v.run.frames.length < 3) await new Promise((done) => setTimeout(done, 50));")
    tell(page, "v.took = []; v.drawnFrames = new Set(); const f = v.stage.frame.bind(v.stage);"
         "v.stage.frame = (...given) => { v.drawnFrames.add(given[2]); f(...given); };")  # fmt: skip
    wire = Wire().listen(page)
    page.wait_for_timeout(seconds * 1e3)
    wire.stop()
    shown, took = tell(page, "return [v.drawnFrames.size, v.took];")
    page.context.close()
    return len(wire.runs), wire.received, shown, took


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    global _version
    drawing = Table(
        "Redrawing one recorded step of the picture of running trainings: milliseconds",
        ("runs", "layers", "heads", "tokens", "frames a run", "our code, median", "95% within", "allowed (median)",
         "main thread a frame"),
        load(), notes=[NOTES["drawing"]],
    )  # fmt: skip
    keeping = Table(
        "Memory of the browser",
        ("runs", "layers", "heads", "tokens", "attention, MB", "JavaScript's heap once through and at last, MB",
         "nodes once through and at last"),
        notes=[NOTES["keeping"]],
    )  # fmt: skip
    travelling = Table(
        "During a training",
        ("runs", "layers", "heads", "tokens", "answers a second", "KB an answer", "pictures a second",
         "our code a picture, median, ms"),
        load(), notes=[NOTES["travelling"]],
    )  # fmt: skip
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(page_alone())
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=find_browser(), args=FLAGS)
        stack.callback(browser.close)
        _version = f"Chromium {browser.version}"
        for runs, layers, heads, letters, steps in SIZES[:1] if quick else SIZES:
            what = (runs, layers, heads, letters + 1)
            link = f"{address}/?runs={runs}&sizes={layers},{heads},{letters},{steps}"
            found = redrawn(browser, link, 1 if quick else ROUNDS)
            frames = len(found.scripts) // (1 if quick else ROUNDS)
            middle = statistics.median(found.scripts)
            drawing.add(
                *what, frames, f"{middle:.1f}", f"{percentile(found.scripts, 0.95):.1f}", f"{ALLOWED:.0f}",
                f"{found.busy:.1f}", good=middle <= ALLOWED,
            )  # fmt: skip
            heap = " / ".join(f"{one:.1f}" for one in found.heap)
            nodes = " / ".join(f"{one:,}" for one in found.nodes)
            keeping.add(*what, f"{found.kept / 1e6:.1f}", heap, nodes)
            answers, received, shown, took = watched(browser, f"{link}&rate={RATE}", 2.0 if quick else SECONDS)
            spent = 2.0 if quick else SECONDS
            travelling.add(
                *what, f"{answers / spent:.1f}", f"{received / max(1, answers) / 1e3:.0f}", f"{shown / spent:.1f}",
                f"{statistics.median(took):.1f}" if took else "",
            )  # fmt: skip
    return [drawing, keeping, travelling]


NOTES = {
    "drawing": (
        "Artificial runs with attention as large as in real runs, at 1440x900: all heads, the enlarged head, the "
        "cursor of the curves, values and predictions. The row with the same head of every run is below the first "
        "screen and is drawn only in view. Our code: from the start to the end of a redraw, without the browser's own "
        "work. Main thread: all its work, including the browser's drawing, without a graphics card."
    ),
    "keeping": (
        "Attention: 8 bits per weight, outside the JavaScript heap. Between the two measurements of the heap, the "
        f"whole training was played {ROUNDS} times."
    ),
    "travelling": (
        f"{RATE} steps per second; the page asks for all recorded frames, and the picture follows. Counts the "
        "different frames of the selected run, not redraws."
    ),
}
