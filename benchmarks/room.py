"""A class in a room: how soon a change is on every screen, what clicks take meanwhile, answers, memory, and how soon a
stop of a lesson opens."""

import asyncio
import contextlib
import random
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from benchmarks import server
from benchmarks.report import Table, load
from benchmarks.server import below, cells
from tests.support.clicks import any_head, heads
from tests.support.processes import Sample
from tests.support.sentences import typed
from tests.support.server import App, running
from tests.support.viewer import Viewer
from transformer.inference.pretrained import Pretrained
from transformer.rooms import Rooms, SqliteRooms

MEMBERS = (30, 200)
SOON = 1_000.0  # milliseconds: wanted for 95% of the screens
CLICK = {30: 100.0, 200: 150.0}  # members -> milliseconds wanted for 95% of the clicks beside them
PAUSE = 3.0  # seconds between two changes
MINUTES = 10.0  # of a full room
WITHIN = 5.0  # seconds in which all members answer
SENTENCE = "The man who called me yesterday is my brother."
LESSON, ASKED, LAST = "attention-in-10-minutes", 3, 6  # a stop with a question; how many stops there are
Seen = Callable[[Viewer], bool]


def head_of(viewer: Viewer) -> tuple[str, ...]:
    """The head that the address of a page names."""
    params = parse_qs(viewer.query)
    return tuple(params.get(name, [""])[0] for name in ("kind", "layer", "head"))


def shows_head(kind: str, layer: str, head: str) -> Seen:
    """Whether a page's address and its exact numbers are those of a head."""
    numbers = f'"kind":"{kind}","layer":{int(layer) - 1},"head":{int(head) - 1}'.encode()
    return lambda viewer: head_of(viewer) == (kind, layer, head) and numbers in viewer.numbers


@contextlib.asynccontextmanager
async def meanwhile(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Work that goes on until the block ends."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass
class Class:
    """late: kind of change -> milliseconds until each member saw it; alone, outside, around: milliseconds of the clicks
    of somebody outside the room, before and after it was opened, and of a member who looks around; samples: of the
    process, one a second; held: the table of them."""

    app: App
    model: Pretrained
    rooms: Rooms
    members: list[Viewer] = field(default_factory=list)
    late: dict[str, list[float]] = field(default_factory=dict)
    alone: list[float] = field(default_factory=list)
    outside: list[float] = field(default_factory=list)
    around: list[float] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    held: Table = field(default_factory=lambda: Table("", ()))
    code: str = ""
    secret: str = ""

    def _seated(self, ticket: str) -> Viewer:
        """Somebody with the cookie of a seat."""
        viewer = Viewer(self.app.host)
        viewer.settings["additional_headers"] = {"Cookie": f"headscope_room={self.code}.{ticket}"}
        return viewer

    async def _clicks(self, viewer: Viewer, found: list[float], until: float = float("inf")) -> None:
        rng = random.Random(viewer.query)
        while time.perf_counter() < until:
            found.append((await heads(viewer, self.model, rng)).milliseconds)
            await asyncio.sleep(rng.expovariate(2.0))

    async def _change(self, what: str, change: Callable[[], Any], seen: Seen) -> None:
        """Change the view, and wait for every member to see it."""
        start = time.perf_counter()

        async def see(member: Viewer) -> None:
            while not seen(member):
                await member.hear()
            self.late.setdefault(what, []).append((time.perf_counter() - start) * 1e3)

        async with asyncio.TaskGroup() as group:
            for member in self.members:
                group.create_task(see(member))
            if asyncio.iscoroutine(done := change()):
                await done
        await self._hear(max(0.0, PAUSE - (time.perf_counter() - start)))

    async def _hear(self, seconds: float) -> None:
        """Read what comes, as browsers do."""

        async def hear(member: Viewer) -> None:
            while True:
                await member.hear()

        async with meanwhile(*map(hear, self.members)):
            await asyncio.sleep(seconds)

    async def meet(self, count: int, seconds: float, changes: int) -> None:
        """A class of so many members; the teacher presses heads for so many seconds, then changes other things."""
        rng = random.Random(count)
        outside, quiet = Viewer(self.app.host), 3.0 if changes < 3 else 15.0
        await outside.open(source=SENTENCE)
        await self._clicks(outside, [], time.perf_counter() + 2.0)
        await self._clicks(outside, self.alone, time.perf_counter() + quiet)
        self.code, self.secret = self.rooms.open()
        teacher = self._seated(f"t.{self.secret}")
        await teacher.open(room=self.code, source=SENTENCE)
        self.members = [Viewer(self.app.host) for _ in range(count)]
        for member in self.members:
            await member.open(room=self.code)
        roams = self.rooms.join(self.code).id
        around = self._seated(f"m.{roams}")
        await around.open(room=self.code)
        self.rooms.follow(self.code, roams, False)
        clicks = (self._clicks(outside, self.outside), self._clicks(around, self.around))
        async with meanwhile(*clicks, server.watch(self.app, self.samples)):
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                view = any_head(self.model, rng)
                wanted = (view.kind, str((view.layer or 0) + 1), str((view.head or 0) + 1))
                if wanted != head_of(teacher):
                    await self._change("a head", lambda view=view: teacher.pick(view), shows_head(*wanted))
            self.held = server.resources(
                "Resources of the process with a full room", self.samples[len(self.samples) // 4 :]
            )
            await teacher.close()
            for sentence in typed(changes, seed=5):
                await self._other_changes(sentence)
        for viewer in (outside, around):
            await viewer.vanish()  # it may have been in the midst of a click

    async def _other_changes(self, sentence: str) -> None:
        async def change(what: str, seen: Seen, path: str = "", **params: str) -> None:
            """As the process of another server of the class would."""
            await self._change(what, lambda: self.rooms.show(self.code, self.secret, path, params), seen)

        view = {"kind": "cross", "layer": "4", "head": "1"}
        head = shows_head(*view.values())
        await change("another page", lambda one: "headscope.anatomy" in one.seen, "anatomy", source=SENTENCE)
        await change("back", lambda one: "headscope.feed" in one.seen and head(one), source=SENTENCE, **view)
        await change(
            "a new sentence", lambda one: parse_qs(one.query).get("source") == [sentence] and head(one),
            source=sentence, **view,
        )  # fmt: skip
        for what, stop in (("a stop of a lesson", ASKED - 1), ("the next stop", ASKED)):
            await change(
                what, lambda one, stop=stop: f"stop={stop}" in one.query and "hs-lesson-fold" in one.seen,
                source=sentence, lesson=LESSON, stop=str(stop), **view,
            )  # fmt: skip

    async def answer(self) -> tuple[int, float]:
        """All members answer the question of a stop within WITHIN seconds: how many answers are counted, and how many
        seconds after the first of them came."""
        begins = time.perf_counter()
        rng = random.Random(1)
        asked = f"hs-answer-{LESSON}-{ASKED}-"  # the question of the stop before may have been replaced without a run

        async def give(member: Viewer, wait: float) -> None:
            await asyncio.sleep(wait)
            while not (names := [name for name in member.options if name.startswith(asked) and name in member.seen]):
                await member.hear()
            question = names[-1]
            member.states[question] = {"string_value": rng.choice(member.options[question])}
            await member.press(f"{question}-send")

        async with asyncio.TaskGroup() as group:
            for member in self.members:
                group.create_task(give(member, rng.uniform(0, WITHIN)))
        while time.perf_counter() < begins + 60:
            counted = len(self.rooms.answers(self.code, f"{LESSON} {ASKED}"))
            if counted == len(self.members):
                break
            await self._hear(0.1)
        return counted, time.perf_counter() - begins


async def stops(app: App) -> list[float]:
    """Milliseconds that each stop of a lesson takes to open in a new session, when it was opened before."""
    found: list[float] = []
    for warm in (True, False):
        for stop in range(1, LAST + 1):
            async with Viewer(app.host) as viewer:
                run = await viewer.open(lesson=LESSON, stop=str(stop))
                found += [] if warm else [run.milliseconds]
    return found


async def in_class(found: Class, count: int, seconds: float, changes: int) -> tuple[int, float, list[float]]:
    await found.meet(count, seconds, changes)
    counted, after = await found.answer()
    for member in found.members:
        await member.close()
    return counted, after, await stops(found.app)


def measure(model: Pretrained, quick: bool = False, minutes: float | None = None) -> list[Table]:
    """minutes: of the full room."""
    server.freeze()
    seen = Table(
        f"A class follows: milliseconds from a change to the new view on a screen (wanted: 95% within {SOON:.0f})",
        ("members", "change", "screens", "p50", "p95", "longest", "within 1 s"),
        load(),
        notes=[
            f"A change every {PAUSE:g} s; all members follow. The teacher presses heads; other changes are written "
            "into the store by the benchmark, as another process that serves the class would. Viewers without a "
            "browser, in one process on the same cores as the server, which is one process. A new sentence has to be "
            "translated first."
        ],
    )
    clicks = Table(
        "A click beside a class, milliseconds",
        ("members", "who", "clicks", "p50", "p95", "longest", "p50 : p50 before"),
        notes=[
            "Two people press heads twice a second each: one outside the room, one in it who does not follow. Wanted: "
            f"p95 below {', '.join(f'{limit:.0f} with {count} members' for count, limit in CLICK.items())}."
        ],
    )
    answers = Table(
        f"All members answer a question within {WITHIN:g} s",
        ("members", "counted", "all counted after, s", "lost"),
        notes=["Each member chooses an answer and presses the button, which is one run of the script."],
    )
    for count in (3,) if quick else MEMBERS:
        seconds = 45.0 if count == MEMBERS[0] else 60 * (minutes or (0.1 if quick else MINUTES))
        with tempfile.TemporaryDirectory() as folder, running(model.path, "--rooms", f"{folder}/rooms.sqlite") as app:
            found = Class(app, model, SqliteRooms(Path(folder) / "rooms.sqlite"))
            counted, after, stop_times = asyncio.run(in_class(found, count, seconds, 1 if quick else 4))
            found.rooms.close()
        for what, times in found.late.items():
            soon = sum(time <= SOON for time in times) / len(times)
            seen.add(count, what, len(times), *cells(times), f"{soon:.0%}", good=soon >= 0.95)
        before, wanted = statistics.median(found.alone), CLICK.get(count, CLICK[MEMBERS[-1]])
        for who, times in (("outside, before the room opens", found.alone), ("outside", found.outside),
                           ("a member who looks around", found.around)):  # fmt: skip
            slower = f"{statistics.median(times) / before:.1f}"
            clicks.add(count, who, len(times), *cells(times), slower, good=below(wanted, times))
        answers.add(count, counted, f"{after:.1f}", count - counted, good=counted == count)
    found.held.notes.append(
        f"{count} members follow a teacher who presses a head every {PAUSE:g} s, and two others press heads twice a "
        "second each. The first quarter of the time does not count."
    )
    opened = Table("A stop of a lesson opens in a new session, warm server, milliseconds", ("stops", "p50", "longest"))
    middle, _, longest = cells(stop_times)
    opened.add(len(stop_times), middle, longest, good=max(stop_times) < SOON)
    return [seen, clicks, answers, found.held, opened]
