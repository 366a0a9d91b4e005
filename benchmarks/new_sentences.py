"""Many viewers who type sentences nobody typed before: how many a second, how long each waits, and what it does to the
clicks of others."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator

from benchmarks.app import running
from benchmarks.clicks import heads
from benchmarks.report import Table, load
from benchmarks.sentences import typed
from benchmarks.timing import percentile
from benchmarks.viewer import Run, Viewer
from transformer.inference.pretrained import Pretrained

CLICK = 2.0  # seconds between the clicks of a viewer who does not type, on average
WARM = 5.0  # seconds that do not count
SECONDS, QUICK = 40.0, 5.0
LONGER = 3  # times as long where clicks are compared: ten viewers click seldom
SLOWER = 1.3  # times as long a click may take beside 30 who type
TARGETS: dict[str, Callable[[float, float], bool]] = {  # sentences a second, milliseconds of p95
    "20 type without a pause": lambda rate, _: rate >= 8,
    "30 type every 10 s": lambda _, high: high < 1500,
}


async def viewers(
    host: str,
    model: Pretrained,
    typing: int,
    clicking: int,
    pause: float,
    seconds: float,
    sentences: Iterator[str],
    engine: str = "",
) -> dict[str, list[Run]]:
    """typing: viewers who type a new sentence `pause` seconds after the answer to the last one, on average; clicking:
    viewers who click on heads of one sentence. engine: the model that their browsers compute themselves."""
    runs: dict[str, list[Run]] = {"a new sentence": [], "a head": []}
    everyone = [Viewer(host) for _ in range(typing + clicking)]
    for number, viewer in enumerate(everyone):
        await viewer.open(source=next(sentences) if number < typing else "The dog sees the cat.")
        if engine:
            viewer.states["headscope.live"] = {"json_value": json.dumps({"engine": engine})}
    warm = time.monotonic() + WARM
    until = warm + seconds

    async def act(number: int, viewer: Viewer) -> None:
        rng = random.Random(number)
        await asyncio.sleep(rng.random() * min(pause, 1.0))
        while time.monotonic() < until:
            types = number < typing
            run = await (viewer.type(source=next(sentences)) if types else heads(viewer, model, rng))
            if warm < time.monotonic() < until:
                runs["a new sentence" if types else "a head"].append(run)
            await asyncio.sleep(rng.expovariate(1 / (pause if types else CLICK)) if pause or not types else 0)

    async with asyncio.TaskGroup() as group:
        for number, viewer in enumerate(everyone):
            group.create_task(act(number, viewer))
    for viewer in everyone:
        with contextlib.suppress(Exception):
            await viewer.close()
    return runs


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    table = Table(
        "New sentences of many viewers, milliseconds",
        ("viewers", "what", "reruns", "a second", "p50", "p95", "longest", "p95 : without typing"),
        load(),
    )
    cases = {  # typing, clicking, seconds between sentences
        "10 click": (0, 10, 0.0),
        "10 click, 10 type every 10 s": (10, 10, 10.0),
        "10 click, 30 type every 10 s": (30, 10, 10.0),
        "10 click, 20 type without a pause": (20, 10, 0.0),
        "30 type every 10 s": (30, 0, 10.0),
        "20 type without a pause": (20, 0, 0.0),
    }
    base = None
    sentences = typed(1800, seed=3)
    for who, (typing, clicking, pause) in cases.items():
        left = itertools.cycle(sentences)
        compared = clicking and typing in (0, 30)
        seconds = QUICK if quick else SECONDS * LONGER if compared else SECONDS
        with running(model.path) as app:
            found = asyncio.run(viewers(app.host, model, typing, clicking, pause, seconds, left))
        for what, runs in found.items():
            if not runs:
                continue
            times = [run.milliseconds for run in runs]
            high = percentile(times, 0.95)
            base = base or high
            rate, good = len(runs) / seconds, None
            if what == "a head":
                good = high < SLOWER * base if typing == 30 else None
            elif who in TARGETS:
                good = TARGETS[who](rate, high)
            table.add(
                who, what, len(runs), f"{rate:.1f}", f"{statistics.median(times):.0f}", f"{high:.0f}",
                f"{max(times):.0f}", f"{high / base:.2f}" if what == "a head" else "", good=good,
            )  # fmt: skip
    table.notes.append(
        "A new sentence is translated, traced and drawn; about ten tokens each. From sending it to Streamlit's `script "
        "finished`, on the page Heads, by viewers without a browser over loopback, on the same cores as the app."
    )
    return [table]
