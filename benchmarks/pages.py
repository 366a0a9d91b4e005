"""Pages of figures: time until the first picture, and from a movement of a slider until it is drawn."""

from __future__ import annotations

import contextlib
import statistics
import time
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.app import App, running
from benchmarks.browser import PAUSE, Settling, context, opened, timed
from benchmarks.report import Table, load
from benchmarks.sentences import pairs
from pages.registry import pages
from tests.browser.find import FLAGS, find_browser
from tests.browser.navigation import link_to
from transformer.inference.pretrained import Pretrained

TOKENS = 20
FIRST, MOVED, ENCODING = 1000, 300, 200  # milliseconds allowed: first picture, any slider, those of the encoding
WITHOUT = ("knock",)  # a part without figures
FIRST_FIGURES = {"positions": "positions:", "embeddings": "embedding-", "feedforward": "feedforward-"}
PARTS = {
    page.name: [part for part in page.content.parts() if part not in WITHOUT]
    for page in pages()
    if page.name in FIRST_FIGURES
}
# page, part, other parameters, test id or label of the slider, where it is moved to and from, milliseconds allowed
SLIDERS = (
    ("positions", "encoding", {"d_model": "512", "length": "512"}, "d_model", (500, 512), ENCODING),
    ("positions", "encoding", {"d_model": "512", "length": "512"}, "length", (500, 512), ENCODING),
    ("positions", "encoding", {"d_model": "512", "length": "64"}, "length", (512, 64), ENCODING),  # a jump
    ("positions", "distance", {"d_model": "512", "length": "512"}, "k", (9, 1), MOVED),
    ("positions", "distance", {"d_model": "512", "length": "512"}, "q", (9, 1), MOVED),
    ("embeddings", "map", {}, "", (2, 0), MOVED),
    ("feedforward", "activity", {"checkpoint": "reverse-gelu", "source": "headscope"}, "threshold", (20, 0), MOVED),
)
_version = ""


def browser_version() -> str:
    return _version


class Figures(Settling):
    """A page of figures that stays open; every method gives milliseconds."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        opened(page, address)
        self.settle()

    def move(self, name: str, value: int) -> float:
        """The slider of this name moved, or the first one there is."""
        named = ", ".join(f"[data-testid={page}-{name}]" for page in ("positions", "feedforward"))
        slider = self.page.locator(named if name else ".hs-fig-slide input[type=range]").first
        took = timed(
            self.page,
            "redrawn",
            ["input"],
            lambda: slider.evaluate(
                "(one, value) => { one.value = value; one.dispatchEvent(new Event('input', {bubbles: true})); }", value
            ),
        )
        self.settle()
        return took


def _first(browser: Browser, app: App, page: str, part: str, source: str, target: str) -> dict[str, float]:
    """The first picture of a page: in a browser that was never here, on a reload, and coming from another page."""
    link = f"{app.address}/{page}?{urlencode({'part': part, 'source': source, 'target': target})}"
    stranger = context(browser)
    mine = stranger.new_page()
    found = {"cold": opened(mine, link)}
    mine.wait_for_timeout(500)
    found["again"] = opened(mine, link)
    stranger.close()
    time.sleep(PAUSE)
    return found


def _followed(browser: Browser, app: App, source: str, target: str, rounds: int) -> dict[str, list[float]]:
    """Clicks on the links between the pages, in a browser that stays open, until the first picture of each."""
    visitor = context(browser)
    page = visitor.new_page()
    opened(page, f"{app.address}/positions?{urlencode({'source': source, 'target': target})}")
    times: dict[str, list[float]] = {name: [] for name in PARTS}
    names = {"positions": "Positions", "embeddings": "Embeddings", "feedforward": "Feed-forward"}
    for _ in range(rounds):
        for name in ("embeddings", "feedforward", "positions"):
            page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
            page.wait_for_timeout(300)
            link = link_to(page, names[name])
            first = FIRST_FIGURES[name]
            there = f"() => stopwatch.drawn.startsWith('{first}')"
            page.evaluate(f"() => {{ stopwatch.result = stopwatch.next(['click'], {there}) }}")
            link.click()
            times[name].append(page.evaluate("stopwatch.result"))
    visitor.close()
    return times


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    global _version
    rounds = 1 if quick else 5
    first = Table(
        f"The first picture of a page, {TOKENS} tokens a side, warm server: milliseconds (median / best)",
        ("page", "part", "link, first visit", "link again", "click on its name", "allowed"),
        load(),
    )
    moved = Table(
        "A slider, from its event until the figure is drawn: milliseconds (median / best)",
        ("page", "part", "slider", "until drawn", "allowed"),
        load(),
    )
    with contextlib.ExitStack() as stack:
        app = stack.enter_context(running(model.path))
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=find_browser(), args=FLAGS)
        stack.callback(browser.close)
        _version = f"Chromium {browser.version}"
        source, target = pairs(model.tokenizer, TOKENS, 1)[0]
        opened(context(browser).new_page(), f"{app.address}/positions?{urlencode({'source': source})}")
        followed = _followed(browser, app, source, target, rounds)
        for page, parts in PARTS.items():
            for part in parts[:1] if quick else parts:
                found = [_first(browser, app, page, part, source, target) for _ in range(rounds)]
                cells = [_pair([one[name] for one in found]) for name in ("cold", "again")]
                click = _pair(followed[page]) if part == parts[0] else ""
                again = statistics.median(one["again"] for one in found)
                first.add(page, part, *cells, click, f"{FIRST}", good=again <= FIRST)
        for page, part, params, name, values, allowed in SLIDERS:
            link = f"{app.address}/{page}?{urlencode({'source': source, 'part': part, **params})}"
            figures = Figures(context(browser).new_page(), link)
            there, back = values
            figures.move(name, there)  # what is measured is not the first time
            times = []
            for _ in range(2 if quick else 11):
                figures.move(name, back)
                times.append(figures.move(name, there))
            what = f"{name or 'frames'}, {back} to {there}"
            moved.add(page, part, what, _pair(times), f"{allowed}", good=statistics.median(times) <= allowed)
            figures.page.close()
    return [first, moved]


def _pair(times: list[float]) -> str:
    return f"{statistics.median(times):.0f} / {min(times):.0f}"
