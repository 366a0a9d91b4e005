"""The recorded runs of the Training page: the picture shows exactly what was recorded, plays at once, in the first
screen, and links and files hold what is seen."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.canvas import cell, click_tile, colours, in_head, in_tile, plot, recorded
from tests.browser.live_training_page import settled
from tests.browser.navigation import saved, sized_page
from tests.browser.training_page import Picture
from transformer.live_training.recordings import recorded_runs

PLACE = "JSON.stringify([v.run.id, v.shown, v.player.mode, v.memory.kind, v.memory.place, v.memory.rows])"


def opened(page: Page, server: str, query: str) -> Picture:
    page.context.set_default_timeout(60_000)
    picture = Picture(page, f"{server}/training?{query}")
    picture.until("v.run && v.run.frames.length && !v.store.lacks && !v.asked")
    return picture


def bottom(page: Page, selector: str) -> float:
    box = page.locator(selector).first.bounding_box()
    assert box is not None and box["y"] >= 0, selector
    return box["y"] + box["height"]


@pytest.mark.parametrize("number", [0, 1])
def test_every_head_at_every_step_shows_the_recorded_weights(context: BrowserContext, server: str, number: int) -> None:
    """Cell by cell: all heads of all kinds at steps from the first to the last, with a mask and without; and one head
    once more, enlarged."""
    page, run = sized_page(context, 1440, 1600), recorded_runs("no-mask")[number]  # high: large cells
    picture = opened(page, server, "preset=no-mask&step=0")
    page.get_by_test_id("training-run").nth(number).get_by_role("button").first.click()
    page.get_by_test_id("training-kind-all").click()
    last = len(run.frames) - 1
    for index in (0, 1, last // 2, last):
        picture.slide(index)
        for kind, weights in run.frames[index].attention(run.opening).items():
            grid, causal = page.get_by_test_id(f"training-grid-{kind}"), number == 0 and kind == "decoder_self"
            places = [place for at in plot(grid) for place in in_tile(at, *weights.shape[2:])]
            assert np.abs(colours(grid, places) - recorded(weights, kind, causal)).max() <= 1, (index, kind)
    for kind, heads in run.frames[last].attention(run.opening).items():
        click_tile(page.get_by_test_id(f"training-grid-{kind}"), 1, 2)
        expect(page.locator(".learn-one h2")).to_contain_text("Layer 2, head 3")
        head, weights = page.get_by_test_id("training-head"), heads[1, 2]
        hatched = np.triu(np.ones(weights.shape, bool), 1) & (number == 0 and kind == "decoder_self")
        far = np.abs(colours(head, in_head(head)) - recorded(weights, kind))
        assert far[~hatched.ravel()].max() <= 1, kind


def test_pointer_and_arrow_keys_show_the_value_of_a_cell(context: BrowserContext, server: str) -> None:
    page, run = context.new_page(), recorded_runs("no-mask")[1]
    picture = opened(page, server, "preset=no-mask&step=0")
    page.get_by_test_id("training-kind-cross").click()
    page.get_by_test_id("training-rows").select_option("predicted")
    grid, head = page.get_by_test_id("training-grid-cross"), page.get_by_test_id("training-head")
    click_tile(grid, 1, 0)
    picture.slide(60)
    matrices = [run.frames[index].attention(run.opening)["cross"][1, 0] for index in (60, 61)]
    head.hover(position=cell(head, 4, 3))
    expect(picture.root.get_by_test_id("tooltip")).to_contain_text(f"≈ {matrices[0][4, 3] / 255:.2f}")
    head.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):  # the first key chooses a cell
        head.press(key)
    row, column = run.opening.target_out[1], run.opening.source_tokens[1]
    for index, matrix in zip((60, 61), matrices, strict=True):
        picture.slide(index)
        value_text = f"{row} → {column}: ≈ {matrix[1, 1] / 255:.2f} at step {run.frames[index].step}"
        expect(page.get_by_test_id("training-cell")).to_have_text(value_text)
    page.get_by_test_id("training-rows").select_option("fed")
    label = head.get_attribute("aria-label") or ""
    assert f"at step {run.frames[61].step}" in label and "<s> →" in label
    grid.press("ArrowRight")
    expect(page.locator(".learn-one h2")).to_contain_text("Layer 2, head 2")
    assert grid.get_attribute("aria-activedescendant") == "hs-learn-cross-1-1"


def test_letters_follow_the_slider_without_the_server(context: BrowserContext, server: str) -> None:
    page, run = context.new_page(), recorded_runs("no-mask")[0]
    picture = opened(page, server, "preset=no-mask&step=0")
    page.get_by_test_id("training-run").first.get_by_role("button").first.click()
    context.set_offline(True)
    slider = page.get_by_test_id("training-slider")
    box = slider.bounding_box()
    assert box
    page.mouse.move(box["x"] + 10, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + box["height"] / 2, steps=15)
    page.mouse.up()
    dragged, last = picture.tell("v.shown"), len(run.frames) - 1
    assert int(slider.input_value()) == run.frames[dragged].step and picture.tell("v.player.mode") == "held"
    assert run.frames[dragged].step == pytest.approx(100, abs=15)  # where the pointer is, of 400
    for key, index in (("ArrowLeft", dragged - 1), ("Home", 0), ("ArrowRight", 1), ("End", last)):
        slider.press(key)
        assert picture.tell("v.shown") == index
    for index in (0, 41, last):
        picture.slide(index)
        frame = run.frames[index]
        expect(page.get_by_test_id("training-step")).to_have_text(f"step {frame.step} of 400")
        rows = page.get_by_test_id("training-output").all()
        for row, (source, target), written in zip(rows, run.opening.shown, frame.outputs, strict=True):
            assert source in row.locator("th").inner_text() and row.locator("td").first.inner_text() == target
            expect(row.locator("td").nth(2)).to_contain_text("✓ right" if written == target else "wrong")
        predicted = page.locator(".learn-teacher tr").last.locator("td > span:first-child").all_inner_texts()
        assert predicted == list(frame.predicted)


def test_a_run_plays_is_held_and_a_click_on_a_curve_goes_to_that_step(
    context: BrowserContext, server: str, tmp_path: Path
) -> None:
    page = context.new_page()
    picture = opened(page, server, "preset=no-mask&step=0")
    page.get_by_test_id("training-play").click()
    picture.until("v.player.mode === 'play' && v.shown > 3 && v.shown < 60")
    page.get_by_test_id("training-play").click()
    held = picture.tell("v.shown")
    page.wait_for_timeout(400)
    assert picture.tell("[v.shown, v.player.mode]") == [held, "held"]
    expect(page.get_by_test_id("training-live")).to_be_hidden()  # it has ended
    curve = page.get_by_test_id("training-plot-exact")
    x = picture.tell("v.curves.places.step(200)")
    curve.hover(position={"x": x, "y": 40})
    expect(picture.root.get_by_test_id("tooltip")).to_contain_text(re.compile("step (199|200|201)"))
    curve.click(position={"x": x, "y": 40})
    step = picture.tell("v.run.frames[v.shown].step")
    assert abs(step - 200) <= 10
    expect(curve).to_have_attribute("aria-label", re.compile(rf"at step {step}:"))
    # Without their colours, too, runs are told apart.
    line = curve.locator("path[data-series=exact]").first
    look = "(line, [slot, style]) => { line.dataset.slot = slot; return getComputedStyle(line)[style]; }"
    for style in ("stroke", "strokeDasharray"):
        assert len({line.evaluate(look, [slot, style]) for slot in range(4)}) == 4
    (tmp_path / "large.zip").write_bytes(b"\0" * 16_100_000)
    page.get_by_test_id("training-file-input").set_input_files(tmp_path / "large.zip")
    expect(page.get_by_test_id("training-file")).to_contain_text("large.zip has 16.1 MB; the limit is 16 MB.")


def test_it_plays_by_itself_and_the_link_holds_what_is_seen(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    picture = opened(page, server, "preset=no-mask")
    assert picture.tell("[v.run.id, v.player.mode, v.memory.kind]") == ["recorded-no-mask", "play", "decoder_self"]
    picture.until("v.shown > 3")
    finding = page.get_by_test_id("training-finding")
    expect(finding).to_contain_text("section 3.2.3")
    expect(finding).to_contain_text("At the end (step 400) ✓ as predicted")
    expect(finding).to_contain_text(re.compile("Writing by itself: 0% .with the causal mask: 100%"))

    page.get_by_test_id("training-kind-cross").click()
    page.get_by_test_id("training-rows").select_option("fed")
    page.get_by_test_id("training-grid-cross").focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_test_id("training-run").first.get_by_role("button").click()
    picture.slide(40)
    step = picture.tell("v.run.frames[40].step")
    page.wait_for_url(re.compile(f"step={step}"))
    settled(page)
    values = parse_qs(urlsplit(page.url).query)
    assert values["preset"] == ["no-mask"] and values["run"] == ["1"] and values["kinds"] == ["cross"]
    other = context.new_page()
    again = opened(other, server, urlsplit(page.url).query)
    assert again.tell(PLACE) == picture.tell(PLACE) and other.url == page.url
    assert again.tell("v.shown") == 40
    other.get_by_role("combobox", name="What to train").click()
    other.get_by_role("option", name="Copy", exact=True).click()  # another preset plays from its start
    again.until("v.run.id === 'recorded-copy' && v.player.mode === 'play'")
    assert "step=" not in other.url
    other.close()

    for kind in ("svg", "csv", "head"):
        name, data = saved(page, "training-save", kind)
        assert name.startswith("headscope-training-no-mask-with_the_causal_mask-seed1-") and f"step{step}." in name
        if kind == "svg":
            for text in (f"No causal mask: with the causal mask, seed 1, step {step}", "Exact match"):
                assert text in data.decode()
        else:
            assert ("teacher-forced exact" in data.decode()) is (kind == "csv")


@pytest.mark.parametrize("width, height, query", [(1280, 720, "&big=1"), (390, 844, "")])
def test_the_first_screen_holds_the_point(
    context: BrowserContext, server: str, width: int, height: int, query: str
) -> None:
    page = sized_page(context, width, height)
    opened(page, server, f"preset=no-mask{query}")
    settled(page)
    assert bottom(page, "[data-testid=training-play]") <= height / 2  # above the heads
    below = page.locator(".learn-finding").bounding_box()
    assert below is not None and below["y"] >= bottom(page, ".learn-grids canvas")
    happened = ".learn-finding > :last-child"
    assert bottom(page, happened) <= height and bottom(page, ".learn-grids canvas") <= height
    if width > 1000:
        assert bottom(page, ".learn-finding") <= height
        assert bottom(page, ".learn-curves") <= height and bottom(page, ".learn-one canvas") <= height
    else:
        box = page.locator(".learn-grids canvas").first.bounding_box()
        assert box is not None and box["y"] < height / 2
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= innerWidth + 1")


def test_a_stop_of_a_lesson_begins_at_its_step_with_the_slider_in_sight(context: BrowserContext, server: str) -> None:
    page = sized_page(context, 1280, 720)
    page.context.set_default_timeout(60_000)
    page.goto(f"{server}/?lesson=paper-in-45-minutes&stop=13&big=1")
    page.get_by_text("at all letters, nearly evenly").click()
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.locator(".hs-cover")).to_have_count(0)
    settled(page)
    expect(page.get_by_test_id("training-step")).to_have_text("step 0 of 400")
    for name in ("training-play", "training-slider"):  # below the answered question, above a row of heads
        assert bottom(page, f"[data-testid={name}]") <= 400
    picture = page.locator("[data-testid=training] canvas").first.bounding_box()
    assert picture is not None and picture["y"] <= 500
    # Streamlit may create the next view before it removes this one.
    again = "root => new root.training.constructor(document.createElement('div'), () => {}).asked"
    assert page.get_by_test_id("training").evaluate(again) == {"step": 0}
    page.set_viewport_size({"width": 1440, "height": 900})
    for table in page.locator(".learn-predictions .learn-scroll").all():  # nothing is cut
        assert table.evaluate("table => table.scrollWidth <= table.clientWidth")
