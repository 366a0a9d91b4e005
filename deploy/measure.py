"""What one process of the app holds, and what a second and a third add: `python -m deploy.measure memory` (Linux).

`python -m deploy.measure clicks`: what viewers feel, the same ones at the same pace, at one process and at two.
`python -m deploy.measure trainings`: what the processes hold that train for visitors.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import transformer
from benchmarks.app import ROOT
from benchmarks.crowd import click
from benchmarks.process import children
from benchmarks.report import load
from benchmarks.sentences import typed
from benchmarks.timing import percentile
from benchmarks.viewer import Run, Viewer
from transformer.inference.pretrained import Pretrained
from transformer.live_training.experiment import Experiment
from transformer.live_training.workshop import Workshop

PORTS = range(8721, 8724)
HOSTS = [f"127.0.0.1:{port}" for port in PORTS]
VIEWERS, PAUSE, SECONDS, NEW = 30, 2.0, 40.0, 300


def start(port: int) -> tuple[subprocess.Popen[bytes], float]:
    """A process of the app, as a person starts it, and the seconds until it answered."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "transformer", "app", "--port", str(port), "--address", "127.0.0.1"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5):
            return process, time.perf_counter() - begun
        time.sleep(0.02)
    raise SystemExit(f"port {port}: the app did not start")


def memory(pid: int) -> str:
    """Resident, proportional (shared pages divided among those who share them), and its own alone; MB."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    kilobytes = {name: int(count) for name, count in re.findall(r"(?m)^(\w+): +(\d+) kB", text)}
    own = kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]
    return " | ".join(f"{count * 1024 / 1e6:.0f}" for count in (kilobytes["Rss"], kilobytes["Pss"], own))


async def read(hosts: list[str], sentences: list[str], viewers: int) -> None:
    """That many viewers, each typing its share of the sentences."""

    async def one(number: int) -> None:
        viewer = Viewer(hosts[number % len(hosts)])
        for text in sentences[number::viewers]:
            await (viewer.type(source=text) if viewer.page else viewer.open(source=text))
        await viewer.close()

    await asyncio.gather(*(one(number) for number in range(viewers)))


async def together(hosts: list[str], model: Pretrained, sentences: list[str]) -> dict[str, list[Run]]:
    """Viewers with a sentence each, clicking on heads every PAUSE seconds on average; one click in ten is Enter after
    a new sentence."""
    runs: dict[str, list[Run]] = {"a head": [], "a new sentence": []}
    everyone = [Viewer(hosts[number % len(hosts)]) for number in range(VIEWERS)]
    for viewer, source in zip(everyone, sentences, strict=False):
        await viewer.open(source=source)
    left, until = sentences[VIEWERS:], time.monotonic() + SECONDS

    async def watch(viewer: Viewer, rng: random.Random) -> None:
        while time.monotonic() < until:
            await asyncio.sleep(rng.expovariate(1 / PAUSE))
            if rng.random() < 0.1:
                runs["a new sentence"].append(await viewer.type(source=left.pop()))
            else:
                runs["a head"].append(await click(viewer, model, rng))

    await asyncio.gather(*(watch(viewer, random.Random(number)) for number, viewer in enumerate(everyone)))
    for viewer in everyone:
        await viewer.close()
    return runs


def end(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.send_signal(signal.SIGINT)
    for process in processes:
        process.wait(20)


def hold(sentences: list[str]) -> None:
    """The tables of memory."""
    print("| one process | RSS | PSS | own |\n|---|---|---|---|", flush=True)
    process, seconds = start(PORTS[0])
    print(f"| started, after {seconds:.1f} s | {memory(process.pid)} |", flush=True)
    asyncio.run(read(HOSTS[:1], sentences[:1], 1))
    print(f"| one viewer, `en-de` loaded | {memory(process.pid)} |", flush=True)
    for count in (VIEWERS, NEW // 2, NEW, 2 * NEW):
        asyncio.run(read(HOSTS[:1], sentences[:count], VIEWERS))
        print(f"| {count} sentences of {VIEWERS} viewers | {memory(process.pid)} |", flush=True)
    end([process])
    print("\n| processes, one viewer each | RSS | PSS | own |\n|---|---|---|---|", flush=True)
    processes: list[subprocess.Popen[bytes]] = []
    for number, port in enumerate(PORTS):
        processes.append(start(port)[0])
        asyncio.run(read(HOSTS[number : number + 1], sentences[:1], 1))
        for place, one in enumerate(processes):
            print(f"| {len(processes)}: number {place + 1} | {memory(one.pid)} |", flush=True)
    end(processes)


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
        shop = Workshop(1, 600)
        run = shop.begin(experiment, lambda: True) if experiment is not None else None
        until, most = time.monotonic() + 30, [0, 0, 0]
        while (run is not None and not run.ended) or (run is None and time.monotonic() < until):
            if run is None:
                shop.prepare()
            for child in children(os.getpid()):
                with contextlib.suppress(OSError, KeyError):  # it ended meanwhile
                    most = [max(pair) for pair in zip(most, map(int, memory(child).split(" | ")), strict=True)]
            time.sleep(0.05)
        ended = "" if run is None else run.error or "all steps"
        print(f"| {name} | {' | '.join(map(str, most))} | {ended} |", flush=True)
        shop.close()


def feel(model: Pretrained, sentences: list[str]) -> None:
    """The table of clicks."""
    print("| processes | a click on | clicks | p50, ms | p95 | longest |\n|---|---|---|---|---|---|", flush=True)
    for count in (1, 2, 2, 1, 1, 2):  # in turn: the load of a shared machine changes
        processes = [start(port)[0] for port in PORTS[:count]]
        found = asyncio.run(together(HOSTS[:count], model, list(sentences)))
        end(processes)
        for what, runs in found.items():
            times = [run.milliseconds for run in runs]
            figures = f"{statistics.median(times):.0f} | {percentile(times, 0.95):.0f} | {max(times):.0f}"
            print(f"| {count} | {what} | {len(times)} | {figures} |", flush=True)


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
