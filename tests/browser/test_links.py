"""Links: what a browser goes back to, short links, and big text, which stays with its viewer."""

import re

from playwright.sync_api import BrowserContext, expect

from pages.frame.examples import examples
from tests.browser.explorer_page import SENTENCE, opened, params_of, wait_for_params
from tests.browser.navigation import opened_at
from tests.browser.stillness import still
from transformer.inference.pretrained import Pretrained


def test_back_and_forward_go_through_what_was_looked_at(context: BrowserContext, server: str) -> None:
    page = opened(context, server, kind="cross", layer="1", head="1")
    source, explorer = page.get_by_label(re.compile("Source · English")), page.get_by_test_id("explorer")
    moment = "Promise.all([1, 2].map(() => new Promise((done) => setTimeout(done, 1600))))"  # as streamlit.js: MOMENT
    page.evaluate(moment)
    page.get_by_test_id("kind-encoder_self").click()
    wait_for_params(page, kind="encoder_self")
    page.evaluate(moment)
    source.fill("The cat sleeps.")
    page.keyboard.press("Enter")
    wait_for_params(page, source="The cat sleeps.")
    still(page)
    page.go_back()
    expect(source).to_have_value(SENTENCE)
    expect(explorer).to_have_attribute("data-kind", "encoder_self")
    page.go_back()
    expect(explorer).to_have_attribute("data-kind", "cross")
    page.go_forward()
    page.go_forward()
    expect(source).to_have_value("The cat sleeps.")
    wait_for_params(page, source="The cat sleeps.", kind="encoder_self")


def test_a_short_link_opens_the_same_view_elsewhere(
    context: BrowserContext, visitor: BrowserContext, server: str
) -> None:
    page = opened(context, server, kind="decoder_self", layer="2", head="3", view="lines")
    page.get_by_role("button", name="Link", exact=True).click()
    page.get_by_role("button", name="Short link").click()
    short = page.get_by_text(re.compile(r"\?s=[a-z2-7]{6}$"))
    code = short.inner_text().partition("?")[2]
    page.get_by_role("button", name="QR code").click()
    expect(page.get_by_role("img", name="QR code of the link")).to_be_visible()
    other = opened_at(visitor, f"{server}/?{code}")
    wait_for_params(other, kind="decoder_self")
    assert params_of(other) == params_of(page)
    other.goto(f"{server}/?s=aaaaaa")
    expect(other.locator(".hs-message")).to_contain_text("This server does not know the short link 'aaaaaa'")


def test_big_text_stays_with_its_viewer(context: BrowserContext, visitor: BrowserContext, server: str) -> None:
    page = opened(context, server)
    page.get_by_role("button", name="Aa").click()
    explorer = page.get_by_test_id("explorer")
    expect(explorer).to_have_attribute("data-big", "")
    still(page)
    assert "big" not in params_of(page)
    page.reload()
    expect(explorer).to_have_attribute("data-big", "")
    other = opened_at(visitor, page.url)
    expect(other.get_by_test_id("explorer")).not_to_have_attribute("data-big", "")


def test_an_example_chosen_on_a_page_without_a_sentence_opens_on_heads(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    page = context.new_page()
    page.goto(f"{server}/model")
    example = examples(model)[2]
    page.get_by_role("button", name="Examples").click()
    page.get_by_role("button", name=example.title, exact=True).click()
    page.wait_for_selector("[data-drawn]")
    expect(page.get_by_label(re.compile("Source · English"))).to_have_value(example.source)
    expect(page.locator("h1")).to_have_text("Heads")


def test_a_menu_of_pages_opens_by_keys_and_its_links_open_tabs_too(context: BrowserContext, server: str) -> None:
    page = opened_at(context, server, "[data-testid=explorer][data-drawn]")
    menu = page.locator(".hs-pages-wide summary").filter(has_text="Explore")
    link = page.locator(".hs-pages-wide").get_by_role("link", name="Head roles")
    menu.click()
    expect(link).to_be_visible()
    page.keyboard.press("Escape")
    expect(link).to_be_hidden()
    menu.focus()
    page.keyboard.press("Enter")
    expect(link).to_be_visible()
    with context.expect_page() as opened:
        link.click(modifiers=["ControlOrMeta"])
    expect(opened.value.locator("h1")).to_have_text("Head roles")
    expect(page.locator("h1")).to_have_text("Heads")  # which stays
    opened.value.close()
    page.locator(".hs-pages-wide summary").filter(has_text="Study").click()
    expect(page.get_by_role("link", name="Results", exact=True)).to_be_visible()
    expect(link).to_be_hidden()
