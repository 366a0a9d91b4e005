"""The picture of runs during training, in Chromium: it shows exactly what was recorded, to every viewer."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from tests.browser.training_runs import a_run
from transformer.tracing.trace import KINDS

pytest.importorskip("playwright")
pytest.importorskip("axe_playwright_python")
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.accessibility import HELP, WIDER, findings
from tests.browser.stillness import still
from tests.browser.training_page import SMALL, Picture, expected, pixels, tile

DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture
def page(context: BrowserContext) -> Page:
    page = context.new_page()
    page.add_init_script(HELP)
    return page


@pytest.mark.parametrize("number", [0, 1])
def test_every_head_at_every_step_shows_the_recorded_weights(page: Page, training_page: str, number: int) -> None:
    """Cell by cell: all heads of all kinds at steps from the first to the last, with a mask and without."""
    run = a_run(number, SMALL)
    picture = Picture(page, f"{training_page}/?runs={number + 1}").done()
    if number:
        page.get_by_test_id("training-run").nth(1).get_by_role("button").first.click()
    last = len(run.every) - 1
    for index in (0, 1, last // 2, last):
        picture.slide(index)
        for kind in KINDS:
            for layer in range(2):
                for head in range(4):
                    colours = tile(picture, kind, layer, head, 11)
                    far = np.abs(colours - expected(run, index, kind, layer, head)).max()
                    assert far <= 1, (index, kind, layer, head)
    assert not picture.errors


def test_the_enlarged_head_is_the_chosen_one(page: Page, training_page: str) -> None:
    run = a_run(0, SMALL)
    picture = Picture(page, f"{training_page}/?runs=1").done()
    for kind in KINDS:
        grid = page.get_by_test_id(f"training-grid-{kind}")
        tile_area = json.loads(grid.get_attribute("data-plot") or "")[6]  # layer 2, head 3
        grid.click(position={"x": tile_area["x"] + tile_area["w"] / 2, "y": tile_area["y"] + tile_area["h"] / 2})
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


def test_pointer_and_arrow_keys_show_the_value_of_a_cell(page: Page, training_page: str) -> None:
    run = a_run(0, SMALL)
    picture = Picture(page, f"{training_page}/?runs=1").done()
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
    value_text = f"{row} → {column}: ≈ {matrix[1, 1] / 255:.2f} at step {run.every[60].step}"
    expect(page.get_by_test_id("training-cell")).to_have_text(value_text)
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


def test_numbers_and_letters_follow_the_slider_without_the_server(page: Page, training_page: str) -> None:
    run = a_run(0, SMALL)
    picture = Picture(page, f"{training_page}/?runs=1").done()
    picture.sent.clear()
    slider = page.get_by_test_id("training-slider")
    box = slider.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + box["height"] / 2)
    page.mouse.down()
    for share in range(95, 20, -5):
        page.mouse.move(box["x"] + box["width"] * share / 100, box["y"] + box["height"] / 2)
    page.mouse.up()
    dragged = picture.tell("v.shown")
    assert int(slider.input_value()) == run.every[dragged].step and picture.tell("v.player.mode") == "held"
    assert run.every[dragged].step == pytest.approx(100, abs=15)  # where the pointer is, of 400
    for key, index in (("ArrowLeft", dragged - 1), ("Home", 0), ("ArrowRight", 1), ("End", len(run.every) - 1)):
        slider.press(key)
        assert picture.tell("v.shown") == index
    for index in (0, 41, 77, len(run.every) - 1):
        picture.slide(index)
        frame = run.every[index]
        expect(page.get_by_test_id("training-step")).to_have_text(f"step {frame.step} of 400")
        measured = next(one for one in reversed(run.every[: index + 1]) if one.exact is not None)
        shares = [f"{100 * getattr(measured, name):.1f}".removesuffix(".0") + "%" for name in ("exact", "forced")]
        expect(page.get_by_test_id("training-values-exact")).to_have_text(" / ".join(shares))
        unseen = f"{measured.validation_loss:.{4 if measured.validation_loss < 0.0995 else 3}f} / "  # type: ignore[operator]
        assert page.get_by_test_id("training-values-loss").inner_text().startswith(unseen)
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


def test_four_runs_look_different_and_stand_side_by_side(page: Page, training_page: str) -> None:
    picture = Picture(page, f"{training_page}/?runs=4").done()
    lines = page.locator(".learn-svg[data-testid=training-plot-exact] path[data-series=exact]")
    assert lines.count() == 4
    look = "(element) => { const style = getComputedStyle(element); return style.strokeDasharray + style.stroke; }"
    assert len({lines.nth(i).evaluate(look) for i in range(4)}) == 4
    dashes = {lines.nth(i).evaluate("(element) => getComputedStyle(element).strokeDasharray") for i in range(4)}
    marks = page.get_by_test_id("training-run").locator(".learn-mark")
    shapes = {
        marks.nth(i).evaluate("(element) => element.tagName + element.getAttribute('transform')") for i in range(4)
    }
    assert len(dashes) == len(shapes) == 4  # without colours, too
    picture.slide(70)
    step = a_run(0, SMALL).every[70].step
    page.get_by_test_id("training-same").scroll_into_view_if_needed()
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
    expect(rows.nth(2)).to_contain_text("not in this run")
    expect(rows.nth(2)).to_contain_text("<b>reverse</b>")  # text stays text
    assert rows.nth(2).locator("b").count() == 0


def test_a_click_on_a_curve_goes_to_that_step(page: Page, training_page: str) -> None:
    picture = Picture(page, f"{training_page}/?runs=1").done()
    plot = page.get_by_test_id("training-plot-exact")
    x = picture.tell("v.curves.places.step(200)")
    plot.hover(position={"x": x, "y": 40})
    expect(picture.root.get_by_test_id("tooltip")).to_contain_text("step 200")
    plot.click(position={"x": x, "y": 40})
    step = int(re.findall(r"\d+", page.get_by_test_id("training-step").inner_text())[0])
    recorded = a_run(0, SMALL).opening.recorded
    assert step in recorded and abs(step - 200) <= 5
    expect(plot).to_have_attribute("aria-label", re.compile(rf"at step {step}:"))


def test_outputs_for_the_same_inputs_stand_side_by_side(page: Page, training_page: str) -> None:
    picture = Picture(page, f"{training_page}/?runs=4").done()
    picture.slide(80)
    outputs = page.locator(".learn-outputs")
    expect(outputs.locator("thead")).to_contain_text("no causal mask")
    expect(outputs.locator("thead")).not_to_contain_text("no positions")  # on other inputs
    for i, (_, target) in enumerate(a_run(0, SMALL).opening.shown):
        for column, number in ((1, 0), (3, 1)):
            written = a_run(number, SMALL).every[80].outputs[i]
            cell = page.get_by_test_id("training-output").nth(i).locator("td").nth(column)
            assert cell.locator(".learn-letters > span").first.inner_text() == written
            assert cell.locator(".learn-wrong").count() == sum(a != b for a, b in zip(written, target, strict=True))
    page.get_by_test_id("training-run").nth(2).get_by_role("button").first.click()
    expect(outputs.locator("thead")).to_contain_text("one head")
    expect(outputs.locator("thead")).not_to_contain_text("no causal mask")


def test_no_part_of_the_page_moves_during_training(page: Page, training_page: str) -> None:
    """Where every part begins stays the same from the first frame to the last."""
    picture = Picture(page, f"{training_page}/?runs=2&rate=60")
    parts = "['.learn-time', '.learn-work', '.learn-one canvas', '.learn-under', '.learn-predictions']"
    where = f"{parts}.map((selector) => Math.round(element.querySelector(selector).getBoundingClientRect().top))"
    picture.until("v.store.runs.every((run) => run.frames.length)")
    begun = picture.tell(where)
    picture.until("v.store.runs[0].frames.length > 60")
    assert picture.tell(where) == begun
    picture.done()
    assert picture.tell(where) == begun


@pytest.mark.parametrize("big", [0, 1])
def test_the_training_picture_is_accessible_and_not_wider_than_the_page(
    page: Page, training_page: str, big: int
) -> None:
    """On a desk and on a phone, one theme each."""
    picture = Picture(page, f"{training_page}/?runs=4&big={big}").done()
    picture.slide(70)
    for size, scheme in zip((DESK, PHONE), ("dark", "light") if big else ("light", "dark"), strict=True):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        still(page)
        assert findings(page) == []
        assert page.evaluate(WIDER) <= 0
        assert page.evaluate("hsOutside()") == []
        assert page.evaluate("hsBare()") == []


def test_the_first_screen_shows_curves_heads_and_slider(page: Page, training_page: str) -> None:
    Picture(page, f"{training_page}/?runs=4").done()
    for part in (".learn-curves", ".learn-grids", ".learn-one", ".learn-time", ".learn-runs"):
        box = page.locator(part).bounding_box()
        assert box and box["y"] >= 0 and box["y"] + box["height"] <= 900, part


def test_forced_colours_show_the_chosen_items(page: Page, training_page: str) -> None:
    page.emulate_media(forced_colors="active")
    Picture(page, f"{training_page}/?runs=3").done()
    assert page.evaluate("hsSameWhenPressed()") == []


def test_reduced_motion_draws_few_frames(page: Page, training_page: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    picture = Picture(page, f"{training_page}/?runs=1&rate=60")
    code = "(() => { v.seen = []; const frame = v.stage.frame.bind(v.stage); "
    code += "v.stage.frame = (...given) => { frame(...given); v.seen.push(v.shown); }; return 0; })()"
    picture.tell(code)
    picture.done()
    assert len(set(picture.tell("v.seen"))) < 20  # of 128 frames
