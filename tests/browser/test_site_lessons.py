"""Lessons on the site without a server: covered until answered, asked again for what one types, kept for the visit."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

import transformer
from tests.browser.accessibility import WIDER, findings
from tests.browser.explorer_page import params_of, wait_for_params
from tests.browser.test_site import opened
from tests.support.server import hosted
from transformer.lessons import Computed
from transformer.web.site import write_site

LESSON = "attention-in-10-minutes"
SENTENCE = "The dog sees the cat."


@pytest.fixture(scope="module")
def site(browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site with the model of the lessons."""
    folder = tmp_path_factory.mktemp("host")
    write_site(folder, [transformer.load("en-de")], ["en"])
    with hosted(folder) as address:
        yield address


def answer(page: Page, option: str) -> None:
    page.locator(".hs-lesson-question form").get_by_text(option, exact=True).click()
    page.get_by_test_id("lesson-answer").click()


def test_a_person_goes_through_a_lesson(silent: BrowserContext, site: str) -> None:
    model = transformer.load("en-de")
    right = Computed("largest_key", {"kind": "cross", "layer": 3, "head": 2, "row": 1})
    page = opened(silent, f"{site}lessons/")
    page.get_by_test_id(f"lesson-start-{LESSON}").click()
    title, cover = page.get_by_test_id("lesson-title"), page.locator(".hs-cover")
    expect(title).to_have_text("A model that translates")
    wait_for_params(page, lesson=LESSON, stop="1", source="The children are playing in the garden.")
    page.keyboard.press("Alt+n")
    expect(title).to_have_text("Read one row")
    expect(cover).to_be_visible()
    expect(page.locator(".hs-page")).not_to_be_visible()
    expect(page.locator(".hs-lesson-output li").nth(1)).to_have_text("habehave")  # with its meaning
    wait_for_params(page, stop="2", cell="2,3")
    answer(page, "I")
    expect(page.locator(".hs-mine span, .hs-right span")).to_have_text(["I", "bought"])
    expect(page.locator(".hs-lesson-verdict")).to_contain_text("Not this time.")
    expect(cover).to_have_count(0)
    expect(page.get_by_test_id("explorer")).to_be_visible()

    page.get_by_test_id("lesson-next").click()
    expect(title).to_have_text("Your own sentence")
    expect(cover).to_be_visible()
    expect(page.get_by_test_id("source")).to_be_hidden()
    answer(page, "In")
    expect(page.locator(".hs-lesson-verdict")).to_contain_text("Right.")
    page.get_by_test_id("source").fill(SENTENCE)  # is asked about again, and covers nothing
    trace = model.trace(SENTENCE)
    expect(page.locator(".hs-lesson-wall form label")).to_have_text(list(dict.fromkeys(trace.source_labels)))
    expect(cover).to_have_count(0)
    answer(page, str(right.answer(model, trace)))
    expect(page.locator(".hs-lesson-verdict")).to_contain_text("Right.")

    page.get_by_test_id("lesson-return").click()
    wait_for_params(page, stop="3", source="In summer we swim in the lake.")
    page.reload()
    page.locator(".hs-lesson-stops summary").click()
    expect(page.get_by_test_id("lesson-stop-2")).to_have_text("2. Read one row ✓ answered")
    page.get_by_test_id("lesson-leave").click()
    expect(page.locator(".hs-lesson-answers")).to_contain_text("You answered 2 of 4 questions, 1 of them right.")
    assert "lesson" not in params_of(page)


def test_a_lesson_that_cannot_be_loaded_does_not_close_the_site(context: BrowserContext, site: str) -> None:
    page = opened(context, site)
    for name in ("Lab", "Lessons"):
        page.get_by_role("link", name=name, exact=True).click()
    start = page.get_by_test_id(f"lesson-start-{LESSON}")
    expect(start).to_be_visible()
    context.set_offline(True)
    start.click()
    said = page.get_by_test_id("messages")
    expect(said).to_contain_text("could be loaded")
    page.get_by_role("link", name="Lab", exact=True).click()
    expect(page.get_by_test_id("lab")).to_be_visible()
    context.set_offline(False)
    said.get_by_role("button", name="Try again").click()
    expect(page.get_by_test_id("lesson-title")).to_be_visible()


def test_on_a_phone_the_lesson_is_a_sheet(context: BrowserContext, site: str) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}?lesson={LESSON}&stop=2")
    expect(page.locator(".hs-lesson-wall form")).to_be_visible(timeout=30_000)
    answer(page, "bought")
    expect(page.locator(".hs-lesson-verdict")).to_be_in_viewport()
    box = page.locator(".hs-lesson").bounding_box()
    assert box is not None and (box["x"], box["width"]) == (0, 390)
    assert box["y"] + box["height"] == 844 > 2 * box["height"]
    assert page.evaluate(WIDER) == 0 and findings(page) == []
