"""A lesson in Chromium: through its stops by keyboard, a prediction, wandering off and back, a sheet on a phone."""

from __future__ import annotations

import re

from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from tests.browser.explorer_page import click_head, params_of, wait_for_params
from tests.browser.navigation import link_to
from tests.browser.stillness import still

LESSON = "attention-in-10-minutes"


def start(page: Page, server: str) -> None:
    page.goto(f"{server}/lessons")
    page.locator(f".st-key-hs-lesson-start-{LESSON} button").click()
    expect(page.locator(".hs-lesson-title")).to_have_text("A model that translates")
    page.wait_for_selector("[data-testid=explorer][data-drawn]")


def is_sheet(panel: Locator) -> bool:
    """At the bottom of a phone, as wide as that, and less than half as high."""
    box = panel.bounding_box()
    wide = box is not None and (box["x"], box["width"]) == (0, 390)
    return box is not None and wide and box["y"] + box["height"] == 844 > 2 * box["height"]


def test_a_person_goes_through_a_lesson_with_the_keyboard(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    start(page, server)
    wait_for_params(page, lesson=LESSON, stop="1", source="Yesterday I bought a new car.")
    page.keyboard.press("Alt+n")
    expect(page.locator(".hs-lesson-title")).to_have_text("Read one row")
    wait_for_params(page, stop="2", cell="2,3")
    # The view stays covered until a prediction is made.
    expect(page.locator(".hs-cover")).to_be_visible()
    expect(page.get_by_test_id("explorer")).not_to_be_visible()
    page.locator(".st-key-hs-lesson-question [role=radiogroup] label").nth(1).click()
    page.get_by_role("button", name="Answer").click()
    expect(page.locator(".hs-lesson-verdict")).to_be_visible()
    expect(page.get_by_test_id("explorer")).to_be_visible()
    page.keyboard.press("Alt+b")
    expect(page.locator(".hs-lesson-title")).to_have_text("A model that translates")
    page.close()


def test_who_presses_another_head_may_answer_with_it_and_go_back(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    page.goto(f"{server}/?lesson={LESSON}&stop=4")
    page.wait_for_selector("[data-testid=explorer][data-drawn]")
    back = page.locator(".st-key-hs-lesson-return")
    expect(back).to_have_count(0)
    click_head(page, "encoder_self", 1, 3)
    wait_for_params(page, layer="2", head="4", lesson=LESSON)
    page.get_by_role("button", name="Answer").click()
    expect(page.locator(".hs-lesson-reveal dd").first).to_have_text("2.4")
    expect(back).to_be_visible()
    back.get_by_role("button").click()
    wait_for_params(page, layer="1", head="1", stop="4")
    expect(back).to_have_count(0)
    # Another page: the lesson comes along.
    link_to(page, "Positions").click()
    expect(page.locator("h1.hs-spoken")).to_have_text("Positions")
    still(page)  # the panel of the page that was left stays until the run has ended
    expect(page.locator(".hs-lesson-title")).to_have_text("Many heads")
    back.get_by_role("button").click()
    page.wait_for_selector("[data-testid=explorer][data-drawn]")
    assert params_of(page)["stop"] == "4"
    page.close()


def test_on_a_phone_a_lesson_is_a_sheet_that_folds(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    late: list[Route] = []
    # Without the code that inserts the app's own style sheets, for a moment.
    page.route(re.compile(r"/static/js/Html\."), lambda route: late.append(route))
    page.goto(f"{server}/?lesson={LESSON}&stop=1")
    panel = page.locator(".st-key-hs-lesson")
    expect(panel).to_be_visible()
    assert late and is_sheet(panel)  # also before that code is there
    for route in late:
        route.continue_()
    page.unroute_all()
    expect(page.locator(".hs-lesson-title")).to_be_visible()
    assert is_sheet(panel)
    panel.get_by_role("button", name="Fold").click()
    folded = page.locator(".st-key-hs-lesson-folded")
    expect(folded).to_be_visible()
    still(page)  # what was in the panel stays until its run has ended
    assert (small := folded.bounding_box()) and small["height"] < 120
    folded.get_by_role("button", name="Show").click()
    expect(panel).to_be_visible()
    assert is_sheet(panel)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()
