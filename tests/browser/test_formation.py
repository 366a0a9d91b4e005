"""The slider over the training of the bundled model, in Chromium: it draws the recorded bytes."""

import csv
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.canvas import cell, colours, in_tile, plot, recorded
from tests.browser.explorer_page import exact, wait_for_params
from tests.browser.navigation import opened_at, saved
from tests.support.server import ROOT
from transformer.training.recording import Recording

SENTENCE = "The man who called me yesterday is my brother."
STEPS = (0, 1, 3, 8, 23, 66, 190, 542, 904, 2744, 8031, 21810, 22110, 29230)
# Every stop, one after the other, without a pause in which a server could answer; what the picture shows after each.
DRAG = """(range, explorer) => {
  const steps = [];
  for (let at = 0; at <= Number(range.max); at++) {
    range.value = at;
    range.dispatchEvent(new Event("input"));
    steps.push(explorer.dataset.training);
  }
  return steps;
}"""


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Recording.from_file(ROOT / "checkpoints" / "en-de" / "learning.npz")


def opened(context: BrowserContext, server: str, **params: str) -> Page:
    return opened_at(context, f"{server}/", **{"source": SENTENCE, **params})


def slider(page: Page) -> Locator:
    return page.get_by_test_id("formation-slider")


def shows(page: Page, step: int | None) -> None:
    """Wait until the picture shows this recorded step; None: the trace itself."""
    expect(page.get_by_test_id("explorer")).to_have_attribute("data-training", "" if step is None else str(step))


@pytest.mark.parametrize("kind", ["cross", "encoder_self"])
def test_every_stop_draws_exactly_what_was_recorded(
    context: BrowserContext, server: str, recording: Recording, kind: str
) -> None:
    page = opened(context, server, kind=kind, training="0")
    shows(page, 0)
    page.mouse.move(5, 5)
    slider(page).focus()
    assert recording.steps == STEPS
    wanted, grid = recording.weights[kind][0], page.get_by_test_id(f"grid-{kind}")  # [step, layer, head, query, key]
    tiles = [one for one in plot(grid) if "all" not in (one["layer"], one["head"])]
    places = [place for one in tiles for place in in_tile(one, *wanted.shape[3:])]
    for at, step in enumerate(STEPS):
        if at:
            page.keyboard.press("ArrowRight")
        shows(page, step)
        assert np.abs(colours(grid, places) - recorded(wanted[at], kind)).max() <= 1, step


def test_a_recorded_head_shows_its_numbers_and_their_precision(
    context: BrowserContext, server: str, recording: Recording
) -> None:
    step = 2744
    page = opened(context, server, kind="cross", layer="3", head="7", training=str(step))
    shows(page, step)
    wanted = recording.weights["cross"][0][STEPS.index(step), 2, 6]
    name, content = saved(page, "save", "csv")
    assert name == f"headscope-en-de-cross-layer3-head7-step{step}.csv"
    lines = list(csv.reader(content.decode("utf-8-sig").splitlines()))
    numbers = np.array([[float(field) for field in line[1:]] for line in lines[1:]])
    assert np.array_equal((numbers * 255).round(), wanted)
    head = page.get_by_test_id("head-cross")
    head.click(position=cell(head, 6, 3))  # angerufen -> called
    for place, more in (("tooltip", "recorded in 8 bits"), ("cell", "without q and k")):
        told = page.get_by_test_id("explorer").get_by_test_id(place)
        expect(told).to_contain_text(f"≈ {wanted[6, 3] / 255:.2f}")
        expect(told).to_contain_text(more)
    expect(page.get_by_test_id("recorded")).to_be_visible()
    expect(page.get_by_test_id("badge-recomputed")).to_have_count(0)
    expect(page.get_by_test_id("chips")).to_contain_text("Recorded on")


def test_a_person_opens_the_slider_plays_it_and_goes_back(
    context: BrowserContext, server: str, recording: Recording
) -> None:
    page = opened(context, server, kind="cross", layer="3", head="7")
    shows(page, None)
    exact(page)
    page.get_by_test_id("formation-open-close").click()
    shows(page, 0)
    wait_for_params(page, training="0")
    play = page.get_by_test_id("formation-play")
    expect(play).to_be_focused()
    status = page.get_by_test_id("formation-now")
    expect(status).to_contain_text("Step 0, random weights")
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    explorer = page.get_by_test_id("explorer").element_handle()
    assert slider(page).evaluate(DRAG, explorer) == [str(step) for step in STEPS]
    wait_for_params(page, training="29230")
    page.keyboard.press("Enter")  # plays from the beginning
    expect(status).to_contain_text("Step 1 of 29,230")
    expect(play).to_contain_text("Pause")
    expect(status).to_contain_text("Step 8 of 29,230")
    page.keyboard.press("Enter")
    expect(play).to_contain_text("Play")
    slider(page).focus()
    page.keyboard.press("End")
    for _step in STEPS[11:]:
        page.keyboard.press("ArrowLeft")
    shows(page, 8031)
    score = recording.scores[10]
    numbers = f"BLEU {score['bleu']:.1f}, loss {score['loss']:.2f}"
    spoken = f"Step 8,031 of 29,230: {numbers}, output {recording.translations[10][0]}"
    expect(slider(page)).to_have_attribute("aria-valuetext", spoken)
    play.press("Enter")  # to the end, and there it stops
    expect(status).to_contain_text("Step 29,230, the trained model", timeout=10_000)
    expect(play).to_contain_text("Play")
    wait_for_params(page, training="29230")
    page.get_by_test_id("formation-back").click()
    shows(page, None)
    exact(page)
    expect(slider(page)).to_have_count(0)
    wait_for_params(page, training=None)


def test_the_link_holds_the_recorded_step(context: BrowserContext, server: str) -> None:
    page = opened(context, server, kind="encoder_self", layer="1", head="7", training="2744", view="lines")
    shows(page, 2744)
    expect(slider(page)).to_have_value("9")
    expect(page.get_by_test_id("habit-previous")).to_have_text("on the previous token 99%")
    slider(page).press("ArrowLeft")
    expect(page.get_by_test_id("habit-previous")).to_have_text("on the previous token 42%")
    wait_for_params(page, training="904", view="lines", layer="1", head="7")
    again = opened_at(context, page.url, "[data-testid=lines-encoder_self]")
    shows(again, 904)


def test_a_milestone_leads_to_its_step_and_head(context: BrowserContext, server: str) -> None:
    page = opened(context, server, kind="decoder_self", training="0")
    shows(page, 0)
    mark = page.get_by_test_id("formation-aligned_out-cross")
    for text in ("190–542", "Cross L4 H5 aligns the token predicted"):
        expect(mark).to_contain_text(text)
    mark.click()
    shows(page, 542)
    expect(page.get_by_test_id("habit-aligned_out")).to_have_text("on the source word of the token predicted 61%")
    wait_for_params(page, kind="cross", layer="4", head="5", training="542")
    page.get_by_test_id("formation-previous-encoder_self").hover()
    tip = page.get_by_test_id("formation").get_by_test_id("tooltip")
    expect(tip).to_contain_text("161 rows can see such a token")


def test_the_slider_works_on_a_phone(another: Callable[..., BrowserContext], server: str) -> None:
    context = another(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, color_scheme="dark")
    page = opened(context, server, training="0")
    shows(page, 0)
    page.get_by_test_id("formation-next-encoder_self").tap()
    shows(page, 2744)
    wait_for_params(page, kind="encoder_self", training="2744")
    main = "document.querySelector('[data-testid=stMain]')"
    assert page.evaluate(f"{main}.scrollWidth - {main}.clientWidth") <= 0
    box = slider(page).bounding_box()
    assert box and box["width"] > 300 and box["height"] >= 24
    # The slider stays in sight above the heads.
    page.get_by_test_id("grid-encoder_self").scroll_into_view_if_needed()
    page.evaluate(f"{main}.scrollTop = 650")
    expect(slider(page)).to_be_in_viewport()
    expect(page.get_by_test_id("grid-encoder_self")).to_be_in_viewport()
