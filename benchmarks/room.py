"""A class in a room: how soon the teacher's click is on every screen, and what a member's own click takes meanwhile."""

from __future__ import annotations

import asyncio
import gc
import random
import statistics
import tempfile
import time
from pathlib import Path
from urllib.parse import parse_qs

from benchmarks.app import running
from benchmarks.clicks import any_head, heads
from benchmarks.report import Table, load
from benchmarks.timing import percentile
from benchmarks.viewer import Viewer
from transformer.inference.pretrained import Pretrained
from transformer.rooms import Rooms, SqliteRooms

MEMBERS = (30, 200)
SOON = 1_000.0  # milliseconds: wanted for 95% of the screens
PAUSE = 3.0  # seconds between two clicks of the teacher
SENTENCE = "The man who called me yesterday is my brother."


def head_of(viewer: Viewer) -> tuple[str, ...]:
    """The head that the address of a page names."""
    params = parse_qs(viewer.query)
    return tuple(params.get(name, [""])[0] for name in ("kind", "layer", "head"))


async def follow(
    host: str, model: Pretrained, rooms: Rooms, count: int, clicks: int
) -> tuple[list[float], list[float]]:
    """Milliseconds from the teacher's click to the end of the run that shows it, of each member and click; and of the
    clicks of a person outside the room."""
    code, secret = rooms.open()
    teacher, outside = Viewer(host), Viewer(host)
    teacher.settings["additional_headers"] = {"Cookie": f"headscope_room={code}.t.{secret}"}
    await teacher.open(room=code, source=SENTENCE)
    await outside.open(source=SENTENCE)
    members = [Viewer(host) for _ in range(count)]
    for member in members:
        await member.open(room=code)
    rng = random.Random(count)
    late: list[float] = []
    own: list[float] = []

    async def see(member: Viewer, start: float, wanted: tuple[str, ...]) -> None:
        kind, layer, head = wanted
        numbers = f'"kind":"{kind}","layer":{int(layer) - 1},"head":{int(head) - 1}'.encode()
        while head_of(member) != wanted or numbers not in member.numbers:
            await member.hear()
        late.append((time.perf_counter() - start) * 1e3)

    async def click_on(end: float) -> None:
        while time.perf_counter() < end:
            own.append((await heads(outside, model, rng)).milliseconds)
            await asyncio.sleep(rng.expovariate(2.0))

    for _ in range(clicks):
        while (view := any_head(model, rng)) and (view.kind, str(view.layer + 1), str(view.head + 1)) == head_of(
            teacher
        ):  # type: ignore[operator]
            pass
        start = time.perf_counter()
        wanted = (view.kind, str((view.layer or 0) + 1), str((view.head or 0) + 1))
        async with asyncio.TaskGroup() as group:
            for member in members:
                group.create_task(see(member, start, wanted))
            group.create_task(click_on(start + PAUSE))
            group.create_task(teacher.pick(view))
    for viewer in (*members, teacher, outside):
        await viewer.close()
    return late, own


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    gc.collect()
    gc.freeze()
    table = Table(
        f"A class follows: milliseconds from the teacher's click to the new view (wanted: 95% within {SOON:.0f})",
        ("members", "screens", "p50", "p95", "longest", "within 1 s", "a click of somebody outside: p50", "p95"),
        load(),
    )
    for count in (3,) if quick else MEMBERS:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rooms.sqlite"
            with running(model.path, "--rooms", str(file)) as app:  # type: ignore[arg-type]
                rooms = SqliteRooms(file)
                late, own = asyncio.run(follow(app.host, model, rooms, count, 2 if quick else 20))
                rooms.close()
        soon = sum(time <= SOON for time in late) / len(late)
        table.add(
            count, len(late), f"{statistics.median(late):.0f}", f"{percentile(late, 0.95):.0f}", f"{max(late):.0f}",
            f"{soon:.0%}", f"{statistics.median(own):.0f}", f"{percentile(own, 0.95):.0f}", good=soon >= 0.95,
        )  # fmt: skip
    table.notes.append(
        f"The teacher presses a head every {PAUSE:g} s; all members follow. Viewers without a browser, in one "
        "process on the same cores as the server, which is one process. Somebody outside the room presses heads "
        "twice a second."
    )
    return [table]
