"""The cost of switches: a trace with and without them, and a click in the lab compared with the explorer's redraw."""

from __future__ import annotations

import contextlib
import json
import statistics
from collections.abc import Callable, Sequence
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from benchmarks.app import App, running
from benchmarks.browser import Ours, Settling, context, opened, timed
from benchmarks.report import Table, load
from benchmarks.sentences import of_length, pairs
from benchmarks.timing import ratio, take_turns
from benchmarks.trace import threads
from tests.browser.find import FLAGS, find_browser
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions

DEARER = 1.3  # a switched trace may take this many times as long as an unswitched one
TOKENS, ALLOWED, SLOWER = 20, 250, 3.0  # milliseconds of a switch on the screen; times the explorer's redraw
SWITCHES = {
    "scaling off": "scaling=off",
    "causal mask off": "causal=off",
    "a layer knocked out": "zero=cross.2",
    "weights uniform": "weights=uniform",
    "everything at once": "scaling=0.5 causal=off padding=off hide=source.2 zero=cross.2 weights=argmax@encoder_self",
}
_version = ""


def browser_version() -> str:
    return _version


def passes(model: Pretrained, tokens: int) -> dict[str, Callable[[], object]]:
    """The things that take turns: the same tokens traced without switches and with each of SWITCHES."""
    text = of_length(model.tokenizer, tokens, 1)
    trace = model.trace(text, text)
    found = {name: Interventions.parse(switches) for name, switches in SWITCHES.items()}
    return {
        "none": lambda: model.retrace(trace),
        **{name: (lambda one=one: model.retrace(trace, one)) for name, one in found.items()},
    }


class Lab(Settling):
    """The lab in a page that stays open; every method gives milliseconds from the click to the frame after."""

    def __init__(self, page: Page, app: App, source: str, target: str) -> None:
        self.page = page
        shown = {"try": "nothing", "cards": "open"}  # every switch, and none set
        opened(page, f"{app.address}/lab?{urlencode({'source': source, 'target': target, **shown})}")
        self.settle()

    def click(self, name: str) -> float:
        button = self.page.get_by_test_id(name)
        took = timed(self.page, "redrawn", ["click"], button.click)
        self.settle()
        return took

    def knock(self, number: int) -> float:
        """A head knocked out by clicking its tile."""
        grid = self.page.get_by_test_id("lab-grid-after")
        tiles = json.loads(grid.get_attribute("data-plot") or "")
        tile = [one for one in tiles if "all" not in (one["layer"], one["head"])][number]
        at = {"x": tile["x"] + tile["w"] / 2, "y": tile["y"] + tile["h"] / 2}
        took = timed(self.page, "redrawn", ["click"], lambda: grid.click(position=at))
        self.settle()
        return took


def measure(model: Pretrained, quick: bool = False, lengths: Sequence[int] = (20, 64, 128)) -> list[Table]:
    cost = Table(
        "Time of a trace with switches, relative to a trace without switches (median / best)",
        ("tokens a side", *SWITCHES, "allowed"),
        load(),
    )
    with threads(1):  # as in the app
        for tokens in lengths:
            times = take_turns(passes(model, tokens), 3 if quick else max(40, 3000 // tokens), warm=1 if quick else 4)
            found = [ratio(times, name, "none") for name in SWITCHES]
            cost.add(tokens, *found, f"{DEARER} x", good=max(one.median for one in found) <= DEARER)
    return [cost, _screen(model, 1 if quick else 9)]


def _screen(model: Pretrained, rounds: int) -> Table:
    """A click on a switch until before, after and difference are drawn, in turns with Enter in the explorer."""
    global _version
    table = Table(
        f"A switch on the screen, {TOKENS} tokens a side: from the click until before, after and difference are drawn",
        ("what", "milliseconds (median / best)", "allowed", ": explorer's own redraw (median / best)", "allowed "),
        load(),
    )
    times: dict[str, list[float]] = {"explorer": [], "scaling": [], "causal": [], "knock": [], "back": []}
    with contextlib.ExitStack() as stack:
        app = stack.enter_context(running(model.path))
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=find_browser(), args=FLAGS)
        stack.callback(browser.close)
        _version = f"Chromium {browser.version}"
        sentences = pairs(model.tokenizer, TOKENS, 3)
        ours = Ours(app, browser, sentences[2])
        lab = Lab(context(browser).new_page(), app, *sentences[1])
        for source, _ in sentences[:2] * 2:  # what is measured is not the first time of anything
            ours.enter(source)
        for name in ("scaling-off", "scaling-on", "causal-off", "causal-on"):
            lab.click(name)
        for number in range(rounds):
            times["explorer"].append(ours.enter(sentences[number % 2][0]))
            times["scaling"].append(lab.click("scaling-off"))
            times["back"].append(lab.click("scaling-on"))
            lab.page.get_by_test_id("lab-kind-decoder_self").click()
            lab.settle()
            times["causal"].append(lab.click("causal-off"))
            lab.click("causal-on")
            lab.page.get_by_test_id("lab-kind-cross").click()
            lab.page.get_by_test_id("knock").click()
            times["knock"].append(lab.knock(number))  # a head not switched before: traced anew
            lab.page.get_by_test_id("knock").click()
            lab.page.get_by_test_id("reset").click()
            lab.settle()
    names = {
        "explorer": "the explorer: Enter, a sentence traced before",
        "scaling": "scaling off, as before",
        "back": "scaling on again",
        "causal": "causal mask off, as before",
        "knock": "a head knocked out for the first time",
    }
    for name, said in names.items():
        taken, found = times[name], ratio(times, name, "explorer")
        cells = [said, f"{statistics.median(taken):.0f} / {min(taken):.0f}"]
        if name == "explorer":
            table.add(*cells, "", "", "")
        else:
            good = statistics.median(taken) <= ALLOWED and found.median <= SLOWER
            table.add(*cells, ALLOWED, found, f"{SLOWER:.0f} x", good=good)
    table.notes.append(
        "Both pages stay open in one browser and take turns. The time starts at the click or key, as stamped by the "
        "browser, and ends at the frame after the picture. The lab draws three grids and three heads; its text below "
        "comes after the picture."
    )
    return table
