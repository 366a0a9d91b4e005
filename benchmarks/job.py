"""Thirty viewers on all pages while one job runs: every head of a model is measured for somebody."""

from __future__ import annotations

import asyncio
import gc
import statistics
import time

from benchmarks.app import App, running
from benchmarks.clicks import NAMES
from benchmarks.crowd import NEW, Crowd
from benchmarks.load import FILL, TARGET
from benchmarks.report import Table, load
from benchmarks.sentences import typed
from benchmarks.server import PAUSE, VIEWERS
from benchmarks.timing import percentile
from benchmarks.viewer import Run, Viewer, ViewerError
from pages.runtime.pruned import MARK
from transformer.inference.pretrained import Pretrained
from transformer.probing.importance import all_heads, name_of

SECONDS = 90.0  # of each measurement; the job takes minutes
LOOK = 0.5  # seconds between two looks at its progress, as a browser does
Runs = dict[str, list[Run]]  # by page


async def work(app: App, model: Pretrained, until: float) -> None:
    """Measure what every head is worth, of a model for which nobody has: the one without its first head. Raises
    ViewerError if the job does not run until then."""
    async with Viewer(app.host, "roles") as viewer:
        name = f"{model.name}{MARK}{name_of(all_heads(model.config)[0])}"
        await viewer.open(part="importance", checkpoint=name)
        await viewer.press("hs-task-start")
        while time.monotonic() < until:
            await asyncio.sleep(LOOK)
            await viewer.refresh()
            if "hs-task-stop" not in viewer.seen:
                raise ViewerError("the job ended before the measurement; give it more work")


async def measured(app: App, model: Pretrained, viewers: int, seconds: float, pause: float) -> list[Runs]:
    """Runs by page, without the job and beside it."""
    crowd = Crowd(app, model, typed(viewers + 2 * FILL, seed=1), pause)
    await crowd.arrive(viewers)
    await crowd.stay(seconds, FILL)  # fills the caches
    await crowd.stay(seconds, 0)
    alone = crowd.runs
    async with asyncio.TaskGroup() as group:
        group.create_task(work(app, model, time.monotonic() + seconds))
        group.create_task(crowd.stay(seconds, 0))
    beside = crowd.runs
    await crowd.leave()
    return [alone, beside]


def _cells(runs: list[Run]) -> tuple[int | str, ...]:
    times = [run.milliseconds for run in runs]
    if not times:
        return 0, "–", "–"
    return len(times), f"{statistics.median(times):.0f}", f"{percentile(times, 0.95):.0f}"


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    gc.collect()
    gc.freeze()
    viewers, seconds, pause = (12, 6.0, 1.0) if quick else (VIEWERS, SECONDS, PAUSE)
    with running(model.path) as app:
        alone, beside = asyncio.run(measured(app, model, viewers, seconds, pause))
    table = Table(
        f"{viewers} viewers on all pages while one job runs, milliseconds of a rerun (p95: below {TARGET})",
        ("page", "reruns without it", "p50", "p95", "reruns beside it", "p50", "p95"),
        load(),
    )
    for runs in (alone, beside):
        del runs[NEW]
        runs["all"] = [run for found in runs.values() for run in found]
    for page, late in beside.items():
        good = percentile([run.milliseconds for run in late], 0.95) < TARGET if late else None
        table.add(NAMES.get(page, page), *_cells(alone[page]), *_cells(late), good=good)
    table.notes.append(
        f"Viewers and clicks as in `server`, every {pause:g} s each on average, {seconds:g} s without the job and as "
        "long beside it; nobody types. The job is the part Importance of Head roles: every head at 0 and at its "
        "mean, sub-layers and pruning curves, over 100 sentences, of a model that nobody has measured. The viewers run "
        "on the same cores."
    )
    return [table]
