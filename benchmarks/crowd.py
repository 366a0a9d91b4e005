"""Thirty viewers on all pages of one process, for minutes: their waiting times, and the memory of the process."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from websockets.exceptions import ConnectionClosed

from benchmarks.app import App
from benchmarks.clicks import PAGES, click
from benchmarks.process import Sample, sample, sessions
from benchmarks.sentences import of_length
from benchmarks.viewer import Run, Viewer
from transformer.inference.pretrained import Pretrained

NEW = "a new sentence"
LONG = 128  # tokens of the longest source a viewer can type
AFTER = 10.0  # seconds that are watched after viewers left
PATIENCE = 1.0  # seconds between the clicks of a viewer who does not read what comes
MOST_NEW = 0.25  # of all clicks: a shorter run types fewer sentences rather than nothing else


@dataclass
class Crowd:
    """Viewers of one app, spread over all pages; each waits for the answer to a click before the next.

    runs: page, or NEW -> what was measured; samples: of the process, one a second; typed: new sentences so far.
    """

    app: App
    model: Pretrained
    sentences: list[str]  # the next one typed last
    pause: float  # seconds between a viewer's clicks, on average
    viewers: list[Viewer] = field(default_factory=list)
    runs: dict[str, list[Run]] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    typed: int = 0

    async def arrive(self, count: int) -> None:
        """Open the pages, one viewer after the other."""
        names = list(PAGES)
        for number in range(count):
            self.viewers.append(Viewer(self.app.host, names[number % len(names)]))
            await self.viewers[-1].open(source=self.sentences.pop())

    async def leave(self) -> None:
        for viewer in self.viewers:
            await viewer.close()
        self.viewers.clear()

    async def _watch(self, until: float) -> None:
        while time.monotonic() < until:
            self.samples.append(sample(self.app.pid))
            await asyncio.sleep(1)

    async def stay(self, seconds: float, sentences: int) -> None:
        """Click for so long, and type about so many of the sentences; forgets the runs and samples before."""
        self.runs = {NEW: [], **{name: [] for name in PAGES}}
        self.samples, self.typed = [], 0
        until = time.monotonic() + seconds
        share = min(MOST_NEW, sentences * self.pause / (seconds * len(self.viewers)))

        async def clicks(viewer: Viewer, rng: random.Random) -> None:
            while True:
                await asyncio.sleep(rng.expovariate(1 / self.pause))
                if time.monotonic() > until:
                    return
                if rng.random() < share and self.sentences:
                    self.typed += 1
                    self.runs[NEW].append(await viewer.type(source=self.sentences.pop()))
                else:
                    self.runs[viewer.name].append(await click(viewer, self.model, rng))

        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch(until))
            for number, viewer in enumerate(self.viewers):
                group.create_task(clicks(viewer, random.Random(f"{number} {seconds}")))


def long_texts(model: Pretrained, count: int, seed: int) -> list[str]:
    """Different sources of LONG tokens."""
    return [of_length(model.tokenizer, LONG, 1000 * seed + number) for number in range(count)]


@dataclass(frozen=True)
class Rush:
    """Everybody asks at once. waits: milliseconds, in the order of asking; cpu: seconds of the process for all;
    lost: how many got no answer, or another's."""

    waits: list[float]
    cpu: float
    lost: int

    @property
    def overtaken(self) -> int:
        """How many were answered before somebody who had asked earlier by more than one place of the queue."""
        return sum(any(later < wait for later in self.waits[number + 2 :]) for number, wait in enumerate(self.waits))


async def rush(app: App, model: Pretrained, count: int) -> Rush:
    """So many explorers, open already, with sources of LONG tokens nobody typed before, which the model translates."""
    crowd = [Viewer(app.host, patience=20.0 * count) for _ in range(count)]
    for viewer in crowd:
        await viewer.open(source="The dog.")
    texts, before = long_texts(model, count, 1), sample(app.pid).cpu
    runs = await asyncio.gather(*(one.type(source=text) for one, text in zip(crowd, texts, strict=True)))
    cpu = sample(app.pid).cpu - before
    told = [one for one in crowd if f"{LONG} of {LONG} tokens" in one.labels.get("source", "")]
    own = [one for one, text in zip(crowd, texts, strict=True) if one.states["source"]["string_value"] == text]
    for viewer in crowd:
        await viewer.close()
    lost = count - sum(one in own for one in told)
    return Rush([run.milliseconds for run in runs], cpu, lost)


@dataclass(frozen=True)
class Left:
    """Viewers who asked and were gone at once. cpu: seconds of the process in each of the AFTER seconds that followed;
    idle: the same before, nobody there; sessions: connected ones afterwards; memory: MB more than before."""

    cpu: list[float]
    idle: float
    sessions: int
    memory: float


async def vanished(app: App, model: Pretrained, count: int) -> Left:
    """As `rush`, but nobody waits for the answer."""
    start = sample(app.pid)
    await asyncio.sleep(3)
    idle = (sample(app.pid).cpu - start.cpu) / 3
    crowd = [Viewer(app.host) for _ in range(count)]
    for viewer in crowd:
        await viewer.open(source="The dog.")
    before = sample(app.pid)
    for viewer, text in zip(crowd, long_texts(model, count, 2), strict=True):
        await viewer.ask(source=text)
    await asyncio.sleep(0.3)  # the first are at work, the others wait
    for viewer in crowd:
        await viewer.vanish()
    spent = [sample(app.pid)]
    for _ in range(int(AFTER)):
        await asyncio.sleep(1)
        spent.append(sample(app.pid))
    cpu = [after.cpu - one.cpu for one, after in itertools.pairwise(spent)]
    return Left(cpu, idle, sessions(app), spent[-1].memory - before.memory)


@dataclass(frozen=True)
class Beside:
    """What viewers who click waited beside others who misbehave, milliseconds; memory: MB that these others cost."""

    clicks: list[float]
    memory: float


async def beside(
    app: App, model: Pretrained, count: int, seconds: float, others: Callable[[float], Awaitable[None]]
) -> Beside:
    """So many viewers of the explorer click while the others do what they do, until a time of the clock."""
    crowd = Crowd(app, model, ["The cat sleeps."] * count, 1.0)
    for _ in range(count):
        crowd.viewers.append(Viewer(app.host))
        await crowd.viewers[-1].open(source=crowd.sentences.pop())
    before, until = sample(app.pid).memory, time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        group.create_task(others(until))
        group.create_task(crowd.stay(seconds, 0))
    most = max(one.memory for one in crowd.samples)
    await crowd.leave()
    return Beside([run.milliseconds for run in crowd.runs[""]], most - before)


def heavy(app: App, model: Pretrained, count: int) -> Callable[[float], Awaitable[None]]:
    """Viewers who type one long sentence after the other, without a pause."""

    async def one(number: int, until: float) -> None:
        viewer = Viewer(app.host)
        await viewer.open(source="The dog.")
        seed = 100 + 50 * number
        while time.monotonic() < until:
            await viewer.type(source=of_length(model.tokenizer, LONG, seed))
            seed += 1
        await viewer.close()

    async def all_of_them(until: float) -> None:
        await asyncio.gather(*(one(number, until) for number in range(count)))

    return all_of_them


def slow(app: App, model: Pretrained, count: int) -> Callable[[float], Awaitable[None]]:
    """Viewers who click on without reading a byte of the answers, of long sentences that the server has traced, and say
    each time that they have kept nothing."""

    async def all_of_them(until: float) -> None:
        text = of_length(model.tokenizer, LONG, 5)
        crowd = [Viewer(app.host) for _ in range(count)]
        for viewer in crowd:
            await viewer.open(source=text)
            viewer.large.clear()
        while time.monotonic() < until:
            for viewer in crowd:
                with contextlib.suppress(ConnectionClosed, TimeoutError):  # Streamlit parts with who leaves 500 unread
                    await asyncio.wait_for(viewer.ask(), PATIENCE)
            await asyncio.sleep(PATIENCE)
        for viewer in crowd:
            await viewer.vanish()

    return all_of_them
