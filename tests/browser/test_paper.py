"""The Paper page in Chromium: its figures and its list open the views, and the session stays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

import transformer
from pages.paper.views import items
from pages.registry import pages
from tests.browser.explorer_page import params_of, plot
from tests.browser.navigation import link_to
from tests.browser.stillness import still


@pytest.fixture
def page(context: BrowserContext, server: str) -> Iterator[Page]:
    page = context.new_page()
    page.goto(f"{server}/paper?source=The+dog+sees+the+cat.")
    page.wait_for_selector("[data-testid=paper] .paper-box")
    yield page
    page.close()


def test_every_box_is_a_link_with_its_sizes_and_every_equation_is_drawn(page: Page) -> None:
    boxes = page.locator("[data-testid=paper] .paper-box")
    assert boxes.evaluate_all("(all) => all.every((one) => one.tagName === 'a' && one.getAttribute('href'))")
    assert boxes.count() == 16 + 11
    equations = page.locator(".st-key-hs-paper-list .katex-display")
    expect(equations).to_have_count(sum(bool(item.equation) for item in items()))
    expect(page.locator(".katex-error")).to_have_count(0)
    # The paper's sizes and those of the open model.
    for name in ("en-de", "sort"):
        config = transformer.load(name).config
        if name != "en-de":
            page.get_by_role("combobox", name="Checkpoint").click()
            page.get_by_role("option", name=name, exact=True).click()
            page.wait_for_function(
                "(name) => new URLSearchParams(location.search).get('checkpoint') === name", arg=name
            )
        first, second = page.get_by_test_id("paper-figure1"), page.get_by_test_id("paper-figure2")
        layers = (f"N = 6, here {config.encoder_layers}", f"N = 6, here {config.decoder_layers}")
        expect(first.locator(".paper-frame + .paper-size")).to_have_text(layers)
        expect(first.get_by_test_id("paper-box-source")).to_contain_text(f"d_model = 512, here {config.d_model}")
        expect(first.get_by_test_id("paper-box-cross")).to_contain_text(f"h = 8, here {config.heads}")
        feed_forward = first.get_by_test_id("paper-box-decoder_feedforward")
        expect(feed_forward).to_contain_text(f"d_ff = 2048, here {config.d_ff}")
        expect(second.get_by_test_id("paper-box-scale")).to_contain_text(f"√d_k = √64, here √{config.d_head}")
        for letter, size in (("Q", "d_k"), ("K", "d_k"), ("V", "d_v")):
            box = second.get_by_test_id(f"paper-box-linear_{letter}")
            expect(box.locator(".paper-size")).to_have_text((f"{size} = 64", f"here {config.d_head}"))
            assert f"{size} = 64, here {config.d_head}" in (box.get_attribute("aria-label") or "")


def test_the_figures_stay_in_sight_while_the_list_is_scrolled(page: Page) -> None:
    last = page.locator(".st-key-hs-paper-list > *").last
    last.scroll_into_view_if_needed()
    expect(last).to_be_in_viewport()
    expect(page.get_by_test_id("paper")).to_be_in_viewport(ratio=0.9)


def test_boxes_open_their_views_and_keep_the_session(page: Page) -> None:
    page.evaluate("window.stays = true")
    for box, path, wanted in (
        ("masked", "/", {"kind": "decoder_self"}),
        ("encoder_attention", "/", {"kind": "encoder_self"}),
        ("source_positions", "/positions", {}),
        ("mask", "/lab", {"part": "leak"}),
        ("concat", "/anatomy", {"step": "concat"}),
    ):
        page.get_by_test_id(f"paper-box-{box}").click()
        page.wait_for_function("(path) => location.pathname === path", arg=path)
        page.wait_for_function(
            "(wanted) => Object.entries(wanted).every(([a, b]) => new URLSearchParams(location.search).get(a) === b)",
            arg=wanted,
        )
        page.wait_for_function(
            "() => new URLSearchParams(location.search).get('source') === 'The dog sees the cat.' && window.stays"
        )
        link_to(page, "Paper").click()
        page.wait_for_selector("[data-testid=paper] .paper-box")


def test_the_papers_own_sentence_opens_with_its_head(page: Page) -> None:
    page.locator(".st-key-hs-paper-figures3to5-1").get_by_role("link").click()
    page.wait_for_selector("[data-testid=explorer][data-drawn]")
    params = params_of(page)
    assert params["source"].startswith("The Law will never be perfect") and params["kind"] == "encoder_self"
    said = page.get_by_test_id("explorer").inner_text()
    assert f"Layer {params['layer']}, head {params['head']}" in said


def test_paper_is_second_in_the_header_and_every_page_is_two_clicks_away(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    page.goto(server)
    page.wait_for_selector("[data-testid=explorer][data-drawn]")
    lead = page.locator(".st-key-hs-heads-lead").get_by_role("link", name="In the paper")
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 844})
        still(page)
        expect(lead).to_be_in_viewport(ratio=1)
        for listed in pages():
            link_to(page, listed.title)  # its menu, if it is in one, is opened by one click
            if listed == pages()[0]:
                folded = page.get_by_test_id("stPopoverBody")
                menu = folded if folded.count() else page.locator(".st-key-hs-page-links")
                assert menu.get_by_role("link").all_inner_texts()[:2] == ["Lessons", "Paper"]
            page.keyboard.press("Escape")
    # On a phone, too, the first head begins in the upper half.
    grid = page.get_by_test_id("grid-cross")
    box = grid.bounding_box()
    assert box and box["y"] + plot(grid)[0]["y"] < 844 / 2
    lead.click()
    page.wait_for_selector("[data-testid=paper] .paper-box")
    assert page.evaluate("location.pathname") == "/paper"
