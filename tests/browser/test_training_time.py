"""The picture of runs during training, in Chromium: it plays by the browser's clock and requests only new frames."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.training_page import RUNNING, SMALL, Picture
from tests.browser.training_runs import a_run


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def test_the_picture_moves_during_training_and_shows_only_recorded_steps(page: Page, training_page: str) -> None:
    run = a_run(0, SMALL)
    picture = Picture(page, f"{training_page}/?runs=1&rate=60")
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


def test_an_unrelated_rerun_changes_nothing(page: Page, training_page: str) -> None:
    picture = Picture(page, f"{training_page}/?runs=2&lines=1").done()
    picture.slide(50)
    page.get_by_role("button", name="A line of the page").click()
    page.wait_for_timeout(600)
    picture.done()
    assert picture.tell("[v.shown, v.player.mode, v.store.runs.map((run) => run.frames.length)]")[:2] == [50, "held"]


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
    picture = Picture(page, f"{training_page}/?runs=1").done()
    picture.sent.clear()
    page.get_by_test_id("training-play").click()
    picture.until("v.player.mode === 'play' && v.shown > 3 && v.shown < 100")
    page.get_by_test_id("training-play").click()
    held = picture.tell("v.shown")
    page.wait_for_timeout(400)
    assert picture.tell("[v.shown, v.player.mode]") == [held, "held"]
    expect(page.get_by_test_id("training-live")).to_be_hidden()  # it has ended
    assert picture.sent == []


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
