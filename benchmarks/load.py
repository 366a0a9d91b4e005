"""Tables of `crowd.py`: thirty viewers on all pages, and viewers who rush, leave or do not read."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence

from benchmarks.app import App, running
from benchmarks.clicks import NAMES
from benchmarks.crowd import AFTER, LONG, NEW, Beside, Crowd, Left, Rush, beside, heavy, rush, slow, vanished
from benchmarks.process import Sample, sample, sessions, slope
from benchmarks.report import Table, load
from benchmarks.sentences import typed
from benchmarks.timing import percentile
from transformer.inference.pretrained import Pretrained

TARGET = 100  # milliseconds that 95% of the clicks may take
GROWTH = 50  # MB that memory may grow by after the warm-up
WARM = 0.25  # share of the minutes in which caches are filled
FILL, SENTENCES = 240, 300  # new sentences in the warm-up (these alone fill the room for traces), and after it


def _times(times: Sequence[float]) -> tuple[str, str, str]:
    return f"{statistics.median(times):.0f}", f"{percentile(times, 0.95):.0f}", f"{max(times):.0f}"


def clicks(crowd: Crowd, minutes: float) -> Table:
    """What viewers waited for on each page."""
    table = Table(
        f"{len(crowd.viewers)} viewers on all pages, {minutes:g} minutes: a rerun on the server, milliseconds "
        f"(p95 of clicks: below {TARGET})",
        ("page", "what", "reruns", "p50", "p95", "longest", "KB sent"),
        load(),
    )
    everything = [run for page, runs in crowd.runs.items() if page != NEW for run in runs]
    for page, runs in {**crowd.runs, "all": everything}.items():
        if not runs:
            continue
        times = [run.milliseconds for run in runs]
        what = NEW if page == NEW else "a click"
        name = "all" if page in (NEW, "all") else NAMES[page]
        size = f"{statistics.median(run.received for run in runs) / 1e3:.0f}"
        good = None if page == NEW else percentile(times, 0.95) < TARGET
        table.add(name, what, len(runs), *_times(times), size, good=good)
    return table


def holds(samples: Sequence[Sample], crowd: Crowd, connected: int) -> Table:
    """What the process held after the warm-up. samples: one a second since then."""
    minutes = (samples[-1].second - samples[0].second) / 60
    sizes = [one.memory for one in samples]
    grown = slope(samples) * (samples[-1].second - samples[0].second)
    table = Table("Resources of the process after the warm-up", ("what", "at first", "at the end", "least", "most", ""))
    table.add(
        "memory, MB", f"{sizes[0]:.0f}", f"{sizes[-1]:.0f}", f"{min(sizes):.0f}", f"{max(sizes):.0f}",
        f"{grown:+.0f} MB in {minutes:.1f} minutes by least squares; allowed {GROWTH}", good=grown < GROWTH,
    )  # fmt: skip
    for name, values in (
        ("threads", [one.threads for one in samples]),
        ("open files", [one.files for one in samples]),
    ):
        table.add(name, values[0], values[-1], min(values), max(values), "")
    table.add("sessions", "", connected, "", "", f"{len(crowd.viewers)} viewers")
    table.add("new sentences", "", crowd.typed, "", "", "")
    spent = samples[-1].cpu - samples[0].cpu
    runs = sum(map(len, crowd.runs.values()))
    table.add("CPU, seconds", "", f"{spent:.0f}", "", "", f"{1e3 * spent / max(1, runs):.0f} ms a rerun")
    return table


def happenings(rushed: Rush, left: Left, beside_heavy: Beside, beside_slow: Beside, count: int, few: int) -> Table:
    """What happens when many want much, leave, or do not read."""
    table = Table("Simultaneous requests, lost connections and viewers who do not read", ("what", "measured"))
    waits = rushed.waits
    table.add(
        f"{count} viewers type {LONG} tokens at the same moment: answers lost", rushed.lost, good=rushed.lost == 0
    )
    table.add("first, middle and last answer after, seconds",
              f"{min(waits) / 1e3:.1f}, {statistics.median(waits) / 1e3:.1f}, {max(waits) / 1e3:.1f}")  # fmt: skip
    table.add("answered before a viewer two places ahead in the queue", rushed.overtaken)
    table.add("CPU of the process for all of them, seconds", f"{rushed.cpu:.1f}")
    table.add(
        f"{count} type as many and are gone 0.3 s later: CPU in the seconds that follow",
        " ".join(f"{one:.2f}" for one in left.cpu[:4]) + " …",
        good=sum(left.cpu) < rushed.cpu * max(1 / 4, 2 / count),
    )
    table.add(
        f"CPU a second at the end of {AFTER:.0f} seconds; before, nobody there",
        f"{statistics.mean(left.cpu[-3:]):.3f}; {left.idle:.3f}",
    )
    table.add("sessions connected afterwards; memory more than before, MB", f"{left.sessions}; {left.memory:+.0f}",
              good=left.sessions == 0)  # fmt: skip
    for name, found in (
        (f"{few} who type {LONG} new tokens one after the other", beside_heavy),
        (f"{few} who click and read nothing", beside_slow),
    ):
        high = percentile(found.clicks, 0.95)
        table.add(
            f"beside {name}: p50, p95 of clicks on heads, ms; memory, MB",
            f"{statistics.median(found.clicks):.0f}, {high:.0f}; {found.memory:+.0f}",
            good=high < TARGET,
        )
    return table


async def _all(app: App, model: Pretrained, viewers: int, minutes: float, pause: float, quick: bool) -> list[Table]:
    """The long run, then the incidents, all in one process."""
    seconds = 60 * minutes
    crowd = Crowd(app, model, typed(viewers + 2 * (FILL + SENTENCES), seed=1), pause)
    await crowd.arrive(viewers)
    await crowd.stay(WARM * seconds, 6 if quick else FILL)
    await crowd.stay((1 - WARM) * seconds, 6 if quick else SENTENCES)
    first = clicks(crowd, minutes)
    second = holds([*crowd.samples, sample(app.pid)], crowd, sessions(app))
    first.notes.append(
        f"Viewers without a browser over loopback (`viewer.py`), spread evenly over the pages; each clicks every "
        f"{pause:g} s on average, after the answer to the last click: any head (Heads, Lab, with the scaling on or "
        "off), any part of a page but the position lab and the neurons, sliders, layers, any place of the anatomy, "
        "tokens, branches, beam sizes, seeds and rows to paint of Decoding, any menu of Head roles, Attribution, "
        f"Training recipe and Results (`clicks.py`). Warm-up: the first {WARM:.0%} of the minutes, in which about "
        f"{FILL} new sentences fill the room for traces; only what came after it counts, with about {SENTENCES} more. "
        "An exception, a message of an error, a lost connection or an answer later than a minute ends the measurement."
    )
    await crowd.leave()
    few, count, lasting = (1, 2, 3.0) if quick else (3, viewers, 20.0)
    rushed, left = await rush(app, model, count), await vanished(app, model, count)
    near = await beside(app, model, count - few, lasting, heavy(app, model, few))
    far = await beside(app, model, count - few, lasting, slow(app, model, few))
    return [first, second, happenings(rushed, left, near, far, count, few)]


def measure(model: Pretrained, viewers: int, minutes: float, pause: float, quick: bool = False) -> list[Table]:
    """quick: does it run? A few sentences, and three viewers where there are thirty."""
    with running(model.path) as app:
        return asyncio.run(_all(app, model, viewers, minutes, pause, quick))
