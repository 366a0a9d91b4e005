"""Thirty viewers on all pages while one job runs: every head of a model is measured for somebody."""

import asyncio
import itertools
import time

from benchmarks import server
from benchmarks.report import Table, load
from benchmarks.server import Runs, below, cells, clicks
from pages.runtime.pruned import MARK
from tests.support.clicks import NAMES, PAGES
from tests.support.sentences import typed
from tests.support.server import App, running
from tests.support.viewer import Viewer, ViewerError
from transformer.inference.pretrained import Pretrained
from transformer.probing.importance import all_heads, name_of

SECONDS = 90.0  # of each measurement; the job takes minutes
POLL = 0.5  # seconds between two requests of its progress, as a browser does


async def work(app: App, model: Pretrained, until: float) -> None:
    """Run the job Importance on a pruned model that nobody has measured, the one without its first head. Raises
    ViewerError if the job does not run until then."""
    async with Viewer(app.host, "roles") as viewer:
        name = f"{model.name}{MARK}{name_of(all_heads(model.config)[0])}"
        await viewer.open(part="importance", checkpoint=name)
        await viewer.press("hs-task-start")
        while time.monotonic() < until:
            await asyncio.sleep(POLL)
            await viewer.refresh()
            if "hs-task-stop" not in viewer.seen:
                raise ViewerError("the job ended before the measurement; give it more work")


async def runs_of_both(app: App, model: Pretrained, viewers: int, seconds: float, pause: float) -> tuple[Runs, Runs]:
    """Runs by page, without the job and beside it."""
    sentences = iter(typed(1800, seed=1))
    opened = await server.open_all(app, list(itertools.islice(itertools.cycle(PAGES), viewers)), sentences)

    async def stay(act: server.Act) -> Runs:
        return await server.visit([(viewer, act, pause) for viewer in opened], seconds)

    await stay(clicks(model, server.types(sentences), 0.2))  # fills the caches
    alone = await stay(clicks(model))
    async with asyncio.TaskGroup() as group:
        group.create_task(work(app, model, time.monotonic() + seconds))
        beside = group.create_task(stay(clicks(model)))
    for viewer in opened:
        await viewer.close()
    return alone, beside.result()


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    server.freeze()
    viewers, seconds, pause = (12, 6.0, 1.0) if quick else (server.VIEWERS, SECONDS, server.PAUSE)
    with running(model.path) as app:
        alone, beside = asyncio.run(runs_of_both(app, model, viewers, seconds, pause))
    table = Table(
        f"{viewers} viewers on all pages while one job runs, milliseconds of a rerun (p95: below {server.TARGET})",
        ("page", "reruns without it", "p50", "p95", "reruns beside it", "p50", "p95"),
        load(),
        notes=[
            f"Viewers and clicks as in `server`, every {pause:g} s each on average, {seconds:g} s without the job and "
            "as long beside it; nobody types. The job is the part Importance of Head roles: every head at 0 and at its "
            "mean, sub-layers and pruning curves, over 100 sentences, of a model that nobody has measured. The viewers "
            "run on the same cores."
        ],
    )
    for name in (*PAGES, "all"):
        both = [
            [run.milliseconds for page in runs for run in runs[page] if name in (page, "all")]
            for runs in (alone, beside)
        ]
        row = [cell for times in both for cell in (len(times), *(cells(times)[:2] if times else "––"))]
        table.add(NAMES.get(name, name), *row, good=below(server.TARGET, both[1]) if both[1] else None)
    return [table]
