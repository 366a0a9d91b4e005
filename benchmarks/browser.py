"""Timed pages of Headscope and of BertViz, in one browser, with one stopwatch (stopwatch.js)."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, BrowserContext, Page

from benchmarks import peer
from benchmarks.app import App
from transformer.tracing.trace import Trace

SCREEN = {"width": 1440, "height": 900}
PATIENCE = 300_000  # milliseconds
PAUSE = 2.0  # seconds that a browser may take to clear away a page it closed
STOPWATCH = (Path(__file__).parent / "stopwatch.js").read_text(encoding="utf-8")
KINDS = ("encoder_self", "decoder_self", "cross")


def context(browser: Browser, heads: int = 0) -> BrowserContext:
    """A browser without history; heads: how many a page of BertViz draws at first."""
    # The stopwatch's conditions are texts, which the policy of the site would refuse.
    made = browser.new_context(viewport=SCREEN, bypass_csp=True)  # type: ignore[arg-type]
    made.set_default_timeout(PATIENCE)
    made.add_init_script(f"window.expectedHeads = {heads};\n{STOPWATCH}")
    return made


def opened(page: Page, address: str) -> float:
    """Milliseconds from asking for the page until its first grid is drawn."""
    page.goto(address, wait_until="commit")
    return page.wait_for_function("stopwatch.first").json_value()


def timed(page: Page, until: str, events: Sequence[str], act: Callable[[], object]) -> float:
    page.evaluate(f"stopwatch.{until}({json.dumps(events)})")
    act()
    return page.evaluate("stopwatch.result")


class Settling:
    """A page of the app that is acted on again and again."""

    page: Page

    def settle(self) -> None:
        """Wait until nothing is on its way any more."""
        self.page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        self.page.wait_for_timeout(150)


def _frame_bytes(event: dict[str, Any]) -> int:
    """Size of a websocket frame's content, of which Chromium gives binary ones in base64."""
    frame = event["response"]
    text = frame["payloadData"]
    return len(base64.b64decode(text)) if frame["opcode"] == 2 else len(text.encode())


class Ours(Settling):
    """The app in a page that stays open, as a person's does; every method gives milliseconds."""

    def __init__(self, app: App, browser: Browser, first: tuple[str, str]) -> None:
        self.app, self.browser = app, browser
        self.shown = 0
        self.link = f"{app.address}/?{urlencode({'source': first[0], 'target': first[1]})}"
        self.page = context(browser).new_page()
        opened(self.page, self.link)

    def open(self) -> float:
        """Follow a link in a browser that was never here."""
        stranger = context(self.browser)
        took = opened(stranger.new_page(), self.link)
        stranger.close()
        time.sleep(PAUSE)
        return took

    def enter(self, source: str) -> float:
        """Enter in the source field."""
        field = self.page.locator("[data-testid=stTextInput] input").first
        field.fill(source)
        took = timed(self.page, "redrawn", ["keydown"], lambda: field.press("Enter"))
        self.settle()
        return took

    def kind(self) -> float:
        """A click on the next kind of attention."""
        self.shown = (self.shown + 1) % len(KINDS)
        button = self.page.get_by_test_id(f"kind-{KINDS[self.shown - 1]}")
        took = timed(self.page, "redrawn", ["click"], button.click)
        self.settle()
        return took

    def head(self, number: int) -> float:
        """A click on a head not yet seen in this sentence, until the exact numbers of a cell in it are there."""
        plot = self.page.locator("canvas[data-testid^=head-]")
        cell = json.loads(plot.get_attribute("data-plot") or "")
        plot.click(position={"x": cell["left"] + cell["cw"] / 2, "y": cell["top"] + cell["ch"] / 2})
        self.settle()
        grid = self.page.locator("canvas[data-testid^=grid-]")
        tiles = json.loads(grid.get_attribute("data-plot") or "")
        tile = [one for one in tiles if "all" not in (one["layer"], one["head"])][-1 - number]
        at = {"x": tile["x"] + tile["w"] / 2, "y": tile["y"] + tile["h"] / 2}
        took = timed(self.page, "exact", ["click"], lambda: grid.click(position=at))  # type: ignore[arg-type]
        self.settle()
        return took

    def bytes_of_first(self) -> int:
        """Everything that travels when a browser that was never here follows the link."""
        stranger = context(self.browser)
        page = stranger.new_page()
        session = stranger.new_cdp_session(page)
        sizes: list[int] = []
        session.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
        session.on("Network.webSocketFrameReceived", lambda event: sizes.append(_frame_bytes(event)))
        session.send("Network.enable")
        opened(page, self.link)
        page.wait_for_timeout(500)
        stranger.close()
        return sum(sizes)

    def bytes_of_enter(self, source: str) -> int:
        """What the websocket brings for a new sentence."""
        session = self.page.context.new_cdp_session(self.page)
        sizes: list[int] = []

        session.on("Network.webSocketFrameReceived", lambda event: sizes.append(_frame_bytes(event)))
        session.send("Network.enable")
        self.enter(source)
        session.detach()
        return sum(sizes)

    def close(self) -> None:
        self.page.context.close()


class Theirs:
    """BertViz: a page for every picture, opened in a browser that keeps its libraries."""

    def __init__(self, site: peer.Site, browser: Browser, heads: int) -> None:
        self.site, self.context = site, context(browser, heads)
        self.page: Page | None = None
        self.bytes = 0

    def build_and_open(self, trace: Trace) -> float:
        """Make the HTML and open it."""
        start = time.perf_counter()
        text = peer.html(trace)
        built = (time.perf_counter() - start) * 1e3
        self.bytes = self.site.show(text)
        self.page = self.context.new_page()
        return built + opened(self.page, self.site.address)

    def kind(self) -> float:
        """Choose another kind of attention."""
        assert self.page is not None
        page = self.page
        return timed(page, "answered", ["change"], lambda: page.select_option("#filter", "2"))

    def head(self, number: int) -> float:
        """A click on a head, until its larger picture is there."""
        assert self.page is not None
        box = self.page.locator("svg > g > rect:last-child").nth(number)
        return timed(self.page, "answered", ["click"], lambda: box.dispatch_event("click"))

    def close(self) -> None:
        if self.page is not None:
            self.page.close()
            self.page = None
            time.sleep(PAUSE)
