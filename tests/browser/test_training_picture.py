"""Runs while they train, in a real Chromium: what is drawn is what was recorded, and time is the browser's own."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.conftest import START, WAIT, free_port, spawn, stop
from tests.browser.training_runs import MadeUp, Sizes, a_run
from transformer.trace import KINDS

pytest.importorskip("playwright")
pytest.importorskip("axe_playwright_python")
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.test_accessibility import HELP, WIDER, findings

PAPER, INK = (252, 252, 251), (22, 24, 29)
HUES = {"encoder_self": (11, 99, 176), "decoder_self": (181, 73, 10), "cross": (122, 47, 143)}
SMALL = Sizes(2, 4, 10, 400)
RUNNING = "[data-testid=stApp][data-test-script-state=running]"


@pytest.fixture(scope="module")
def address(browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a page with the picture and made-up runs, training_app.py."""
    import time
    import urllib.error
    import urllib.request

    log = tmp_path_factory.mktemp("training") / "log.txt"
    port = free_port()
    app = str(Path(__file__).with_name("training_app.py"))
    options = (f"--server.port={port}", "--server.headless=true")
    process = spawn(log, sys.executable, "-m", "streamlit", "run", app, *options, PYTHONPATH=".")
    until = time.monotonic() + START
    while True:
        try:
            with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=5):
                break
        except (urllib.error.URLError, OSError):
            assert time.monotonic() < until and process.poll() is None, log.read_text(errors="replace")
            time.sleep(0.2)
    yield f"http://localhost:{port}"
    stop(process)


class Picture:
    """A page with the picture, and what it sends."""

    def __init__(self, page: Page, link: str) -> None:
        self.page = page
        self.sent: list[Any] = []
        self.errors: list[str] = []
        page.on("websocket", lambda socket: socket.on("framesent", lambda frame: self.sent.append(frame)))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(link)
        page.wait_for_selector("[data-frame]")
        self.root = page.get_by_test_id("training")

    def tell(self, code: str) -> Any:
        """The value of an expression, with the view as `v`."""
        return self.root.evaluate(f"(element) => {{ const v = element.training; return {code}; }}")

    def until(self, code: str) -> None:
        """Wait until an expression is true."""
        deep = "[...document.querySelectorAll('*')].flatMap((e) => e.shadowRoot ? [e.shadowRoot] : [document])"
        find = f"{deep}.map((root) => root.querySelector('[data-testid=training]')).find(Boolean)"
        self.page.wait_for_function(f"() => {{ const e = {find}; const v = e && e.training; return v && ({code}); }}")

    def done(self) -> Picture:
        """All that was recorded is here, and nothing moves or is asked any more."""
        self.until("v.store.runs.length && !v.store.active && !v.store.lacks && !v.player.moving(v.shown)")
        self.page.wait_for_selector(RUNNING, state="detached")
        return self

    def slide(self, index: int) -> None:
        slider = self.page.get_by_test_id("training-slider")
        slider.evaluate("(one, value) => { one.value = value; one.dispatchEvent(new Event('input')); }", index)

    def cards(self) -> list[str]:
        return self.page.get_by_test_id("training-run").all_inner_texts()

    def log(self) -> Any:
        """What the page of the test says of asks and commands."""
        return json.loads(self.page.get_by_test_id("stText").first.inner_text())


@pytest.fixture
def page(context: BrowserContext) -> Page:
    context.add_init_script(HELP)
    return context.new_page()


def ramp(kind: str) -> np.ndarray:
    """The 256 colours of colour.js in the light theme, written down once more."""
    hue = np.array(HUES[kind], dtype=float)

    def mix(a: Any, b: Any, share: float) -> np.ndarray:
        return np.floor(np.array(a) + (np.array(b) - np.array(a)) * share + 0.5)

    end = mix(hue, hue * 0.14 + 6, 0.62)
    at = [(i / 255) ** 0.72 for i in range(256)]
    return np.array([mix(PAPER, hue, x / 0.75) if x < 0.75 else mix(hue, end, (x - 0.75) / 0.25) for x in at])


def pixels(canvas: Any, places: list[tuple[float, float]]) -> np.ndarray:
    """Colours of a canvas at places in CSS pixels."""
    code = """(canvas, places) => {
      const ratio = canvas.width / canvas.getBoundingClientRect().width;
      const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return places.map(([x, y]) => [0, 1, 2].map((i) => data[4 * (Math.floor(y * ratio) * width + Math.floor(x * ratio)) + i]));
    }"""
    return np.array(canvas.evaluate(code, places))


def expected(run: MadeUp, index: int, kind: str, layer: int, head: int) -> np.ndarray:
    """The colour of every cell of a head, row after row; where the mask hides it that of a masked cell."""
    matrix = run.every[index].attention(run.opening)[kind][layer, head]
    colours = ramp(kind)[matrix]
    if kind == "decoder_self" and run.experiment.causal:
        masked = np.floor(np.array(INK) + (np.array(PAPER) - np.array(INK)) * 0.93 + 0.5)
        colours[np.triu_indices(len(matrix), 1)] = masked
    return colours.reshape(-1, 3)


def tile(picture: Picture, kind: str, layer: int, head: int, cells: int) -> np.ndarray:
    grid = picture.page.get_by_test_id(f"training-grid-{kind}")
    place = next(
        one for one in json.loads(grid.get_attribute("data-plot") or "") if (one["layer"], one["head"]) == (layer, head)
    )
    at = [(i + 0.5) / cells for i in range(cells)]
    return pixels(grid, [(place["x"] + place["w"] * c, place["y"] + place["h"] * r) for r in at for c in at])


@pytest.mark.parametrize("number", [0, 1])
def test_every_head_at_every_step_is_what_was_recorded(page: Page, address: str, number: int) -> None:
    """Cell by cell: all heads of all kinds at steps from the first to the last, with a mask and without."""
    run = a_run(number, SMALL)
    picture = Picture(page, f"{address}/?runs={number + 1}").done()
    if number:
        page.get_by_test_id("training-run").nth(1).get_by_role("button").first.click()
    last = len(run.every) - 1
    for index in (0, 1, last // 2, last):
        picture.slide(index)
        for kind in KINDS:
            for layer in range(2):
                for head in range(4):
                    drawn = tile(picture, kind, layer, head, 11)
                    assert np.abs(drawn - expected(run, index, kind, layer, head)).max() <= 1, (index, kind, layer, head)
    assert not picture.errors


def test_the_enlarged_head_is_the_chosen_one(page: Page, address: str) -> None:
    run = a_run(0, SMALL)
    picture = Picture(page, f"{address}/?runs=1").done()
    for kind in KINDS:
        grid = page.get_by_test_id(f"training-grid-{kind}")
        place = json.loads(grid.get_attribute("data-plot") or "")[6]  # layer 2, head 3
        grid.click(position={"x": place["x"] + place["w"] / 2, "y": place["y"] + place["h"] / 2})
        expect(page.locator(".learn-one h2")).to_contain_text("Layer 2, head 3")
        head = page.get_by_test_id("training-head")
        plot = json.loads(head.get_attribute("data-plot") or "")
        assert plot["rows"] == plot["columns"] == 11
        at = [i + 0.5 for i in range(11)]
        places = [(plot["left"] + plot["cw"] * c, plot["top"] + plot["ch"] * r) for r in at for c in at]
        for index in (3, 90):
            picture.slide(index)
            wanted = expected(run, index, kind, 1, 2)
            visible = np.ones(121, bool) if kind != "decoder_self" else np.tri(11).astype(bool).ravel()  # no hatching
            assert np.abs(pixels(head, places) - wanted)[visible].max() <= 1


def test_values_under_the_pointer_and_the_keys(page: Page, address: str) -> None:
    run = a_run(0, SMALL)
    picture = Picture(page, f"{address}/?runs=1").done()
    picture.slide(60)
    head = page.get_by_test_id("training-head")
    plot = json.loads(head.get_attribute("data-plot") or "")
    matrix = run.every[60].attention(run.opening)["cross"][1, 0]
    best = int(matrix[4].argmax())
    head.hover(position={"x": plot["left"] + plot["cw"] * (best + 0.5), "y": plot["top"] + plot["ch"] * 4.5})
    expect(picture.root.get_by_test_id("tooltip")).to_contain_text(f"≈ {matrix[4, best] / 255:.2f}")
    head.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):  # the first key chooses a cell
        head.press(key)
    row, column = run.opening.target_out[1], run.opening.source_tokens[1]
    said = f"{row} → {column}: ≈ {matrix[1, 1] / 255:.2f} at step {run.every[60].step}"
    expect(page.get_by_test_id("training-cell")).to_have_text(said)
    picture.slide(61)
    later = run.every[61].attention(run.opening)["cross"][1, 0, 1, 1] / 255
    expect(page.get_by_test_id("training-cell")).to_contain_text(f"≈ {later:.2f} at step {run.every[61].step}")
    page.get_by_test_id("training-rows").select_option("fed")
    label = head.get_attribute("aria-label") or ""
    assert f"at step {run.every[61].step}" in label and "<s> →" in label
    grid = page.get_by_test_id("training-grid-cross")
    grid.focus()
    grid.press("ArrowRight")
    expect(page.locator(".learn-one h2")).to_contain_text("Layer 2, head 2")
    assert grid.get_attribute("aria-activedescendant") == "learn-cross-1-1"


def test_numbers_and_letters_follow_the_slider_without_the_server(page: Page, address: str) -> None:
    run = a_run(0, SMALL)
    picture = Picture(page, f"{address}/?runs=1").done()
    picture.sent.clear()
    slider = page.get_by_test_id("training-slider")
    box = slider.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + box["height"] / 2)
    page.mouse.down()
    for share in range(95, 20, -5):
        page.mouse.move(box["x"] + box["width"] * share / 100, box["y"] + box["height"] / 2)
    page.mouse.up()
    dragged = int(slider.input_value())
    assert 20 < dragged < 60 and picture.tell("[v.shown, v.player.mode]") == [dragged, "held"]
    for key, index in (("ArrowLeft", dragged - 1), ("Home", 0), ("ArrowRight", 1), ("End", len(run.every) - 1)):
        slider.press(key)
        assert picture.tell("v.shown") == index
    for index in (0, 41, 77, len(run.every) - 1):
        picture.slide(index)
        frame = run.every[index]
        expect(page.get_by_test_id("training-step")).to_have_text(f"step {frame.step} of 400")
        measured = next(one for one in reversed(run.every[: index + 1]) if one.exact is not None)
        for name in ("exact", "forced"):
            value = f"{100 * getattr(measured, name):.1f}".removesuffix(".0")
            expect(page.get_by_test_id(f"training-values-{name}")).to_have_text(f"{value} %")
        assert f"{measured.validation_loss:.{4 if measured.validation_loss < 0.0995 else 3}f} unseen" in (  # type: ignore[operator]
            page.get_by_test_id("training-values-loss").inner_text()
        )
        rows = page.get_by_test_id("training-output")
        for i, ((source, target), written) in enumerate(zip(run.opening.shown, frame.outputs, strict=True)):
            cells = rows.nth(i).locator("td")
            assert source in rows.nth(i).locator("th").inner_text() and cells.nth(0).inner_text() == target
            assert cells.nth(1).locator(".learn-letters > span").first.inner_text().strip() == written
            wrong = sum(a != b for a, b in zip(written, target, strict=True))
            assert cells.nth(1).locator(".learn-wrong").count() == wrong
            expect(cells.nth(2)).to_have_text(f"✗ {wrong} of {len(target)} wrong" if wrong else "✓ right")
        predicted = page.locator(".learn-teacher tr").last.locator("td > span:first-child").all_inner_texts()
        assert predicted == list(frame.predicted)
        assert picture.tell("v.curves.plots[0].cursor.getAttribute('transform')") == picture.tell(
            f"`translate(${{v.curves.places.step({frame.step}).toFixed(1)}} 0)`"
        )
    assert picture.sent == []


def test_it_moves_while_it_trains_and_shows_nothing_that_was_not_recorded(page: Page, address: str) -> None:
    run = a_run(0, SMALL)
    picture = Picture(page, f"{address}/?runs=1&rate=60")
    code = "(() => { v.seen = []; const draw = v.drawFrame.bind(v); "
    code += "v.drawFrame = (...given) => { draw(...given); v.seen.push(v.shown); }; return v.store.runs[0].last; })()"
    begun = picture.tell(code)
    picture.done()
    seen, asks = picture.tell("v.seen"), picture.log()["asks"]
    assert seen == sorted(seen) and seen[-1] == len(run.every) - 1
    assert len(set(seen)) > asks + 10  # more pictures than answers: frames of one answer are spread
    assert len(set(seen)) > (len(run.every) - begun) * 0.5
    steps = picture.tell("v.store.runs[0].frames.map((frame) => frame.step)")
    assert steps == list(run.opening.recorded)
    assert "all 400 steps done" in picture.cards()[0]


def test_a_gap_is_asked_for_again(page: Page, address: str) -> None:
    run = a_run(0, SMALL)
    picture = Picture(page, f"{address}/?runs=1&rate=80&gap=1").done()
    assert picture.log()["asks"] > 3  # the third was answered with a gap
    rows = picture.tell("v.store.runs[0].weights.map((one) => [...one])")
    assert [bytes(row) for row in rows] == [frame.weights for frame in run.every]


def test_it_asks_only_while_something_trains(page: Page, address: str) -> None:
    picture = Picture(page, f"{address}/?runs=2").done()
    picture.sent.clear()
    page.wait_for_timeout(4000)
    assert picture.sent == []


def test_who_comes_back_finds_every_frame_and_the_run_goes_on(page: Page, address: str) -> None:
    picture = Picture(page, f"{address}/?runs=1&rate=30")
    picture.until("v.store.runs[0].frames.length > 30")
    page.get_by_text("Away").click()
    expect(picture.root).to_have_count(0)
    page.wait_for_timeout(500)
    page.get_by_text("Away").click()
    picture.until("v.store.runs[0].frames.length > 40")
    picture.done()
    assert picture.tell("v.store.runs[0].frames.map((frame) => frame.step)") == list(a_run(0, SMALL).opening.recorded)
    assert not picture.errors


def test_a_page_that_runs_again_for_another_reason_changes_nothing(page: Page, address: str) -> None:
    picture = Picture(page, f"{address}/?runs=2&lines=1").done()
    picture.slide(50)
    page.get_by_role("button", name="A line of the page").click()
    page.wait_for_timeout(600)
    picture.done()
    assert picture.tell("[v.shown, v.player.mode, v.store.runs.map((run) => run.frames.length)]")[:2] == [50, "held"]


def test_commands_reach_the_page(page: Page, address: str) -> None:
    picture = Picture(page, f"{address}/?runs=2&rate=20")
    first = page.get_by_test_id("training-run").first
    first.get_by_role("button", name="Baseline: pause").click()
    expect(first).to_contain_text("paused at step")
    first.get_by_role("button", name="Baseline: go on").click()
    first.get_by_role("button", name="Baseline: stop").click()
    expect(first).to_contain_text("stopped at step")
    second = page.get_by_test_id("training-run").nth(1)
    second.get_by_role("button", name="no causal mask: stop").click()
    picture.done()
    second.get_by_role("button", name="again with seed 3").click()
    second.get_by_role("button", name="remove").click()
    expect(page.get_by_test_id("training-run")).to_have_count(1)
    page.wait_for_selector(RUNNING, state="detached")
    one, two = "000000000000", "000000000001"
    assert picture.log()["log"] == [
        [one, "pause"], [one, "go"], [one, "stop"], [two, "stop"], [two, "again"], [two, "remove"]
    ]  # fmt: skip


def test_four_runs_are_told_apart_and_laid_side_by_side(page: Page, address: str) -> None:
    picture = Picture(page, f"{address}/?runs=4").done()
    lines = page.locator(".learn-svg[data-testid=training-plot-exact] path[data-series]")
    assert lines.count() == 4
    look = "(one) => { const style = getComputedStyle(one); return style.strokeDasharray + style.stroke; }"
    assert len({lines.nth(i).evaluate(look) for i in range(4)}) == 4
    dashes = {lines.nth(i).evaluate("(one) => getComputedStyle(one).strokeDasharray") for i in range(4)}
    marks = page.get_by_test_id("training-run").locator(".learn-mark")
    shapes = {marks.nth(i).evaluate("(one) => one.tagName + one.getAttribute('transform')") for i in range(4)}
    assert len(dashes) == len(shapes) == 4  # without colours, too
    picture.slide(70)
    step = a_run(0, SMALL).every[70].step
    heads = page.locator(".learn-same-one")
    assert heads.count() == 4
    for i, name in enumerate(("Baseline", "no causal mask", "no positions", "one head")):
        expect(heads.nth(i)).to_contain_text(f"{name}, step {step}")
        canvas = heads.nth(i).get_by_test_id("training-same-head")
        plot = json.loads(canvas.get_attribute("data-plot") or "")
        at = [j + 0.5 for j in range(11)]
        places = [(plot["left"] + plot["cw"] * c, plot["top"] + plot["ch"] * r) for r in at for c in at]
        wanted = expected(a_run(i, SMALL), 70, "cross", 1, 0)
        assert np.abs(pixels(canvas, places) - wanted).max() <= 1, name
    rows = page.get_by_test_id("training-findings").locator("tbody tr")
    assert rows.count() == 4
    expect(rows.nth(2)).to_contain_text("differs from the paper")
    expect(rows.nth(2)).to_contain_text("<b>reverse</b>")  # text stays text
    assert rows.nth(2).locator("b").count() == 0


def test_a_click_on_a_curve_goes_to_that_step(page: Page, address: str) -> None:
    picture = Picture(page, f"{address}/?runs=1").done()
    plot = page.get_by_test_id("training-plot-exact")
    x = picture.tell("v.curves.places.step(200)")
    plot.hover(position={"x": x, "y": 40})
    expect(picture.root.get_by_test_id("tooltip")).to_contain_text("step 200")
    plot.click(position={"x": x, "y": 40})
    step = int(re.findall(r"\d+", page.get_by_test_id("training-step").inner_text())[0])
    recorded = a_run(0, SMALL).opening.recorded
    assert step in recorded and abs(step - 200) <= 5
    assert f"at step {step}" in (plot.get_attribute("aria-label") or "")


def test_a_run_in_the_line_says_where_it_stands(page: Page, address: str) -> None:
    picture = Picture(page, f"{address}/?runs=2&line=1")
    expect(page.get_by_test_id("training-run").nth(1)).to_contain_text("2nd of 3 waiting")
    expect(page.get_by_test_id("training-run").nth(1)).to_contain_text("at most 120 s")
    assert picture.tell("v.run.id") == "000000000000"  # what is looked at is what has frames
    picture.sent.clear()
    page.wait_for_timeout(2000)
    assert picture.sent  # somebody may begin to train at any time


def test_played_from_the_start(page: Page, address: str) -> None:
    picture = Picture(page, f"{address}/?runs=1").done()
    picture.sent.clear()
    page.get_by_test_id("training-play").click()
    picture.until("v.player.mode === 'play' && v.shown > 3 && v.shown < 100")
    page.get_by_test_id("training-play").click()
    held = picture.tell("v.shown")
    page.wait_for_timeout(400)
    assert picture.tell("[v.shown, v.player.mode]") == [held, "held"]
    page.get_by_test_id("training-live").click()
    expect(page.get_by_test_id("training-live")).to_have_attribute("aria-pressed", "true")
    assert picture.tell("v.shown") == len(a_run(0, SMALL).every) - 1
    assert picture.sent == []


def test_nothing_jumps_while_it_trains(page: Page, address: str) -> None:
    """Where every part begins stays the same from the first frame to the last."""
    picture = Picture(page, f"{address}/?runs=2&rate=60")
    parts = "['.learn-time', '.learn-work', '.learn-one canvas', '.learn-under', '.learn-predictions']"
    where = f"{parts}.map((one) => Math.round(element.querySelector(one).getBoundingClientRect().top))"
    picture.until("v.store.runs.every((run) => run.frames.length)")
    begun = picture.tell(where)
    picture.until("v.store.runs[0].frames.length > 60")
    assert picture.tell(where) == begun
    picture.done()
    assert picture.tell(where) == begun


DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_page(
    browser: Browser, address: str, scheme: str, size: dict[str, int]
) -> None:
    context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
    context.set_default_timeout(WAIT)
    context.add_init_script(HELP)
    picture = Picture(context.new_page(), f"{address}/?runs=4&big={int(scheme == 'dark')}").done()
    picture.slide(70)
    assert findings(picture.page) == []
    assert picture.page.evaluate(WIDER) <= 0
    assert picture.page.evaluate("hsOutside()") == []
    assert picture.page.evaluate("hsBare()") == []
    context.close()


def test_the_first_screen_holds_curves_heads_and_slider(page: Page, address: str) -> None:
    Picture(page, f"{address}/?runs=4").done()
    for part in (".learn-curves", ".learn-grids", ".learn-one", ".learn-time", ".learn-runs"):
        box = page.locator(part).bounding_box()
        assert box and box["y"] >= 0 and box["y"] + box["height"] <= 900, part


def test_forced_colours_show_what_is_chosen(page: Page, address: str) -> None:
    page.emulate_media(forced_colors="active")
    Picture(page, f"{address}/?runs=3").done()
    assert page.evaluate("hsSameWhenPressed()") == []


def test_less_motion(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport=DESK, reduced_motion="reduce")  # type: ignore[arg-type]
    context.set_default_timeout(WAIT)
    picture = Picture(context.new_page(), f"{address}/?runs=1&rate=60")
    code = "(() => { v.seen = []; const frame = v.stage.frame.bind(v.stage); "
    code += "v.stage.frame = (...given) => { frame(...given); v.seen.push(v.shown); }; return 0; })()"
    picture.tell(code)
    picture.done()
    assert len(set(picture.tell("v.seen"))) < 20  # of 128 frames
    context.close()


def test_a_file_goes_to_the_page(page: Page, address: str) -> None:
    picture = Picture(page, f"{address}/?runs=1").done()
    place = page.get_by_test_id("training-file-input")
    place.set_input_files({"name": "my <b>model.zip", "mimeType": "application/zip", "buffer": bytes(range(256)) * 40})
    expect(page.get_by_test_id("stText").last).to_have_text("file: my <b>model.zip, 10240 bytes")
    page.wait_for_selector(RUNNING, state="detached")
    picture.sent.clear()
    place.set_input_files({"name": "large.zip", "mimeType": "application/zip", "buffer": b"\0" * 8_100_000})
    expect(page.get_by_test_id("training-file")).to_contain_text("large.zip has 8.1 MB; at most 8 MB can be loaded.")
    assert picture.sent == []
