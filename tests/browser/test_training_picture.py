"""The picture of runs during training, in Chromium: it shows exactly what was recorded, as time goes by."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.training_page import RUNNING, SMALL, Picture, enlarged, expected, tile
from tests.browser.training_runs import MadeUp, a_run
from transformer.tracing.trace import KINDS


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.mark.parametrize("number", [0, 1])
def test_every_head_at_every_step_shows_the_recorded_weights(page: Page, training_page: str, number: int) -> None:
    """Cell by cell: all heads of all kinds at steps from the first to the last, with a mask and without; and the chosen
    head once more, enlarged."""
    run = a_run(number, SMALL)
    picture = Picture(page, f"{training_page}/?runs={number + 1}").done()
    if number:
        page.get_by_test_id("training-run").nth(1).get_by_role("button").first.click()
    last = len(run.every) - 1
    for index in (0, 1, last // 2, last):
        picture.slide(index)
        for kind, layer, head in itertools.product(KINDS, range(2), range(4)):
            colours = tile(picture, kind, layer, head, 11)
            far = np.abs(colours - expected(run, index, kind, layer, head)).max()
            assert far <= 1, (index, kind, layer, head)
    for kind in KINDS:
        grid = page.get_by_test_id(f"training-grid-{kind}")
        area = json.loads(grid.get_attribute("data-plot") or "")[6]  # layer 2, head 3
        grid.click(position={"x": area["x"] + area["w"] / 2, "y": area["y"] + area["h"] / 2})
        expect(page.locator(".learn-one h2")).to_contain_text("Layer 2, head 3")
        visible = np.tri(11) if run.experiment.causal and kind == "decoder_self" else np.ones((11, 11))  # no hatching
        for index in (3, 90):
            picture.slide(index)
            far = np.abs(enlarged(page.get_by_test_id("training-head")) - expected(run, index, kind, 1, 2))
            assert far[visible.astype(bool).ravel()].max() <= 1, (index, kind)


def test_pointer_and_arrow_keys_show_the_value_of_a_cell(page: Page, training_page: str) -> None:
    run = a_run(0, SMALL)
    picture = Picture(page, f"{training_page}/?runs=1").done()
    picture.slide(60)
    head = page.get_by_test_id("training-head")
    plot = json.loads(head.get_attribute("data-plot") or "")
    matrices = [run.every[index].attention(run.opening)["cross"][1, 0] for index in (60, 61)]
    head.hover(position={"x": plot["left"] + plot["cw"] * 3.5, "y": plot["top"] + plot["ch"] * 4.5})
    expect(picture.root.get_by_test_id("tooltip")).to_contain_text(f"≈ {matrices[0][4, 3] / 255:.2f}")
    head.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):  # the first key chooses a cell
        head.press(key)
    row, column = run.opening.target_out[1], run.opening.source_tokens[1]
    for index, matrix in zip((60, 61), matrices, strict=True):
        picture.slide(index)
        value_text = f"{row} → {column}: ≈ {matrix[1, 1] / 255:.2f} at step {run.every[index].step}"
        expect(page.get_by_test_id("training-cell")).to_have_text(value_text)
    page.get_by_test_id("training-rows").select_option("fed")
    label = head.get_attribute("aria-label") or ""
    assert f"at step {run.every[61].step}" in label and "<s> →" in label
    grid = page.get_by_test_id("training-grid-cross")
    grid.focus()
    grid.press("ArrowRight")
    expect(page.locator(".learn-one h2")).to_contain_text("Layer 2, head 2")
    assert grid.get_attribute("aria-activedescendant") == "hs-learn-cross-1-1"


def test_numbers_and_letters_follow_the_slider_without_the_server(page: Page, training_page: str) -> None:
    run = a_run(0, SMALL)
    picture = Picture(page, f"{training_page}/?runs=1").done()
    picture.sent.clear()
    slider = page.get_by_test_id("training-slider")
    box = slider.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + box["height"] / 2, steps=15)
    page.mouse.up()
    dragged = picture.tell("v.shown")
    assert int(slider.input_value()) == run.every[dragged].step and picture.tell("v.player.mode") == "held"
    assert run.every[dragged].step == pytest.approx(100, abs=15)  # where the pointer is, of 400
    for key, index in (("ArrowLeft", dragged - 1), ("Home", 0), ("ArrowRight", 1), ("End", len(run.every) - 1)):
        slider.press(key)
        assert picture.tell("v.shown") == index
    for index in (0, 41, len(run.every) - 1):
        picture.slide(index)
        frame = run.every[index]
        expect(page.get_by_test_id("training-step")).to_have_text(f"step {frame.step} of 400")
        measured = next(one for one in reversed(run.every[: index + 1]) if one.exact is not None)
        shares = [f"{100 * getattr(measured, name):.1f}".removesuffix(".0") + "%" for name in ("exact", "forced")]
        expect(page.get_by_test_id("training-values-exact")).to_have_text(" / ".join(shares))
        unseen = f"{measured.validation_loss:.{4 if measured.validation_loss < 0.0995 else 3}f} / "  # type: ignore[operator]
        assert page.get_by_test_id("training-values-loss").inner_text().startswith(unseen)
        check_outputs(page, run, index, 0)
        predicted = page.locator(".learn-teacher tr").last.locator("td > span:first-child").all_inner_texts()
        assert predicted == list(frame.predicted)
        assert picture.tell("v.curves.plots[0].cursor.getAttribute('transform')") == picture.tell(
            f"`translate(${{v.curves.places.step({frame.step}).toFixed(1)}} 0)`"
        )
    assert picture.sent == []


def check_outputs(page: Page, run: MadeUp, index: int, column: int) -> None:
    """What the run wrote for each input, in this column of runs: its letters, and which are wrong."""
    for i, ((source, target), written) in enumerate(zip(run.opening.shown, run.every[index].outputs, strict=True)):
        row = page.get_by_test_id("training-output").nth(i)
        cell = row.locator("td").nth(1 + 2 * column)
        assert source in row.locator("th").inner_text() and row.locator("td").first.inner_text() == target
        assert cell.locator(".learn-letters > span").first.inner_text().strip() == written
        wrong = sum(a != b for a, b in zip(written, target, strict=True))
        assert cell.locator(".learn-wrong").count() == wrong
        if not column:
            expect(row.locator("td").nth(2)).to_have_text(f"✗ {wrong} of {len(target)} wrong" if wrong else "✓ right")


def test_four_runs_look_different_and_stand_side_by_side(page: Page, training_page: str) -> None:
    """Their curves, the same head of each, what the paper predicts, and the outputs of those with the same inputs."""
    picture = Picture(page, f"{training_page}/?runs=4").done()
    lines = page.locator(".learn-svg[data-testid=training-plot-exact] path[data-series=exact]")
    marks = page.get_by_test_id("training-run").locator(".learn-mark")
    looks = (
        (lines, "one => getComputedStyle(one).strokeDasharray + getComputedStyle(one).stroke"),
        (lines, "one => getComputedStyle(one).strokeDasharray"),
        (marks, "one => one.tagName + one.getAttribute('transform')"),  # without colours, too
    )
    assert [len(set(found.evaluate_all(f"all => all.map({look})"))) for found, look in looks] == [4, 4, 4]
    picture.slide(70)
    step = a_run(0, SMALL).every[70].step
    page.get_by_test_id("training-same").scroll_into_view_if_needed()
    heads = page.locator(".learn-same-one")
    assert heads.count() == 4
    for i, name in enumerate(("Baseline", "no causal mask", "no positions", "one head")):
        expect(heads.nth(i)).to_contain_text(f"{name}, step {step}")
        wanted = expected(a_run(i, SMALL), 70, "cross", 1, 0)
        assert np.abs(enlarged(heads.nth(i).get_by_test_id("training-same-head")) - wanted).max() <= 1, name
    rows = page.get_by_test_id("training-findings").locator("tbody tr")
    assert rows.count() == 4
    expect(rows.nth(2)).to_contain_text("not in this run")
    expect(rows.nth(2)).to_contain_text("<b>reverse</b>")  # text stays text
    assert rows.nth(2).locator("b").count() == 0
    outputs = page.locator(".learn-outputs thead")
    expect(outputs).to_contain_text("no causal mask")
    expect(outputs).not_to_contain_text("no positions")  # on other inputs
    for number in (0, 1):
        check_outputs(page, a_run(number, SMALL), 70, number)
    page.get_by_test_id("training-run").nth(2).get_by_role("button").first.click()
    expect(outputs).to_contain_text("one head")
    expect(outputs).not_to_contain_text("no causal mask")


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


# -- while it trains: it plays by the browser's clock and requests only new frames -------------------------------------


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_the_picture_moves_during_training_and_shows_only_recorded_steps(
    page: Page, training_page: str, motion: Literal["no-preference", "reduce"]
) -> None:
    page.emulate_media(reduced_motion=motion)
    run = a_run(0, SMALL)
    picture = Picture(page, f"{training_page}/?runs=1&rate=60")
    code = "(() => { v.seen = []; const draw = v.drawFrame.bind(v); "
    code += "v.drawFrame = (...given) => { draw(...given); v.seen.push(v.shown); }; return v.store.runs[0].last; })()"
    begun = picture.tell(code)
    picture.done()
    seen, asks = picture.tell("v.seen"), picture.log()["asks"]
    assert seen == sorted(seen) and seen[-1] == len(run.every) - 1
    if motion == "reduce":
        assert len(set(seen)) < 20  # of 128 frames
    else:
        assert len(set(seen)) > asks + 10  # more pictures than answers: frames of one answer are spread
        assert len(set(seen)) > (len(run.every) - begun) * 0.5
    assert picture.tell("v.store.runs[0].frames.map((frame) => frame.step)") == list(run.opening.recorded)
    assert "all 400 steps done" in picture.cards()[0]


def test_the_picture_polls_only_while_a_run_trains_or_waits(page: Page, training_page: str) -> None:
    picture = Picture(page, f"{training_page}/?runs=2").done()
    picture.sent.clear()
    page.wait_for_timeout(4000)
    assert picture.sent == []
    page.goto(f"{training_page}/?runs=2&line=1")
    expect(page.get_by_test_id("training-run").nth(1)).to_contain_text("2nd of 3 waiting")
    assert picture.tell("v.run.id") == "000000000000"  # what is looked at is what has frames
    picture.sent.clear()
    page.wait_for_timeout(2000)
    assert picture.sent  # somebody may begin to train at any time


def test_a_viewer_who_returns_sees_every_frame_of_a_run_that_went_on(page: Page, training_page: str) -> None:
    picture = Picture(page, f"{training_page}/?runs=1&rate=30")
    picture.until("v.store.runs[0].frames.length > 30")
    page.get_by_text("Away").click()
    expect(picture.root).to_have_count(0)
    page.wait_for_timeout(500)
    page.get_by_text("Away").click()
    picture.until("v.store.runs[0].frames.length > 40")
    picture.done()
    assert picture.tell("v.store.runs[0].frames.map((frame) => frame.step)") == list(a_run(0, SMALL).opening.recorded)


def test_commands_reach_the_page(page: Page, training_page: str) -> None:
    picture = Picture(page, f"{training_page}/?runs=2&rate=20")
    first = page.get_by_test_id("training-run").first
    first.get_by_role("button", name="Baseline: pause").click()
    expect(first).to_contain_text("paused at step")
    first.get_by_role("button", name="Baseline: resume").click()
    first.get_by_role("button", name="Baseline: stop").click()
    expect(first).to_contain_text("stopped at step")
    second = page.get_by_test_id("training-run").nth(1)
    second.get_by_role("button", name="no causal mask: stop").click()
    picture.done()
    second.get_by_role("button", name="train again with seed 3").click()
    second.get_by_role("button", name="remove").click()
    expect(page.get_by_test_id("training-run")).to_have_count(1)
    page.wait_for_selector(RUNNING, state="detached")
    first, second = "000000000000", "000000000001"
    assert picture.log()["log"] == [
        [first, "pause"], [first, "go"], [first, "stop"], [second, "stop"], [second, "again"], [second, "remove"]
    ]  # fmt: skip


def test_a_run_plays_from_the_start_and_can_be_held(page: Page, training_page: str) -> None:
    """Whatever else of the page is used."""
    picture = Picture(page, f"{training_page}/?runs=1&lines=1").done()
    picture.sent.clear()
    page.get_by_test_id("training-play").click()
    picture.until("v.player.mode === 'play' && v.shown > 3 && v.shown < 100")
    page.get_by_test_id("training-play").click()
    held = picture.tell("v.shown")
    page.wait_for_timeout(400)
    assert picture.tell("[v.shown, v.player.mode]") == [held, "held"]
    expect(page.get_by_test_id("training-live")).to_be_hidden()  # it has ended
    assert picture.sent == []
    page.get_by_role("button", name="A line of the page").click()
    page.wait_for_timeout(600)
    picture.done()
    assert picture.tell("[v.shown, v.player.mode]") == [held, "held"]


def test_a_file_is_sent_to_the_page_and_a_large_one_is_refused(page: Page, training_page: str, tmp_path: Path) -> None:
    picture = Picture(page, f"{training_page}/?runs=1").done()
    place = page.get_by_test_id("training-file-input")
    place.set_input_files({"name": "my <b>model.zip", "mimeType": "application/zip", "buffer": bytes(range(256)) * 40})
    expect(page.get_by_test_id("stText").last).to_have_text("file: my <b>model.zip, 10240 bytes")
    page.wait_for_selector(RUNNING, state="detached")
    picture.sent.clear()
    (tmp_path / "large.zip").write_bytes(b"\0" * 16_100_000)
    place.set_input_files(tmp_path / "large.zip")
    expect(page.get_by_test_id("training-file")).to_contain_text("large.zip has 16.1 MB; the limit is 16 MB.")
    assert picture.sent == []
