"""The cost of a rerun on the server: for one viewer, for many who type, and for thirty on all pages of one process."""

import asyncio
import collections
import gc
import itertools
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence

import numpy as np

from benchmarks.report import Table, load
from tests.support.clicks import NAMES, PAGES, click, heads
from tests.support.processes import Sample, sample
from tests.support.sentences import pairs, typed
from tests.support.server import App, running
from tests.support.viewer import Run, Viewer, waits
from transformer.inference.pretrained import Pretrained

VIEWERS, PAUSE = 30, 2.0  # seconds between a viewer's clicks, on average
TARGET = 100  # milliseconds that 95% of the clicks may take
LENGTHS = (12, 64, 128)
MINUTES = 3.0  # of the run on all pages; --minutes 10 is what the app promises
WARM = 0.25  # share of the minutes in which caches are filled
GROWTH = 50  # MB that memory may grow by after the warm-up
FILL, SENTENCES = 240, 300  # new sentences in the warm-up (these alone fill the room for traces), and after it
MOST_NEW = 0.25  # of all clicks: a shorter run types fewer sentences rather than nothing else
HEAD, NEW = "a head", "a new sentence"
SLOWER = 1.3  # times as long a click may take beside 30 who type
# who -> how many click, how many type, seconds between two sentences of one, and what is wanted of sentences a second
# and of their p95
CASES: dict[str, tuple[int, int, float, Callable[[float, float], bool] | None]] = {
    "10 click": (10, 0, 0.0, None),
    "10 click, 30 type every 10 s": (10, 30, 10.0, None),
    "30 type every 10 s": (0, 30, 10.0, lambda _, high: high < 1500),
    "20 type without a pause": (0, 20, 0.0, lambda rate, _: rate >= 8),
}
Act = Callable[[Viewer, random.Random], Awaitable[tuple[str, Run]]]  # what a viewer did
Runs = dict[str, list[Run]]


async def open_all(app: App, names: Sequence[str], sentences: Iterator[str]) -> list[Viewer]:
    """A viewer for each page, who opens it with the next sentence."""
    viewers = [Viewer(app.host, name) for name in names]
    for viewer in viewers:
        await viewer.open(source=next(sentences))
    return viewers


async def visit(everyone: Sequence[tuple[Viewer, Act, float]], seconds: float) -> Runs:
    """Each viewer acts again and again, after a pause of so many seconds on average. What they did -> its runs."""
    found, until = collections.defaultdict[str, list[Run]](list), time.monotonic() + seconds

    async def stay(number: int, viewer: Viewer, act: Act, pause: float) -> None:
        rng = random.Random(f"{number} {seconds}")
        while time.monotonic() + (wait := rng.expovariate(1 / pause) if pause else 0.0) < until:
            await asyncio.sleep(wait)
            what, run = await act(viewer, rng)
            found[what].append(run)

    async with asyncio.TaskGroup() as group:
        for number, one in enumerate(everyone):
            group.create_task(stay(number, *one))
    return found


def types(sentences: Iterator[str]) -> Act:
    async def act(viewer: Viewer, _: random.Random) -> tuple[str, Run]:
        return NEW, await viewer.type(source=next(sentences))

    return act


def clicks(model: Pretrained, other: Act | None = None, share: float = 0.0) -> Act:
    """A click on the viewer's page; with that probability, the other act instead."""

    async def act(viewer: Viewer, rng: random.Random) -> tuple[str, Run]:
        if other is not None and rng.random() < share:
            return await other(viewer, rng)
        return viewer.name, await click(viewer, model, rng)

    return act


async def watch(app: App, samples: list[Sample]) -> None:
    """The process, once a second, until cancelled."""
    while True:
        samples.append(sample(app.pid))
        await asyncio.sleep(1)


def times(runs: Sequence[Run]) -> list[float]:
    return [run.milliseconds for run in runs]


def cells(milliseconds: Sequence[float]) -> tuple[str, ...]:
    """p50, p95 and the longest."""
    return tuple(f"{one:.0f}" for one in waits(milliseconds))


def below(limit: float, milliseconds: Sequence[float]) -> bool:
    """Whether 95% are."""
    return waits(milliseconds)[1] < limit


def kilobytes(runs: Sequence[Run]) -> str:
    return f"{statistics.median(run.received for run in runs) / 1e3:.0f}"


def resources(title: str, samples: Sequence[Sample]) -> Table:
    """What the process held. samples: one a second."""
    table = Table(title, ("what", "at first", "at the end", "least", "most", ""))
    seconds, sizes = [one.second for one in samples], [one.memory / 1e6 for one in samples]
    lasted = seconds[-1] - seconds[0]
    grown = float(np.polyfit(seconds, sizes, 1)[0]) * lasted
    held = [f"{size:.0f}" for size in (sizes[0], sizes[-1], min(sizes), max(sizes))]
    said = f"{grown:+.0f} MB in {lasted / 60:.1f} minutes by least squares; allowed {GROWTH}"
    table.add("memory, MB", *held, said, good=grown < GROWTH)
    for what, counts in (
        ("threads", [one.threads for one in samples]),
        ("open files", [one.files for one in samples]),
    ):
        table.add(what, counts[0], counts[-1], min(counts), max(counts), "")
    table.add("CPU, seconds a second", "", f"{(samples[-1].cpu - samples[0].cpu) / lasted:.2f}", "", "", "")
    return table


async def alone(app: App, model: Pretrained, tokens: int, rounds: int) -> Runs:
    """One viewer: heads, sentences the server has traced before, and sentences it has not."""
    found = pairs(model.tokenizer, tokens, rounds + 2)
    known, new = found[:2], [source for source, _ in found[2:]]
    rng = random.Random(tokens)
    runs: Runs = {HEAD: [], "a known sentence": [], NEW: []}
    async with Viewer(app.host) as viewer:
        for source, target in known:  # the first opens the page
            await (viewer.type if viewer.page else viewer.open)(source=source, target=target)
        for number, source in enumerate(new):
            runs[NEW].append(await viewer.type(source=source))
            runs["a known sentence"].append(await viewer.type(source=known[number % 2][0]))
            runs[HEAD] += [await heads(viewer, model, rng) for _ in range(2)]
    return runs


def one_viewer(model: Pretrained, rounds: int, lengths: Sequence[int]) -> Table:
    table = Table(
        f"A rerun on the server, one viewer, milliseconds (p95 of a click on a head: below {TARGET})",
        ("tokens a side", "a click on", "reruns", "p50", "p95", "longest", "KB sent"),
        load(),
        notes=[
            "From sending the click to Streamlit's `script finished`, seen by a viewer without a browser that speaks "
            "Streamlit's own protocol over loopback (`tests/support/viewer.py`), against the app as `python -m "
            "transformer app` starts it: one process, garbage collector frozen, one torch thread."
        ],
    )
    for tokens in lengths:
        with running(model.path) as app:
            for what, runs in asyncio.run(alone(app, model, tokens, rounds)).items():
                good = below(TARGET, times(runs)) if what == HEAD else None
                table.add(tokens, what, len(runs), *cells(times(runs)), kilobytes(runs), good=good)
    return table


async def beside(app: App, model: Pretrained, clicking: int, typing: int, pause: float, seconds: float) -> Runs:
    """On the page Heads."""
    sentences = itertools.cycle(typed(1800, seed=3))
    same, new = itertools.repeat("The dog sees the cat."), types(sentences)
    everyone = [(viewer, clicks(model), PAUSE) for viewer in await open_all(app, [""] * clicking, same)]
    everyone += [(viewer, new, pause) for viewer in await open_all(app, [""] * typing, sentences)]
    await visit(everyone, 5.0)
    runs = await visit(everyone, seconds)
    for viewer, *_ in everyone:
        await viewer.close()
    return runs


def new_sentences(model: Pretrained, quick: bool) -> Table:
    table = Table(
        "New sentences of many viewers, milliseconds",
        ("viewers", "what", "reruns", "a second", "p50", "p95", "longest", "p95 : without typing"),
        load(),
        notes=[
            "A new sentence is translated, traced and drawn; about ten tokens each. On the page Heads, by viewers "
            "without a browser over loopback, on the same cores as the app."
        ],
    )
    base = 0.0
    for who, (clicking, typing, pause, wanted) in CASES.items():
        seconds = 8.0 if quick else 120.0 if clicking else 40.0  # ten viewers click seldom
        part = 5 if quick else 1  # of the viewers
        with running(model.path) as app:
            found = asyncio.run(beside(app, model, clicking // part, typing // part, pause, seconds))
        for page, runs in found.items():
            what, rate, (_, high, _) = page or HEAD, len(runs) / seconds, waits(times(runs))
            base = base or high
            good = wanted(rate, high) if wanted else high < SLOWER * base if what == HEAD and typing else None
            slower = f"{high / base:.2f}" if what == HEAD else ""
            table.add(who, what, len(runs), f"{rate:.1f}", *cells(times(runs)), slower, good=good)
    return table


async def on_all_pages(app: App, model: Pretrained, viewers: int, minutes: float, pause: float) -> list[Table]:
    sentences = iter(typed(1800, seed=1))
    names = list(itertools.islice(itertools.cycle(PAGES), viewers))
    opened = await open_all(app, names, sentences)

    async def stay(seconds: float, count: int) -> Runs:
        act = clicks(model, types(sentences), min(MOST_NEW, count * pause / (seconds * viewers)))
        return await visit([(viewer, act, pause) for viewer in opened], seconds)

    samples = list[Sample]()
    await stay(60 * minutes * WARM, FILL)
    watching = asyncio.create_task(watch(app, samples))
    found = await stay(60 * minutes * (1 - WARM), SENTENCES)
    watching.cancel()
    held = resources("Resources of the process after the warm-up", [*samples, sample(app.pid)])
    held.add("sessions", "", app.sessions(), "", "", f"{viewers} viewers")
    for viewer in opened:
        await viewer.close()
    return [all_pages(found, viewers, minutes, pause), held]


def all_pages(found: Runs, viewers: int, minutes: float, pause: float) -> Table:
    """What viewers waited for on each page."""
    table = Table(
        f"{viewers} viewers on all pages, {minutes:g} minutes: a rerun on the server, milliseconds (p95 of clicks: "
        f"below {TARGET})",
        ("page", "what", "reruns", "p50", "p95", "longest", "KB sent"),
        load(),
        notes=[
            "Viewers without a browser over loopback, spread evenly over the pages; each clicks every "
            f"{pause:g} s on average, after the answer to the last click: any head (Heads, Lab, with the scaling on or "
            "off), any part of a page but the position lab and the neurons, sliders, layers, any place of the anatomy, "
            "tokens, branches, beam sizes, seeds and rows to paint of Decoding, any menu of Head roles, Attribution, "
            f"Training recipe and Results (`tests/support/clicks.py`). Warm-up: the first {WARM:.0%} of the minutes, "
            f"in which about {FILL} new sentences fill the room for traces; only what came after it counts, with about "
            f"{SENTENCES} more. An exception, a message of an error, a lost connection or an answer later than a "
            "minute ends the measurement."
        ],
    )
    clicked = [run for name, runs in found.items() if name != NEW for run in runs]
    if NEW in found:
        table.add("all", NEW, len(found[NEW]), *cells(times(found[NEW])), kilobytes(found[NEW]))
    for name, runs in {**{name: found[name] for name in PAGES if name in found}, "all": clicked}.items():
        good = below(TARGET, times(runs))
        row = (NAMES.get(name, name), "a click", len(runs), *cells(times(runs)), kilobytes(runs))
        table.add(*row, good=good)
    return table


def freeze() -> None:
    """The viewers share a process too; its garbage collector must not be what they wait for."""
    gc.collect()
    gc.freeze()


def measure(model: Pretrained, quick: bool = False, minutes: float | None = None) -> list[Table]:
    """minutes: of the run on all pages."""
    freeze()
    tables = [one_viewer(model, *((2, LENGTHS[:1]) if quick else (25, LENGTHS))), new_sentences(model, quick)]
    size = (6, minutes or 0.2, PAUSE / 4) if quick else (VIEWERS, minutes or MINUTES, PAUSE)
    with running(model.path) as app:
        return [*tables, *asyncio.run(on_all_pages(app, model, *size))]
