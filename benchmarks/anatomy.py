"""The anatomy page: time until its first picture, the data sent for it, and the frames of every kind of movement."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.app import running
from benchmarks.browser import PAUSE, Settling, context, opened
from benchmarks.report import Table, load
from benchmarks.sentences import pairs
from benchmarks.timing import percentile
from benchmarks.wire import Wire
from tests.browser.find import FLAGS, find_browser
from tests.browser.navigation import link_to
from transformer.inference.pretrained import Pretrained

LENGTHS = (20, 60)
JUDGED = 20  # tokens a side for which there is a limit of time
FIRST, TRAVELS = 1000, 1000  # milliseconds until the first picture, KB for it
FRAME, LATE = 17.0, 25.0  # milliseconds from frame to frame: allowed (60 a second); one was left out
FILM = (Path(__file__).parent / "film.js").read_text(encoding="utf-8")
PLACE = "decoder.cross"
STEPS = {PLACE: 11, "encoder.ff": 5, "output": 4}  # after the first of each place
# Where one must have been for all numbers of the way to be there.
NUMBERS = {PLACE: ("project", "output"), "encoder.ff": ("inner", "outer"), "output": ("hidden",)}
# Names of what needs numbers that only the server has, in the order of `asked`.
ASKED = ("a sub-layer", "the step that multiplies with W^Q, W^K and W^V", "the same step in another layer")
_version = ""


def browser_version() -> str:
    return _version


@dataclass(frozen=True)
class Film:
    """One movement, in milliseconds from the click or key: until it moved, and until it rested with all its numbers.

    frames: (when, whether the drawing moved) of all that the page was given; painted: how many the drawing made; busy:
    milliseconds that the page's main thread computed, from before the click until the rest.
    """

    first: float
    settled: float
    frames: tuple[tuple[float, bool], ...]
    painted: int
    busy: float

    @property
    def gaps(self) -> list[float]:
        """From frame to frame while the drawing moved."""
        following = zip(self.frames, self.frames[1:], strict=False)
        return [after - before for (before, moved), (after, moves) in following if moved and moves]


Films = dict[str, list[Film]]  # what moved -> every time that it did


class Drawing(Settling):
    """The anatomy in a page that stays open."""

    def __init__(self, page: Page, link: str) -> None:
        self.page = page
        page.add_init_script(FILM)
        opened(page, link)
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.settle()

    def settle(self) -> None:
        """Until nothing moves or is on its way; also what the browser tells the server after a rest."""
        super().settle()
        self.page.wait_for_function("film.rests()")

    def go(self, **state: object) -> None:
        """To another state, as a click that is not filmed."""
        self.page.evaluate("(state) => film.drawing.go(state)", state)
        self.page.wait_for_timeout(350)
        self.settle()

    def busy(self) -> float:
        """Milliseconds that the page's main thread has computed so far, whatever else the machine does."""
        metrics = self.session.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration") * 1e3

    def film(self, act: Callable[[], object]) -> Film:
        self.page.evaluate("() => { film.take(); }")
        before = self.busy()
        act()
        found = self.page.evaluate("film.result")
        busy = self.busy() - before
        self.settle()
        frames = tuple((float(when), bool(moved)) for when, moved in found["frames"])
        return Film(found["first"], found["settled"], frames, found["painted"], busy)

    def click(self, name: str) -> Film:
        return self.film(self.page.get_by_test_id(name).click)

    def press(self, key: str) -> Film:
        self.page.get_by_test_id("anatomy-stage").focus()
        return self.film(lambda: self.page.keyboard.press(key))

    def close(self) -> None:
        self.page.context.close()


def asked(drawing: Drawing, layer: int) -> Iterator[Callable[[], Film]]:
    """What needs numbers that only the server has, one call for each of ASKED; layers from `layer`, not seen before."""
    drawing.go(zoom="layer", place=PLACE, encoder=layer, decoder=layer, head=0, step="x", t=3)
    yield lambda: drawing.click("zoom-sub")
    yield lambda: drawing.press("ArrowRight")
    yield lambda: drawing.click(f"layers-decoder-{layer + 2}")


def journey(drawing: Drawing, most: int) -> Iterator[tuple[str, Film]]:
    """Every kind of movement, with its name, where all numbers are there; most: steps of a place that are walked."""

    def walk(name: str, keys: tuple[str, str], count: int) -> Iterator[tuple[str, Film]]:
        for key, direction in zip(keys, ("forward", "back"), strict=True):
            for _ in range(min(count, most)):
                yield f"{name}, {direction}", drawing.press(key)

    sideways, upright = ("ArrowRight", "ArrowLeft"), ("ArrowDown", "ArrowUp")
    drawing.go(zoom="model", place=PLACE, encoder=0, decoder=0, head=0, step="x", t=3)
    yield from walk("a step of decoding, model", upright, 3)
    yield "model to layer", drawing.click("zoom-layer")
    yield "layer to sub-layer", drawing.click("zoom-sub")
    yield from walk("a step of attention", sideways, STEPS[PLACE])
    yield from walk("a step of decoding, sub-layer", upright, 3)
    drawing.go(step="softmax")
    yield "sub-layer to head", drawing.click("zoom-head")
    yield "head to number", drawing.click("zoom-number")
    yield "number to head", drawing.click("zoom-head")
    yield "head to sub-layer", drawing.click("zoom-sub")
    yield "sub-layer to layer", drawing.click("zoom-layer")
    yield "layer to model", drawing.click("zoom-model")
    for place, name in (("encoder.ff", "a step of feed-forward"), ("output", "a step of the output")):
        drawing.go(zoom="sub", place=place, step="hidden" if place == "output" else "x")
        yield from walk(name, sideways, STEPS[place])


def moved(drawing: Drawing, layers: Sequence[int], most: int) -> tuple[Films, Films]:
    """Films of what needs the server, by ASKED, in these layers; and of every kind of movement that does not."""
    new: Films = {name: [] for name in ASKED}
    for layer in layers:
        for name, act in zip(ASKED, asked(drawing, layer), strict=True):
            new[name].append(act())
    known: Films = {}
    for place, steps in NUMBERS.items():
        for step in steps:
            drawing.go(zoom="sub", place=place, encoder=0, decoder=0, step=step, t=3)
    for name, film in journey(drawing, most):
        known.setdefault(name, []).append(film)
    return new, known


def wires(page: Page, link: str, layer: int) -> dict[str, Wire]:
    """What travels for the first picture, by "first", in a browser that was never here; and for each of ASKED."""
    wire = Wire().listen(page)
    drawing = Drawing(page, link)
    found = {"first": wire.stop()}
    for name, act in zip(ASKED, asked(drawing, layer), strict=True):
        wire = Wire().listen(page)
        act()
        found[name] = wire.stop()
    return found


def first_pictures(browser: Browser, link: str, rounds: int) -> dict[str, list[float]]:
    """Milliseconds until the first picture of the page, by the way there."""
    times: dict[str, list[float]] = {"link, first visit": [], "link again": [], "click on its name": []}
    for _ in range(rounds):
        stranger = context(browser)
        page = stranger.new_page()
        times["link, first visit"].append(opened(page, link))
        page.wait_for_timeout(500)
        times["link again"].append(opened(page, link))
        stranger.close()
        time.sleep(PAUSE)
    visitor = context(browser)
    page = visitor.new_page()
    opened(page, link)
    for _ in range(rounds):
        for name, there in (("Feed-forward", "feedforward-"), ("Anatomy", "anatomy ")):
            page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
            page.wait_for_timeout(300)
            done = f"() => stopwatch.drawn.startsWith('{there}')"
            link = link_to(page, name)
            page.evaluate(f"() => {{ stopwatch.result = stopwatch.next(['click'], {done}); }}")
            link.click()
            took = page.evaluate("stopwatch.result")
            if name == "Anatomy":
                times["click on its name"].append(took)
    visitor.close()
    return times


def _pair(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.0f} / {min(times):.0f}"


def add_opening(table: Table, tokens: int, times: Mapping[str, Sequence[float]]) -> None:
    """times: of `first_pictures`."""
    judged = tokens == JUDGED
    for way, taken in times.items():
        good = statistics.median(taken) <= FIRST if judged else None
        table.add(tokens, way, _pair(taken), FIRST if judged else "", good=good)


def add_travels(table: Table, tokens: int, found: Mapping[str, Wire]) -> None:
    """found: of `wires`."""
    for name, wire in found.items():
        first = name == "first"
        parts = (wire.scripts, wire.packs.total(), wire.other, wire.received)
        table.add(
            tokens, "the first picture" if first else name, *(f"{size / 1e3:,.0f}" for size in parts),
            f"{TRAVELS:,}" if first else "", f"{wire.files / 1e3:,.0f}" if first else "",
            good=wire.received < TRAVELS * 1e3 if first else None,
        )  # fmt: skip


def add_waits(table: Table, tokens: int, new: Films, wired: Sequence[Mapping[str, Wire]], head: Sequence[Film]) -> None:
    """new: of `moved`; wired: of `wires`, one a visit; head: films of a zoom that needs nothing, beside them."""
    for name, films in {**new, "a head whose numbers are loaded": head}.items():
        runs = [max(one[name].runs, key=lambda run: run.received) for one in wired if name in one]
        server = _pair([run.milliseconds for run in runs]) if runs else ""
        table.add(tokens, name, _pair([one.first for one in films]), _pair([one.settled for one in films]), server)


def add_frames(table: Table, tokens: int, films: Films, when: str = "") -> None:
    for name, taken in films.items():
        gaps = [gap for film in taken for gap in film.gaps]
        late = sum(gap > LATE for gap in gaps) / len(gaps)
        made = sum(film.painted for film in taken)
        painted = made / sum(moves for film in taken for _, moves in film.frames)
        busy = sum(film.busy for film in taken) / made
        middle = statistics.median(gaps)
        table.add(
            tokens, f"{name}{when}", len(taken), len(gaps), f"{min(1, painted):.0%}", f"{middle:.1f}",
            f"{percentile(gaps, 0.95):.1f}", f"{late:.0%}", f"{max(gaps):.0f}", f"{FRAME:.0f}",
            f"{statistics.median(film.settled for film in taken):.0f}", f"{busy:.1f}", good=middle <= FRAME,
        )  # fmt: skip


def _merged(found: Sequence[Films]) -> Films:
    return {name: [film for one in found for film in one[name]] for name in found[0]}


def measure(model: Pretrained, quick: bool = False, lengths: Sequence[int] = LENGTHS) -> list[Table]:
    global _version
    busy = load()
    opening = Table(
        "The first picture, warm server: milliseconds (median / best)",
        ("tokens a side", "way", "until drawn", "allowed"),
        busy,
    )
    travelling = Table(
        "Data sent, KB",
        ("tokens a side", "for", "scripts and styles", "numbers", "the rest of the page", "together", "allowed",
         "Streamlit's own files"),
        notes=[NOTES["travelling"]],
    )  # fmt: skip
    waiting = Table(
        "Numbers from the server, time since the click or key: milliseconds (median / best)",
        ("tokens a side", "for", "until it moves", "until it rests", "the run on the server"),
        busy,
        notes=[NOTES["waiting"]],
    )
    moving = Table(
        "Time between frames during a movement, milliseconds",
        ("tokens a side", "movement", "times", "frames", "painted", "median", "95% within", f"later than {LATE:.0f}",
         "longest", "allowed (median)", "at rest after", "computing a frame"),
        busy,
        notes=[NOTES["moving"]],
    )  # fmt: skip
    visits, rounds, most = (1, 1, 1) if quick else (2, 5, max(STEPS.values()))
    layers = range(0, min(model.config.decoder_layers, 2 if quick else 4) - 1, 2)
    with contextlib.ExitStack() as stack:
        app = stack.enter_context(running(model.path))
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=find_browser(), args=FLAGS)
        stack.callback(browser.close)
        _version = f"Chromium {browser.version}"
        for tokens in lengths[:1] if quick else lengths:
            source, target = pairs(model.tokenizer, tokens, 1)[0]
            link = f"{app.address}/anatomy?{urlencode({'source': source, 'target': target})}"
            visitors = [context(browser) for _ in range(visits)]
            wired = [wires(visitor.new_page(), link, layer) for visitor in visitors for layer in layers]
            for visitor in visitors:
                visitor.close()
            add_travels(travelling, tokens, wired[0])
            add_opening(opening, tokens, first_pictures(browser, link, rounds))
            films = []
            for _ in range(visits):
                drawing = Drawing(context(browser).new_page(), link)
                films.append(moved(drawing, layers, most))
                drawing.close()
            new, known = _merged([one for one, _ in films]), _merged([one for _, one in films])
            add_waits(waiting, tokens, new, wired, known["sub-layer to head"])
            add_frames(moving, tokens, known)
            add_frames(moving, tokens, new, ", first time")
    return [opening, travelling, waiting, moving]


NOTES = {
    "travelling": (
        "All data that the websocket receives in a new browser until nothing more comes: the component's script and "
        "styles (once per visit), the packs of numbers, and all other messages of the run. Streamlit's own page, "
        "scripts and fonts are extra; a browser caches them."
    ),
    "waiting": (
        "The decoder's cross-attention, in a layer not opened before, in a browser that stays open. Time from the "
        "click or key, as stamped by the browser, to the first frame of the movement, and to the frame after the last "
        "one. The run: from the request, through the websocket, to `script finished`."
    ),
    "moving": (
        "Measured in a separate loop of `requestAnimationFrame`: the browser's time stamps of all frames between the "
        "first and the last one of a movement. Painted: the share of frames with a new drawing. Computing: time of "
        "the page's main thread per frame until the movement ends, without other work of the machine. A frame that "
        "misses its time leaves a gap of 33 ms or more. The browser runs without a graphics card, so the processor "
        "also paints and composes."
    ),
}
