"""Fifty visitors: thirty who use the app and twenty who attack it, all at once, on one process or on two behind nginx.

Nothing that the attackers do may give the others an error, and the memory must stay flat.
"""

import asyncio
import collections
import contextlib
import itertools
import os
import random
import secrets
import signal
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed, InvalidHandshake

import transformer
from pages.registry import pages
from tests.attack.client import ID, MARK, Attacker, run
from tests.attack.memory import CHARACTERS, large_zip, load_zip, padded_zip, unknown_text
from tests.browser.find import find_nginx
from tests.fuzz.common import MARKUP, NUMBERS, PATHS, SPECIAL
from tests.support.clicks import NAMES, PAGES, click
from tests.support.processes import sample
from tests.support.replicas import running_replicas
from tests.support.sentences import of_length, typed
from tests.support.server import start, stop
from tests.support.trainer import ACTIVE, Trainer
from tests.support.viewer import Run, Viewer, ViewerError, waits
from transformer.checkpoints.archive import zipped
from transformer.checkpoints.folder import FILES
from transformer.inference.pretrained import Pretrained

KILL_EVERY = 600.0  # seconds
PAUSE = 4.0  # seconds between what one visitor does, on average
NEW, AGAIN = 0.12, 0.02  # of what an ordinary visitor does: another sentence; the page opened again
LOST = (ConnectionClosed, InvalidHandshake, OSError)
BACK = 60.0  # seconds within which a visitor whose server fell is served again
ROUND = 25  # things an attacker does on one page
WARM = 0.25  # of the time, in which caches fill
MESSAGES = (
    BackMsg(clear_cache=True), BackMsg(load_git_info=True), BackMsg(stop_script=True), BackMsg(), b"", b"\x00" * 50,
    b"\xff" * 5_000, MARK.encode(), BackMsg(app_heartbeat=True), BackMsg(debug_shutdown_runtime=False),
)  # fmt: skip
Seen = TypeVar("Seen", bound=Viewer)


@dataclass
class Served:
    """What visitors connect to. logs: of its processes; pids: of those that run now; kill: end one of them and start it
    again, if there are several."""

    host: str
    logs: Callable[[], list[Path]]
    pids: Callable[[], list[int]]
    kill: Callable[[], None] | None = None


@dataclass
class Notes:
    """times: what an ordinary visitor did -> milliseconds of each; failures: what went wrong for one; attacks: kind ->
    outcome -> count; memory: (second of the soak, MB of the servers' processes); lost: connections that ordinary
    visitors lost and took up again."""

    begin: float = field(default_factory=time.monotonic)
    times: dict[str, list[float]] = field(default_factory=lambda: collections.defaultdict(list))
    failures: list[str] = field(default_factory=list)
    attacks: dict[str, collections.Counter[str]] = field(
        default_factory=lambda: collections.defaultdict(collections.Counter)
    )
    memory: list[tuple[float, float]] = field(default_factory=list)
    lost: int = 0

    @property
    def second(self) -> float:
        return time.monotonic() - self.begin

    def took(self, what: str, begin: float) -> None:
        """An ordinary visitor has done something that began at that time of the clock."""
        self.times[what].append((time.monotonic() - begin) * 1e3)


def addressed(viewer: Viewer, number: int) -> None:
    """Give a visitor an address of this machine's own network and, for nginx, the cookie of a browser."""
    viewer.settings["local_addr"] = (f"127.0.{1 + number // 250}.{1 + number % 250}", 0)
    viewer.settings["additional_headers"] = {"Cookie": f"headscope={secrets.token_hex(16)}"}


# -- those who use the app -------------------------------------------------------------------------------------------


class Soak:
    """served: the servers; model: the one that they open first; until: a time of the clock."""

    def __init__(self, served: Served, model: Pretrained, until: float, pause: float = PAUSE) -> None:
        self.served, self.model, self.until, self.pause = served, model, until, pause
        self.notes = Notes()
        some = typed(1800, seed=5)
        self.sentences = (f"{text} {number}" for number in itertools.count(1) for text in some)

    @property
    def over(self) -> bool:
        return time.monotonic() > self.until

    def _times(self, count: int) -> Iterator[int]:
        """So many times, unless the time is over before."""
        return itertools.takewhile(lambda _: not self.over, range(count))

    async def _rest(self, rng: random.Random, times: float = 1.0) -> None:
        await asyncio.sleep(min(rng.expovariate(1 / (self.pause * times)), max(0.0, self.until - time.monotonic())))

    async def _kept(self, viewer: Viewer, act: Callable[[], Awaitable[Run]]) -> Run:
        """Do something; if the server falls meanwhile, connect again as a browser does, and do it again."""
        begin = time.monotonic()
        while True:
            try:
                return await act()
            except LOST:
                if self.served.kill is None or time.monotonic() > begin + BACK:
                    raise
                self.notes.lost += 1
                await asyncio.sleep(1)
                with contextlib.suppress(*LOST, TimeoutError):
                    await viewer.reconnect()
                    await viewer.refresh()

    async def ordinary(self, number: int) -> None:
        """One of those who read, click and type; anything but an answer is a failure."""
        rng = random.Random(number)
        name = list(PAGES)[number % len(PAGES)]
        viewer = Viewer(self.served.host, name)
        addressed(viewer, number)
        await self._rest(rng)
        try:
            await self._kept(viewer, lambda: viewer.open(source=next(self.sentences)))
            while not self.over:
                await self._rest(rng)
                choice = rng.random()
                if choice < AGAIN:
                    await viewer.close()
                    viewer = Viewer(self.served.host, name)
                    addressed(viewer, number)
                    what, act = "open a page", lambda viewer=viewer: viewer.open(source="The dog sees the cat.")
                elif choice < AGAIN + NEW:
                    text = next(self.sentences)
                    what, act = "a new sentence", lambda viewer=viewer, text=text: viewer.type(source=text)
                else:
                    what, act = "a click", lambda viewer=viewer: click(viewer, self.model, rng)
                begin = time.monotonic()
                await self._kept(viewer, act)
                self.notes.took(what, begin)
        finally:
            with contextlib.suppress(*LOST):
                await viewer.close()

    @contextlib.asynccontextmanager
    async def _visit(self, viewer: Seen, number: int) -> AsyncIterator[Seen]:
        """A visitor who comes for one thing and leaves. What it does is lost with its server, if there are several."""
        addressed(viewer, number)
        try:
            yield viewer
        except LOST:
            if self.served.kill is None:
                raise
            self.notes.lost += 1
        finally:
            with contextlib.suppress(*LOST):
                await viewer.close()

    async def trains(self, number: int) -> None:
        """One who trains a model, watches it, and leaves."""
        rng = random.Random(number)
        while not self.over:
            async with self._visit(Trainer(self.served.host), number) as viewer:
                begin = time.monotonic()
                await viewer.begin()
                while not self.over:
                    (last,) = (await viewer.ask())[-1:]
                    if last["stage"] == "failed":
                        raise ViewerError(f"a training failed: {last}")
                    if last["stage"] not in ACTIVE:
                        self.notes.took("a training, from press to end", begin)
                        break
                    await asyncio.sleep(1)
                for one in viewer.found:
                    if one["stage"] in ACTIVE:
                        await viewer.tell("command", run=one["id"], do="stop")
            await self._rest(rng, 3)

    async def loads(self, number: int) -> None:
        """One who loads a model of their own, a good zip, looks at it, and leaves."""
        rng, folder = random.Random(number), transformer.load("reverse").path
        data = zipped({name: (folder / name).read_bytes() for name in FILES if (folder / name).is_file()}, "mine")
        while not self.over:
            async with self._visit(Attacker(self.served.host, "training"), number) as viewer:
                await viewer.open()
                begin = time.monotonic()
                await load_zip(viewer, data, "mine.zip")
                if viewer.errors or "It is open now on every page" not in viewer.said:
                    raise ViewerError(f"a good zip was not opened: {viewer.errors} {viewer.said}")
                self.notes.took("a zip loaded", begin)
                await self._rest(rng)
            await self._rest(rng, 3)

    # -- those who attack it -----------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _attacker(self, number: int, name: str = "", **params: str) -> AsyncIterator[Attacker]:
        attacker = Attacker(self.served.host, name)
        addressed(attacker, number)
        try:
            await attacker.open(**params)
            yield attacker
        finally:
            with contextlib.suppress(*LOST):
                await (attacker.vanish() if random.random() < 0.5 else attacker.close())

    def _note(self, kind: str, attacker: Attacker) -> None:
        outcome = "error box" if attacker.errors else "a sentence" if attacker.boxes else "nothing seen"
        self.notes.attacks[kind][outcome] += 1

    async def uploads(self, number: int, rng: random.Random) -> None:
        kinds: list[Callable[[], bytes]] = [
            lambda: padded_zip(rng.randrange(10**6)),
            lambda: large_zip(rng.randrange(10**6)),
            lambda: rng.randbytes(200_000),
            lambda: padded_zip(rng.randrange(10**6))[: rng.randrange(400_000)],
            lambda: zipped({"config.json": b"[" * 5_000_000, "model.safetensors": b"\xff" * 64}, "bad"),
        ]
        async with self._attacker(number, "training", checkpoint="reverse") as attacker:
            for _ in self._times(ROUND):
                await load_zip(attacker, rng.choice(kinds)(), f"{MARK}.zip")
                self._note("a hostile zip", attacker)
                await self._rest(rng)

    async def texts(self, number: int, rng: random.Random) -> None:
        tokenizer = self.model.tokenizer
        kinds: list[Callable[[], str]] = [
            lambda: unknown_text(rng.randrange(10**5), rng.choice((4_000, CHARACTERS))),
            lambda: of_length(tokenizer, rng.choice((100, 128)), rng.randrange(10**9)) * rng.choice((1, 2)),
            lambda: "".join(chr(rng.choice((rng.randrange(32, 0xD800), rng.randrange(0xE000, 0x110000))))
                            for _ in range(rng.randrange(1, 300))),
            lambda: rng.choice(MARKUP) * rng.randrange(1, 9),
            lambda: SPECIAL + "e\u0301" * rng.randrange(1, 2_000),
        ]  # fmt: skip
        async with self._attacker(number, rng.choice(list(PAGES))) as attacker:
            for _ in self._times(ROUND):
                attacker.states[rng.choice(("source", "target"))] = {"string_value": rng.choice(kinds)()}
                await attacker.refresh()
                self._note("a strange text", attacker)
                await self._rest(rng)

    async def links(self, number: int, rng: random.Random) -> None:
        names = (
            "source", "target", "kind", "layer", "head", "cell", "part", "checkpoint", "preset", "steps", "scaling",
            "zero", "big", "open", "place", "view",
        )  # fmt: skip
        for _ in self._times(ROUND // 3):
            params = {name: rng.choice((*NUMBERS, *PATHS, *MARKUP)) for name in rng.sample(names, rng.randrange(1, 6))}
            async with self._attacker(number, rng.choice([page.path for page in pages()]), **params) as attacker:
                self._note("a strange link", attacker)
            await self._rest(rng, 0.5)

    async def queue(self, number: int, rng: random.Random) -> None:
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(4):
                attacker = await stack.enter_async_context(self._attacker(number, "training"))
                for seed in range(5):
                    attacker.states["training_seed"] = {"int_value": seed}
                    await attacker.press("training_train")
                    self._note("a training pressed", attacker)
            await self._rest(rng, 5)
            await attacker.refresh()

    async def messages(self, number: int, rng: random.Random) -> None:
        async with self._attacker(number, rng.choice(list(PAGES))) as attacker:
            for _ in self._times(ROUND):
                kind = "clear_cache, ten a second" if rng.random() < 0.5 else "a message of another kind, or none"
                clear = kind.startswith("clear")
                for _ in range(10):
                    await attacker.send(MESSAGES[0] if clear else rng.choice(MESSAGES))
                    self.notes.attacks[kind]["sent"] += 1
                    await asyncio.sleep(0.1)
                await attacker.refresh()

    async def deaf(self, number: int, rng: random.Random) -> None:
        """Asks on, and reads nothing."""
        text = of_length(self.model.tokenizer, 128, rng.randrange(10))
        async with self._attacker(number, source=text) as attacker:
            for _ in self._times(4 * ROUND):
                attacker.large.clear()
                await asyncio.wait_for(attacker.ask(), 5)
                self.notes.attacks["asked without reading"]["sent"] += 1
                await self._rest(rng, 0.25)

    async def flood(self, number: int, rng: random.Random) -> None:
        """Messages over the limit, and connections that never ask for anything."""
        viewers = [Attacker(self.served.host) for _ in range(10)]
        for viewer in viewers:
            addressed(viewer, number)
            await viewer.connect()
        with contextlib.suppress(*LOST):
            self.notes.attacks["a message of 26 MB"]["sent"] += 1
            await viewers[0].send(b"\x00" * 26_000_000)
        await self._rest(rng, 4)
        self.notes.attacks["a connection that asks for nothing"]["sent"] += len(viewers)
        for viewer in viewers:
            await viewer.vanish()

    async def attack(self, number: int, act: Callable[[int, random.Random], Awaitable[None]]) -> None:
        """An attack, again and again. What the servers do with an attacker is noted, and never a failure."""
        rng = random.Random(number)
        while not self.over:
            try:
                await self._rest(rng)
                await act(number, rng)
            except LOST:
                self.notes.attacks[act.__name__]["connection closed"] += 1
            except TimeoutError:
                self.notes.attacks[act.__name__]["no answer in time"] += 1
            except ViewerError as error:
                self.notes.attacks[act.__name__][str(error)[:60]] += 1

    # -- beside them -------------------------------------------------------------------------------------------------

    async def watch(self) -> None:
        while not self.over:
            size = 0.0
            for pid in self.served.pids():
                with contextlib.suppress(OSError):
                    size += sample(pid).memory / 1e6
            self.notes.memory.append((self.notes.second, size))
            await asyncio.sleep(1)

    async def kills(self) -> None:
        while self.served.kill is not None:
            await asyncio.sleep(min(KILL_EVERY, max(0.0, self.until - time.monotonic())))
            if self.over:
                return
            await asyncio.to_thread(self.served.kill)

    async def _counted(self, name: str, visitor: Awaitable[None]) -> None:
        try:
            await visitor
        except Exception as error:  # whatever it is: the others go on, and the soak has failed
            self.notes.failures.append(f"{self.notes.second:.0f} s, {name}: {type(error).__name__} {error}"[:300])

    async def all(self) -> Notes:
        visitors: list[Awaitable[None]] = []
        for number in range(26):
            visitors.append(self._counted(f"on {NAMES[list(PAGES)[number % 6]]}", self.ordinary(number)))
        visitors += [self._counted("who trains", self.trains(number)) for number in (26, 27)]
        visitors += [self._counted("who loads a zip", self.loads(number)) for number in (28, 29)]
        acts = (
            [self.uploads] * 3 + [self.texts] * 6 + [self.links] * 4 + [self.queue] * 3
            + [self.messages] * 2 + [self.deaf, self.flood]
        )  # fmt: skip
        visitors += [self._counted(act.__name__, self.attack(30 + number, act)) for number, act in enumerate(acts)]
        await asyncio.gather(*visitors, self.watch(), self.kills())
        return self.notes


# -- what it showed --------------------------------------------------------------------------------------------------


def growth(memory: list[tuple[float, float]]) -> tuple[float, float]:
    """Mean of the first and of the last quarter of what comes after the warm-up. memory: (second, MB)."""
    begin, end = memory[0][0], memory[-1][0]
    warm = begin + WARM * (end - begin)
    after = [one for one in memory if one[0] >= warm]
    quarter = (end - warm) / 4
    return (
        statistics.mean(size for second, size in after if second <= warm + quarter),
        statistics.mean(size for second, size in after if second >= end - quarter),
    )


def tables(notes: Notes) -> Iterator[str]:
    """What docs/security.md says of a soak, a line each."""
    for what, times in sorted(notes.times.items()):
        middle, high, longest = waits(times)
        yield f"{what}: {len(times):,}, p50 {middle:,.0f} ms, p95 {high:,.0f} ms, longest {longest:,.0f} ms"
    for kind, counts in sorted(notes.attacks.items()):
        yield f"{kind}: {', '.join(f'{count:,} {outcome}' for outcome, count in counts.most_common())}"
    first, last = growth(notes.memory)
    yield f"memory after the first quarter {first:,.0f} MB, in the last {last:,.0f} MB"
    yield f"{notes.lost} connections lost with their server and taken up again; {len(notes.failures)} errors"


@contextlib.contextmanager
def one_process(folder: Path) -> Iterator[Served]:
    log = folder / "log.txt"
    process, address = start(log)
    try:
        yield Served(urlsplit(address).netloc.replace("localhost", "127.0.0.1"), lambda: [log], lambda: [process.pid])
    finally:
        stop(process)


@contextlib.contextmanager
def two_processes(folder: Path) -> Iterator[Served]:
    nginx = find_nginx()
    with running_replicas(nginx, folder) as replicas:
        order = itertools.cycle(replicas.ports)

        def kill() -> None:
            port = next(order)
            os.killpg(replicas.processes[port].pid, signal.SIGKILL)
            replicas.processes[port].wait(10)
            replicas.revive(port)

        yield Served(
            urlsplit(replicas.address).netloc.replace("localhost", "127.0.0.1"),
            lambda: [path for path in folder.glob("*.txt") if path != replicas.log],
            lambda: [process.pid for process in replicas.processes.values()],
            kill,
        )


def soak(folder: Path, minutes: float, replicas: bool) -> tuple[Notes, str]:
    """What happened, and the log of all servers."""
    with (two_processes if replicas else one_process)(folder) as served:
        notes = run(Soak(served, transformer.load("en-de"), time.monotonic() + 60 * minutes).all())
        return notes, "".join(log.read_text(errors="replace") for log in served.logs())


def leaks(log: str) -> list[str]:
    """Lines of a log with a traceback, the id of a session or a typed text."""
    return [line for line in log.splitlines() if "Traceback" in line or ID.search(line) or MARK in line]
