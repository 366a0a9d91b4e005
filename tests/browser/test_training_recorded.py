"""The recorded runs of the Training page: they play at once, in the first screen, and links and files hold what is
seen."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.live_training_page import settled
from tests.browser.navigation import saved, sized_page
from tests.browser.training_page import Picture

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
