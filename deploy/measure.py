"""What one process of the app holds, and what a second and a third add: `python -m deploy.measure memory` (Linux).

`python -m deploy.measure clicks`: what viewers feel, the same ones at the same pace, at one process and at two.
`python -m deploy.measure trainings`: what the processes hold that train for visitors.
"""

import asyncio
import contextlib
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import transformer
from benchmarks.report import load
from benchmarks.server import HEAD, Runs, cells, clicks, open_all, times, types, visit
from tests.support.processes import children
from tests.support.sentences import typed
from tests.support.server import App, running
from tests.support.viewer import Viewer
from transformer.inference.pretrained import Pretrained
from transformer.live_training.experiment import Experiment
from transformer.live_training.training_queue import TrainingQueue

VIEWERS, PAUSE, SECONDS, NEW = 30, 2.0, 40.0, 300


def memory(pid: int) -> str:
    """Resident, proportional (shared pages divided among those who share them), and its own alone; MB."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    kilobytes = {name: int(count) for name, count in re.findall(r"(?m)^(\w+): +(\d+) kB", text)}
    own = kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]
    return " | ".join(f"{count * 1024 / 1e6:.0f}" for count in (kilobytes["Rss"], kilobytes["Pss"], own))


async def read(app: App, sentences: list[str], viewers: int) -> None:
    """That many viewers, each typing its share of the sentences."""

    async def one(number: int) -> None:
        viewer = Viewer(app.host)
        for text in sentences[number::viewers]:
            await (viewer.type(source=text) if viewer.page else viewer.open(source=text))
        await viewer.close()

    await asyncio.gather(*(one(number) for number in range(viewers)))


async def together(apps: list[App], model: Pretrained, sentences: Iterator[str]) -> Runs:
    """Viewers with a sentence each, clicking on heads every PAUSE seconds on average; one click in ten is Enter after
    a new sentence."""
    share = [""] * (VIEWERS // len(apps))
    viewers = [viewer for app in apps for viewer in await open_all(app, share, sentences)]
    act = clicks(model, types(sentences), 0.1)
    runs = await visit([(viewer, act, PAUSE) for viewer in viewers], SECONDS)
    for viewer in viewers:
        await viewer.close()
    return runs


def hold(sentences: list[str]) -> None:
    """The tables of memory."""
    print("| one process | RSS | PSS | own |\n|---|---|---|---|", flush=True)
    begun = time.perf_counter()
    with running("en-de") as app:
        print(f"| started, after {time.perf_counter() - begun:.1f} s | {memory(app.pid)} |", flush=True)
        asyncio.run(read(app, sentences[:1], 1))
        print(f"| one viewer, `en-de` loaded | {memory(app.pid)} |", flush=True)
        for count in (VIEWERS, NEW // 2, NEW, 2 * NEW):
            asyncio.run(read(app, sentences[:count], VIEWERS))
            print(f"| {count} sentences of {VIEWERS} viewers | {memory(app.pid)} |", flush=True)
    print("\n| processes, one viewer each | RSS | PSS | own |\n|---|---|---|---|", flush=True)
    with contextlib.ExitStack() as stack:
        apps: list[App] = []
        for _ in range(3):
            apps.append(stack.enter_context(running("en-de")))
            asyncio.run(read(apps[-1], sentences[:1], 1))
            for number, app in enumerate(apps, 1):
                print(f"| {len(apps)}: number {number} | {memory(app.pid)} |", flush=True)


TRAININGS = {
    "one started ahead": None,
    "the page's first experiment": Experiment(steps=20),
    "256 inputs a step": Experiment(steps=5, batch=256),
    "4 layers, 8 heads, d_model 256, d_ff 512, inputs of 10 to 32": Experiment(
        steps=2, layers=4, heads=8, d_model=256, d_ff=512, longest=32
    ),
    "6 layers, 8 heads, d_model 128, d_ff 512, 128 inputs of 32": Experiment(
        steps=2, layers=6, heads=8, d_model=128, d_ff=512, shortest=32, longest=32, batch=128
    ),
    "6 layers, 8 heads, d_model 128, d_ff 512, 256 inputs of 32": Experiment(
        steps=2, layers=6, heads=8, d_model=128, d_ff=512, shortest=32, longest=32, batch=256
    ),
}


def train() -> None:
    """The table of trainings: the largest numbers seen of each, twenty times a second."""
    print("| a training | RSS | PSS | own | how it ended |\n|---|---|---|---|---|", flush=True)
    for name, experiment in TRAININGS.items():
        queue = TrainingQueue(1, 600)
        run = queue.submit(experiment, lambda: True) if experiment is not None else None
        until, most = time.monotonic() + 30, [0, 0, 0]
        while (run is not None and not run.ended) or (run is None and time.monotonic() < until):
            if run is None:
                queue.prepare()
            for child in children(os.getpid()):
                with contextlib.suppress(OSError, KeyError):  # it ended meanwhile
                    most = [max(pair) for pair in zip(most, map(int, memory(child).split(" | ")), strict=True)]
            time.sleep(0.05)
        ended = "" if run is None else run.error or "all steps"
        print(f"| {name} | {' | '.join(map(str, most))} | {ended} |", flush=True)
        queue.close()


def feel(model: Pretrained, sentences: list[str]) -> None:
    """The table of clicks."""
    print("| processes | a click on | clicks | p50, ms | p95 | longest |\n|---|---|---|---|---|---|", flush=True)
    for count in (1, 2, 2, 1, 1, 2):  # in turn: the load of a shared machine changes
        with contextlib.ExitStack() as stack:
            apps = [stack.enter_context(running("en-de")) for _ in range(count)]
            found = asyncio.run(together(apps, model, iter(sentences)))
        for what, runs in found.items():
            figures = " | ".join(cells(times(runs)))
            print(f"| {count} | {what or HEAD} | {len(runs)} | {figures} |", flush=True)


def main() -> int:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sentences = typed(NEW + VIEWERS * 30, seed=7)
    print(f"load before: {load()}\n", flush=True)
    if sys.argv[1:] == ["memory"]:
        hold(sentences)
    elif sys.argv[1:] == ["trainings"]:
        train()
    elif sys.argv[1:] == ["clicks"]:
        feel(transformer.load("en-de"), sentences)
    else:
        print("python -m deploy.measure memory, clicks or trainings", file=sys.stderr)
        return 2
    print(f"\nload after: {load()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
