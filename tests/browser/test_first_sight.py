"""The first sight of a sentence: what somebody without a link sees."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.explorer_page import opened, params_of, wait_for_params
from transformer.inference.pretrained import Pretrained

WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture
def first(context: BrowserContext, server: str) -> Page:
    page = context.new_page()
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    page.goto(server)
    page.wait_for_selector("[data-sight=first] [data-testid=sight] path")
    return page


def words(page: Page, side: str) -> list[str]:
    return page.locator(f"[data-testid=sight] text[data-side={side}]").all_text_contents()


def strong(page: Page) -> int:
    """Lines that are not faded."""
    return page.locator("[data-testid=sight] path:not([stroke-opacity='0.06'])").count()


def test_a_visitor_sees_the_translation_and_the_lines_of_one_head(first: Page, model: Pretrained) -> None:
    source = first.locator(".st-key-source input")
    trace = model.trace(source.input_value())
    said = first.get_by_test_id("sight-says")
    assert " ".join(words(first, "target")) == "Der Mann , der mich gestern angerufen hat , ist mein Bruder ."
    assert trace.target_text == "Der Mann, der mich gestern angerufen hat, ist mein Bruder."
    expect(said).to_contain_text("Layer 2, head 6: having read angerufen, it looks at called (1.00)")
    expect(first.locator(".st-key-target")).to_be_hidden()
    expect(first.locator(".hs-seg")).to_be_hidden()
    assert first.locator("button[kind=primary]").all_inner_texts() == ["Start the 10-minute lesson"]
    wait_for_params(first, sight="first")


def test_the_lines_begin_at_the_words_in_the_field(first: Page) -> None:
    field = first.locator(".st-key-source input").bounding_box()
    assert field is not None
    starts = first.eval_on_selector_all(
        "[data-testid=sight] path", "all => all.map(one => one.getPointAtLength(0).matrixTransform(one.getScreenCTM()))"
        ".map(({x, y}) => [x, y])",
    )  # fmt: skip
    assert all(field["x"] < x < field["x"] + field["width"] for x, _ in starts)
    assert all(0 <= y - field["y"] - field["height"] < 30 for _, y in starts)
    assert len({round(x) for x, _ in starts}) == 10  # nine words and the full stop


def test_a_word_that_is_pointed_at_keeps_its_lines(first: Page) -> None:
    every = strong(first)
    first.locator("[data-testid=sight] text[data-side=target]", has_text="mich").hover(force=True)
    expect(first.get_by_test_id("sight-says")).to_contain_text("having read mich, it looks at me")
    assert 0 < strong(first) < every
    first.locator("[data-testid=sight] text[data-side=target]", has_text="mich").click(force=True)
    wait_for_params(first, cell="6,5")


def test_switches_and_numbers_stand_behind_two_buttons(first: Page, context: BrowserContext, server: str) -> None:
    expect(first.locator(".hs-stats")).to_be_hidden()
    first.get_by_test_id("sight-how").click()
    expect(first.locator(".hs-stats")).to_be_visible()
    wait_for_params(first, sight="how")
    first.get_by_test_id("sight-all").click()
    expect(first.locator(".hs-seg")).to_be_visible()
    expect(first.get_by_test_id("sight")).to_be_hidden()
    expect(first.locator(".st-key-target")).to_be_visible()
    again = context.new_page()
    again.goto(server)  # who opened the switches keeps them
    expect(again.locator(".hs-seg")).to_be_visible()
    again.get_by_test_id("sight-first").click()
    expect(again.get_by_test_id("sight")).to_be_visible()
    wait_for_params(again, sight="first")


def test_a_link_of_before_opens_all_of_it(context: BrowserContext, server: str) -> None:
    page = opened(context, server, kind="cross", layer="3", head="3")
    expect(page.get_by_test_id("sight")).to_be_hidden()
    expect(page.locator(".hs-seg")).to_be_visible()
    assert "sight" not in params_of(page)


def test_another_sentence_has_another_finding(first: Page) -> None:
    first.locator(".st-key-source input").fill("Yesterday the old woman bought a small house.")
    expect(first.get_by_test_id("sight-says")).not_to_contain_text("angerufen")
    assert "alte" in words(first, "target")
    first.set_viewport_size(PHONE)  # type: ignore[arg-type]
    expect(first.locator("[data-testid=sight] text[data-side=source]").first).to_have_text("Yesterday")
    boxes = [
        first.locator(f"[data-testid=sight] text[data-side={side}]").first.bounding_box()
        for side in ("source", "target")
    ]
    assert boxes[0] is not None and boxes[1] is not None
    assert boxes[0]["x"] < 195 < boxes[1]["x"]  # in two columns
