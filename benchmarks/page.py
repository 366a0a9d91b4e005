"""The model in the page: from a key or a switch to the picture, beside BertViz and beside the server; and the site."""

import asyncio
import contextlib
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, BrowserContext, Locator, Page, sync_playwright

from benchmarks import peer
from benchmarks.report import Table, load
from benchmarks.server import below, cells, open_all, types, visit
from benchmarks.timing import cell, ratio, threads
from tests.browser.find import FLAGS, find_browser
from tests.support.processes import sample
from tests.support.sentences import pairs, typed
from tests.support.server import App, hosted, running
from transformer.inference.pretrained import Pretrained
from transformer.web.folder import ENGINE
from transformer.web.site import write_site

PATIENCE = 300_000  # milliseconds
PAUSE = 2.0  # seconds that a browser may take to clear away half a million lines of a page it closed
STOPWATCH = (Path(__file__).parent / "stopwatch.js").read_text(encoding="utf-8")
FASTER = {12: 5, 64: 15, 128: 35}  # tokens a side -> how many times as fast as BertViz
ROUNDS = {12: 11, 64: 9, 128: 5}
TRANSLATED, SWITCHED = 2.5, 5.0  # times as fast as through the server
FIRST, READY = 400, 2000  # KB until the first picture, milliseconds from the cache
SHARE = 0.1  # of the server's CPU
CLASS, TYPING, HIGH = 30, 200, 150  # viewers, viewers; milliseconds that 95% of their runs may take
WARM = 5.0  # seconds that do not count
# A browser that says its connection is metered never loads the engine: the app as it is without one.
METERED = "Object.defineProperty(navigator, 'connection', {value: {saveData: true}})"
READY_NOW = "window.__headscopeLive?.engine"
# Once the model is there, the label of a field of the site counts tokens.
COUNTED = r"/\d+ of/.test(document.querySelector('.hs-field-source label')?.textContent)"


def context(browser: Browser, script: str = "") -> BrowserContext:
    """A browser without history, with the stopwatch in its pages."""
    # The stopwatch's conditions are texts, which the policy of the site would refuse.
    made = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
    made.set_default_timeout(PATIENCE)
    made.add_init_script(f"{script};\n{STOPWATCH}")
    return made


def open_time(page: Page, address: str) -> float:
    """Milliseconds from asking for the page until its first picture."""
    page.goto(address, wait_until="commit")
    return page.wait_for_function("stopwatch.first").json_value()


class Screen:
    """A page of the app, with the engine or without. Its methods give milliseconds."""

    def __init__(self, browser: Browser, app: App, engine: bool, path: str = "", **params: str) -> None:
        self.context = context(browser, "" if engine else METERED)
        self.page = self.context.new_page()
        open_time(self.page, f"{app.address}/{path}?{urlencode(params)}")
        if engine:
            self.page.wait_for_function(READY_NOW)
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is on its way any more."""
        self.page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        self.page.wait_for_timeout(150)

    def timed(self, event: str, act: Callable[[], object]) -> float:
        """From the event to the picture."""
        self.page.evaluate(f"stopwatch.start({json.dumps(event)})")
        act()
        return self.page.evaluate("stopwatch.result")

    @property
    def field(self) -> Locator:
        return self.page.locator(".st-key-source input")

    def last_key(self, source: str) -> float:
        """All of a sentence is typed; from its last key to the picture."""
        self.field.fill(source[:-1])
        self.page.wait_for_timeout(600)
        return self.timed("input", lambda: self.field.press_sequentially(source[-1]))

    def pasted(self, source: str) -> float:
        return self.timed("input", lambda: self.field.fill(source))

    def entered(self, source: str) -> float:
        """Through the server: from Enter."""
        self.field.fill(source)
        took = self.timed("keydown", lambda: self.field.press("Enter"))
        self.settle()
        return took

    def switch(self, name: str) -> float:
        took = self.timed("click", self.page.get_by_test_id(name).click)
        self.settle()
        return took

    def close(self) -> None:
        self.context.close()


def typing(browser: Browser, app: App, model: Pretrained, rounds: dict[int, int]) -> Table:
    """A sentence typed, both texts given, beside BertViz."""
    table = Table(
        "From the last key to all heads, both texts given, milliseconds (median / best)",
        ("tokens a side", "in the page", "BertViz: traced, HTML built and opened", "BertViz : in the page", "wanted"),
        load(),
    )
    heads = model.config.encoder_layers * model.config.heads
    with tempfile.TemporaryDirectory() as place, hosted(Path(place)) as address, threads(1):
        peer.put_libraries(Path(place))
        theirs = context(browser, f"window.expectedHeads = {heads}")
        for tokens, count in rounds.items():
            sentences = pairs(model.tokenizer, tokens, count + 2)
            screen = Screen(browser, app, True, source=sentences[0][0], target=sentences[0][1])
            screen.last_key(sentences[1][0])
            times: tuple[list[float], list[float]] = ([], [])
            for number, (source, target) in enumerate(sentences[2:]):
                times[0].append(screen.last_key(source))
                start, name = time.perf_counter(), f"{tokens}-{number}.html"
                peer.write(model.trace(source, target), Path(place) / name)
                built, page = (time.perf_counter() - start) * 1e3, theirs.new_page()
                times[1].append(built + open_time(page, address + name))
                page.close()
                time.sleep(PAUSE)
            screen.close()
            _compare(table, (tokens,), times[0], times[1], FASTER[tokens])
        theirs.close()
    return table


def _compare(table: Table, first: tuple[object, ...], ours: list[float], theirs: list[float], wanted: float) -> None:
    faster = ratio({"ours": ours, "theirs": theirs}, "theirs", "ours")
    table.add(*first, cell(ours), cell(theirs), faster, f"{wanted:g} x", good=faster.median >= wanted)


def beside_the_server(browser: Browser, app: App, rounds: int) -> Table:
    """A sentence that the model translates, from its last key and pasted whole, and switches of the Lab; in turns with
    a page without the engine."""
    table = Table(
        "In the page and through the server, side by side, milliseconds (median / best)",
        ("what", "in the page", "through the server", "server : page", "wanted"),
        load(),
    )
    fresh = iter(typed(4 * rounds + 8, seed=11))
    live, plain = (Screen(browser, app, engine, source=next(fresh)) for engine in (True, False))
    live.pasted(next(fresh))
    plain.entered(next(fresh))
    typing, pasting, entering = list[float](), list[float](), list[float]()
    for _ in range(rounds):
        typing.append(live.last_key(next(fresh)))
        pasting.append(live.pasted(next(fresh)))
        entering.append(plain.entered(next(fresh)))
    _compare(
        table, ("the last key of a sentence that the model translates, against Enter",), typing, entering, TRANSLATED
    )
    _compare(table, ("another sentence pasted, against Enter",), pasting, entering, 1.0)
    live.close()
    plain.close()
    shown = {"source": next(fresh), "try": "nothing", "cards": "open"}
    live, plain = (Screen(browser, app, engine, "lab", **shown) for engine in (True, False))
    for one, other in (("scaling-off", "scaling-on"), ("causal-off", "causal-on")):
        found: tuple[list[float], list[float]] = ([], [])
        for _ in range(rounds):
            for times_of, screen in zip(found, (live, plain), strict=True):
                times_of.append(screen.switch(one))
                screen.switch(other)
        _compare(table, (f"a switch of the Lab, {one}, to both pictures",), *found, SWITCHED)
    live.close()
    plain.close()
    return table


def ready_on_site(page: Page) -> None:
    """Until the model is there, to the frame: `expect` looks again after 0.1, 0.35, 0.85 and 1.85 s."""
    page.wait_for_function(COUNTED, timeout=60_000)


def site(browser: Browser, app: App, model: Pretrained) -> Table:
    """The site on a host without compression: its first picture, and the engine."""
    table = Table("The site without a server", ("what", "measured", "beside it", "wanted"), load())
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "site"
        write_site(folder, [model])
        with hosted(folder) as address:
            visitor = context(browser)
            page, sizes = visitor.new_page(), list[int]()
            session = visitor.new_cdp_session(page)
            session.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
            session.send("Network.enable")
            first = open_time(page, address)
            until_first = sum(sizes) / 1e3
            ready_on_site(page)
            page.close()
            opening = []
            for _ in range(5):
                again = visitor.new_page()
                start = time.perf_counter()
                again.goto(address, wait_until="commit")
                ready_on_site(again)
                opening.append((time.perf_counter() - start) * 1e3)
                again.close()
            ready = statistics.median(opening)
            visitor.close()
        stranger = context(browser)
        theirs = open_time(stranger.new_page(), app.address)
        stranger.close()
    table.add("first picture, KB", f"{until_first:.0f}", "", f"{FIRST}", good=until_first <= FIRST)
    table.add("first picture, ms", f"{first:.0f}", f"the app's: {theirs:.0f}", "not later", good=first <= theirs)
    table.add("engine ready from the browser's cache, ms", f"{ready:.0f}", "", f"{READY}", good=ready < READY)
    return table


def cpu(browser: Browser, app: App, rounds: int) -> Table:
    """What one who only types and looks costs the server, with the engine and without, beside the same time without a
    key."""
    table = Table(
        "CPU of the server for a sentence of a viewer who types and looks, beyond that of looking alone, milliseconds",
        ("in the page", "through the server", "page : server", "wanted"),
        load(),
    )
    fresh = iter(typed(2 * rounds + 8, seed=12))
    costs = []
    for engine in (True, False):
        screen = Screen(browser, app, engine, source=next(fresh))
        spent = []
        for with_keys in (True, False):
            before = sample(app.pid).cpu
            for _ in range(rounds):
                if with_keys:
                    (screen.pasted if engine else screen.entered)(next(fresh))
                screen.page.wait_for_timeout(2500)  # the fields tell the server meanwhile
                screen.settle()
            spent.append(sample(app.pid).cpu - before)
        costs.append(max(0.0, spent[0] - spent[1]) * 1e3 / rounds)
        screen.close()
    share = costs[0] / costs[1]
    table.add(*(f"{cost:.0f}" for cost in costs), f"{share:.2f}", f"{SHARE:g}", good=share <= SHARE)
    return table


async def crowd(app: App, model: Pretrained, count: int, engine: bool, seconds: float) -> list[float]:
    """What runs take of viewers who each type a sentence every 10 s, the engine in their browsers or not."""
    fresh = itertools.cycle(typed(1800, seed=5))
    viewers = await open_all(app, [""] * count, fresh)
    for viewer in viewers:
        viewer.states |= {"headscope.live": {"json_value": json.dumps({"engine": model.name})}} if engine else {}
    everyone = [(viewer, types(fresh), 10.0) for viewer in viewers]
    await visit(everyone, WARM)
    (runs,) = (await visit(everyone, seconds)).values()
    for viewer in viewers:
        await viewer.close()
    return [run.milliseconds for run in runs]


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    with contextlib.ExitStack() as stack:
        app = stack.enter_context(running(model.path, **{ENGINE: "on"}))
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=find_browser(), args=FLAGS)
        stack.callback(browser.close)
        tables = [
            typing(browser, app, model, {12: 1} if quick else ROUNDS),
            beside_the_server(browser, app, 1 if quick else 9),
            site(browser, app, model),
            cpu(browser, app, 2 if quick else 12),
        ]
        tables[0].notes.append(f"Chromium {browser.version}.")
    table = Table(
        "Typing viewers on one process: what goes to the server, milliseconds",
        ("viewers", "pictures are computed", "reruns", "a second", "p50", "p95", "longest", "wanted"),
        load(),
        notes=["Each types a sentence every 10 s on average, by viewers without a browser over loopback."],
    )
    seconds = 5.0 if quick else 60.0
    for count, engine in ((CLASS, False), (CLASS, True), (TYPING, True)):
        with running(model.path, **{ENGINE: "on"}) as app:
            times = asyncio.run(crowd(app, model, min(count, 20) if quick else count, engine, seconds))
        what, wanted = ("in the page", f"p95 {HIGH}") if engine else ("on the server", "")
        row = (count, what, len(times), f"{len(times) / seconds:.1f}", *cells(times), wanted)
        table.add(*row, good=not engine or below(HIGH, times))
    return [*tables, table]
