"""Waiting times of thirty viewers of the explorer while two trainings run in the app's workers."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

from benchmarks.app import App, running
from benchmarks.crowd import NEW, Crowd
from benchmarks.process import Sample, children, sample
from benchmarks.report import Table, load
from benchmarks.sentences import typed
from benchmarks.timing import percentile
from benchmarks.viewer import Run, Viewer
from transformer.inference.pretrained import Pretrained

TARGET = 150  # milliseconds that 95% of the clicks may take while others train
VIEWERS, PAUSE = 30, 2.0  # those who explore; seconds between the clicks of each, on average
TRAINERS = 2
PHASES, SECONDS = 6, 40.0  # without and with trainings, in turn
NEWS = 30  # new sentences in a phase
ASK = 0.2  # seconds between an answer and the picture's next question, as in training_ask.js
ACTIVE = ("waiting", "starting", "training", "paused")
PICTURE, FEED = "headscope.training", "headscope.training_feed"


def header(data: bytes) -> dict[str, Any]:
    """The header of a pack (view/pack.py)."""
    return dict(json.loads(data[8 : 8 + int.from_bytes(data[4:8], "little")]))


class Trainer(Viewer):
    """A viewer of the training page: presses Train, and asks for what is new as the page's picture does.

    answers: of its questions; held: run -> frames that the picture has.
    """

    def __init__(self, host: str) -> None:
        super().__init__(host, "training")
        self.held: dict[str, int] = {}
        self.answers: list[Run] = []
        self.number = 0
        self.runs_begun = 0

    async def begin(self) -> None:
        await self.open()
        await self.press("training_train")
        self.runs_begun = 1

    async def tell(self, event: str, **value: Any) -> list[dict[str, Any]]:
        """Send an event of the picture; how its runs stand."""
        self.number += 1
        self.answers.append(await self.trigger(PICTURE, event, {"have": self.held, "n": self.number, **value}))
        found = header(self.feeds[FEED])
        for one in found["runs"]:
            if one["from"] == self.held.get(one["id"], 0):
                self.held[one["id"]] = one["from"] + len(one["frames"])
        return list(found["runs"])

    async def ask(self) -> list[dict[str, Any]]:
        return await self.tell("ask")

    async def watch(self, until: float, training: list[bool]) -> None:
        """Watch until a time of the clock; when the training has ended, train again. training: is given, for every
        question, whether one was on its way."""
        while time.monotonic() < until:
            runs = await self.ask()
            training.append(any(one["stage"] in ACTIVE for one in runs))
            if any(one["stage"] == "failed" for one in runs):
                raise RuntimeError(f"a training failed: {runs}")
            if not training[-1]:
                await self.tell("command", run=runs[-1]["id"], do="again")
                self.runs_begun += 1
            await asyncio.sleep(ASK)

    async def leave(self) -> None:
        for one in header(self.feeds[FEED])["runs"]:
            await self.tell("command", run=one["id"], do="stop")
        await self.close()


@dataclass
class Phase:
    """What was measured with or without trainings. clicks, news: milliseconds of clicks on heads and new sentences;
    server, workers: seconds of a core a second; memory: MB of all workers at the most."""

    trainings: bool
    clicks: list[float] = field(default_factory=list)
    news: list[float] = field(default_factory=list)
    answers: list[Run] = field(default_factory=list)
    steps: int = 0
    began: int = 0
    trained: float = 0.0  # share of the questions at which a training was on its way
    server: float = 0.0
    workers: float = 0.0
    memory: float = 0.0


async def _count(app: App, phase: Phase, until: float) -> None:
    """Samples of the server and its workers, ten a second."""
    first, begun = sample(app.pid), time.monotonic()
    seen: dict[int, tuple[Sample, Sample]] = {}
    while time.monotonic() < until:
        held = 0.0
        for child in children(app.pid):
            try:
                now = sample(child)
            except (OSError, KeyError):  # it ended meanwhile
                continue
            seen[child] = (seen.get(child, (now, now))[0], now)
            held += now.memory
        phase.memory = max(phase.memory, held)
        await asyncio.sleep(0.1)
    seconds = time.monotonic() - begun
    phase.server = (sample(app.pid).cpu - first.cpu) / seconds
    phase.workers = sum(last.cpu - before.cpu for before, last in seen.values()) / seconds


async def measured(app: App, model: Pretrained, viewers: int, pause: float, seconds: float, phases: int) -> list[Phase]:
    """The phases, in turn without and with trainings; the same viewers explore in all of them."""
    news = NEWS if viewers == VIEWERS else 2
    crowd = Crowd(app, model, typed(viewers + phases * 4 * news, seed=8), pause)
    for _ in range(viewers):
        crowd.viewers.append(Viewer(app.host))
        await crowd.viewers[-1].open(source=crowd.sentences.pop())
    await crowd.stay(min(seconds, 10), news)  # warm: scripts compiled, first pictures sent
    found = []
    for number in range(phases):
        phase = Phase(trainings=number % 2 == 1)
        trainers = [Trainer(app.host) for _ in range(TRAINERS if phase.trainings else 0)]
        for trainer in trainers:
            await trainer.begin()
        begun = time.monotonic()
        training: list[bool] = []
        async with asyncio.TaskGroup() as group:
            group.create_task(_count(app, phase, begun + seconds))
            group.create_task(crowd.stay(seconds, news))
            for trainer in trainers:
                group.create_task(trainer.watch(begun + seconds, training))
        phase.clicks = [run.milliseconds for run in crowd.runs[""]]
        phase.news = [run.milliseconds for run in crowd.runs[NEW]]
        for trainer in trainers:
            phase.steps += sum(one["step"] for one in header(trainer.feeds[FEED])["runs"])
            phase.answers += trainer.answers
            phase.began += trainer.runs_begun
            await trainer.leave()
        phase.trained = statistics.mean(training) if training else 0.0
        found.append(phase)
    await crowd.leave()
    return found


def table(phases: list[Phase], viewers: int, pause: float, seconds: float, before: str) -> Table:
    found = Table(
        f"{viewers} viewers explore, {TRAINERS} trainings run: a rerun on the server, milliseconds (p95 of a click "
        f"on a head: below {TARGET})",
        ("trainings", "what", "reruns", "p50", "p95", "longest", "p95 : without"),
        before,
    )
    base: dict[str, float] = {}
    for trainings in (False, True):
        chosen = [phase for phase in phases if phase.trainings is trainings]
        kinds = {
            "a click on a head": [time for phase in chosen for time in phase.clicks],
            NEW: [time for phase in chosen for time in phase.news],
            "what is new of a training": [run.milliseconds for phase in chosen for run in phase.answers],
        }
        for what, times in kinds.items():
            if times:
                high = percentile(times, 0.95)
                ratio = f"{high / base[what]:.2f}" if what in base else ""
                found.add(
                    TRAINERS if trainings else "none", what, len(times), f"{statistics.median(times):.0f}",
                    f"{high:.0f}", f"{max(times):.0f}", ratio, good=high < TARGET if "head" in what else None,
                )  # fmt: skip
                base.setdefault(what, high)
    apart = ", ".join(f"{percentile(phase.clicks, 0.95):.0f}{' with' if phase.trainings else ''}" for phase in phases)
    on, off = ([phase for phase in phases if phase.trainings is trainings] for trainings in (True, False))
    server = [statistics.mean(phase.server for phase in some) for some in (on, off)]
    received = [run.received for phase in on for run in phase.answers]
    found.notes += [
        f"Phases of {seconds:g} s in turn, without and with, p95 of a click in each: {apart}. With trainings the "
        f"server took {server[0]:.2f} of a core (without: {server[1]:.2f}), the workers together "
        f"{statistics.mean(phase.workers for phase in on):.2f} and {max(phase.memory for phase in on):.0f} MB at the "
        f"most; {sum(phase.began for phase in on)} trainings were begun and took {sum(phase.steps for phase in on):,} "
        f"steps; one was on its way at {statistics.mean(phase.trained for phase in on):.0%} of {len(received):,} "
        f"questions, whose answers had {statistics.mean(received) / 1e3:.1f} KB on average.",
        f"The viewers click on heads every {pause:g} s each on average and type {NEWS} new sentences a phase; the two "
        "who train press Train on the page as it opens, ask 200 ms after every answer as its picture does, and train "
        "again with the next seed when a training has ended. All speak Streamlit's protocol over loopback "
        "(`viewer.py`) and run on the same cores; so do the trainings, each a process of lowest priority.",
    ]
    return found


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    viewers, pause, seconds, phases = (4, 0.3, 6.0, 2) if quick else (VIEWERS, PAUSE, SECONDS, PHASES)
    before = load()
    with running(model.path, "--trainings", str(TRAINERS)) as app:
        found = asyncio.run(measured(app, model, viewers, pause, seconds, phases))
    return [table(found, viewers, pause, seconds, before)]
