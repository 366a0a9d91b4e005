"""The cost of a rerun on the server, for one viewer and for thirty in one process (`load.py`)."""

from __future__ import annotations

import asyncio
import gc
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence

from benchmarks.app import running
from benchmarks.clicks import heads
from benchmarks.load import TARGET
from benchmarks.load import measure as on_all_pages
from benchmarks.report import Table, load
from benchmarks.sentences import pairs, typed
from benchmarks.timing import percentile
from benchmarks.viewer import Run, Viewer
from transformer.inference.pretrained import Pretrained

VIEWERS = 30
PAUSE = 2.0  # seconds between a viewer's clicks, on average
LENGTHS = (12, 64, 128)
MINUTES = 3.0  # of the run on all pages; --minutes 10 is what the app promises


async def alone(host: str, model: Pretrained, tokens: int, rounds: int) -> dict[str, list[Run]]:
    """One viewer: heads, sentences the server has traced before, and sentences it has not."""
    found = pairs(model.tokenizer, tokens, rounds + 2)
    known, new = found[:2], [source for source, _ in found[2:]]
    rng = random.Random(tokens)
    viewer = Viewer(host)
    runs: dict[str, list[Run]] = {"a head": [], "a known sentence": [], "a new sentence": []}
    for source, target in known:  # the first opens the page
        await (viewer.type(source=source, target=target) if viewer.page else viewer.open(source=source, target=target))
    for number, source in enumerate(new):
        runs["a new sentence"].append(await viewer.type(source=source))
        runs["a known sentence"].append(await viewer.type(source=known[number % 2][0]))
        runs["a head"] += [await heads(viewer, model, rng) for _ in range(2)]
    await viewer.close()
    return runs


async def together(
    host: str, model: Pretrained, sentences: Sequence[str], viewers: int, pause: float, seconds: float, typing: float
) -> dict[str, list[Run]]:
    """Viewers who click every `pause` seconds on average, each after waiting for the answer to the last click.

    sentences: the first ones are opened, one a viewer; with each click that is `typing` (a share of the clicks), the
    next one is typed, as long as there are any.
    """
    runs: dict[str, list[Run]] = {"a head": [], "a new sentence": []}
    left = list(sentences[viewers:])
    everyone = [Viewer(host) for _ in range(viewers)]
    for viewer, source in zip(everyone, sentences, strict=False):
        await viewer.open(source=source)
    until = time.monotonic() + seconds

    async def watch(viewer: Viewer, rng: random.Random) -> None:
        while True:
            await asyncio.sleep(rng.expovariate(1 / pause))
            if time.monotonic() > until:
                return
            if left and rng.random() < typing:
                runs["a new sentence"].append(await viewer.type(source=left.pop()))
            else:
                runs["a head"].append(await heads(viewer, model, rng))

    async with asyncio.TaskGroup() as group:
        for number, viewer in enumerate(everyone):
            group.create_task(watch(viewer, random.Random(number)))
    for viewer in everyone:
        await viewer.close()
    return runs


def _in_app(model: Pretrained, work: Callable[[str], Awaitable[dict[str, list[Run]]]]) -> dict[str, list[Run]]:
    """Against a server of its own, so that no measurement finds what another left in the caches."""
    with running(model.path) as app:
        return asyncio.run(work(app.host))  # type: ignore[arg-type]


def _add(table: Table, who: str, what: str, runs: Sequence[Run], base: float | None, judged: bool) -> None:
    if not runs:
        return
    times = [run.milliseconds for run in runs]
    high = percentile(times, 0.95)
    table.add(
        who, what, len(runs), f"{statistics.median(times):.0f}", f"{high:.0f}", f"{max(times):.0f}",
        f"{high / base:.1f}" if base else "", f"{statistics.median(run.received for run in runs) / 1e3:.0f}",
        good=high < TARGET if judged else None,
    )  # fmt: skip


def measure(model: Pretrained, quick: bool = False, minutes: float | None = None) -> list[Table]:
    """minutes: of the run on all pages, a quarter of which is warm-up."""
    gc.collect()
    gc.freeze()  # the viewers share a process too; its collector must not be what they wait for
    table = Table(
        f"A rerun on the server, milliseconds (p95 of a click on a head: below {TARGET})",
        ("viewers", "a click on", "reruns", "p50", "p95", "longest", "p95 : p50 of one viewer", "KB sent"),
        load(),
    )
    base = None
    rounds, lengths = (2, LENGTHS[:1]) if quick else (25, LENGTHS)
    for tokens in lengths:
        for what, runs in _in_app(model, lambda host, n=tokens: alone(host, model, n, rounds)).items():  # type: ignore[misc]
            base = base or statistics.median(run.milliseconds for run in runs)
            _add(table, f"one, {tokens} tokens a side", what, runs, None, judged=what == "a head")
    viewers, seconds, count = (3, 3.0, 6) if quick else (VIEWERS, 40.0, 300)
    few, many = typed(10), typed(count + viewers, seed=1)
    pause = PAUSE / 4 if quick else PAUSE
    shared = [few[number % len(few)] for number in range(viewers)]
    crowds = {
        f"{viewers}, {len(set(shared))} sentences": (shared, seconds, 0.0),
        f"{viewers}, a sentence each, then {count} more": (many, seconds * 2, 0.25),
    }
    for who, (sentences, lasting, typing) in crowds.items():
        found = _in_app(
            model,
            lambda host, s=sentences, t=lasting, q=typing: together(host, model, s, viewers, pause, t, q),  # type: ignore[misc]
        )
        for what, runs in found.items():
            _add(table, who, what, runs, base, judged=what == "a head")
    table.notes.append(
        "From sending the click to Streamlit's `script finished`, seen by viewers without a browser that speak "
        "Streamlit's own protocol over loopback (`viewer.py`), against the app as `python -m transformer app` starts "
        f"it: one process, garbage collector frozen, one torch thread. Many viewers click every {PAUSE:g} s each on "
        "average (exponential pauses), on any head of any kind; a quarter of the clicks of the last two rows are Enter "
        "after a sentence nobody typed before, which the model first translates. The viewers run on the same cores."
    )
    if quick:
        return [table, *on_all_pages(model, 6, minutes or 0.2, PAUSE / 4, quick=True)]
    return [table, *on_all_pages(model, VIEWERS, minutes or MINUTES, PAUSE)]
