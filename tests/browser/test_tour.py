"""The main ways through the app, in one sitting: every page once, a sentence, a head, a switch, a training."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pages.registry import pages
from tests.browser.accessibility import HELP, WIDER
from tests.browser.canvas import click_tile
from tests.browser.explorer_page import SENTENCE, click_head, exact, hover, wait_for_params, weight_in
from tests.browser.live_training_page import press_train, settled, stage
from tests.browser.navigation import link_to
from tests.browser.stillness import still
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions


def visit(page: Page, title: str) -> None:
    link_to(page, title).click()
    expect(page.locator("h1")).to_have_text(title)
    group = next(entry.group for entry in pages() if entry.title == title)
    expect(page.locator(".st-key-hs-header")).to_contain_text(f"{group}: {title}" if group else title)
    still(page)


def test_a_person_visits_every_page_and_uses_the_main_ones(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    page = context.new_page()
    page.add_init_script(HELP)
    titles = {entry.name: entry.title for entry in pages()}

    # Heads: type a sentence, choose a head, read a weight.
    page.goto(server)
    page.wait_for_selector("[data-drawn]")
    page.get_by_test_id("sight-all").click()
    page.get_by_label(re.compile("Source · English")).fill(SENTENCE)
    page.keyboard.press("Enter")
    wait_for_params(page, source=SENTENCE)
    trace = model.trace(SENTENCE)
    page.wait_for_selector(f'[data-drawn^="{trace.id}"]')
    page.get_by_test_id("kind-cross").click()
    click_head(page, "cross", 2, 4)
    wait_for_params(page, layer="3", head="5")
    exact(page)
    weight = weight_in(hover(page, "cross", 1, 0))
    assert weight == pytest.approx(float(trace.cross.weights[2, 4, 1, 0]), abs=0.5001e-4)

    # Lab: the same head knocked out, as Python computes it.
    visit(page, titles["lab"])
    page.get_by_test_id("lab-cards").click()
    page.get_by_test_id("knock").click()
    click_tile(page.get_by_test_id("lab-grid-after"), 2, 4)
    wait_for_params(page, zero="cross.3.5")
    switched = model.trace(SENTENCE, interventions=Interventions.parse("zero=cross.3.5"))
    assert switched.id != trace.id
    page.get_by_test_id("knock-clear").click()
    wait_for_params(page, zero=None)

    # Every other page on a projector, in big text: its heading, nothing cut off, and no error.
    page.set_viewport_size({"width": 1280, "height": 720})
    page.get_by_role("button", name="Aa", exact=True).click()
    page.wait_for_function("() => getComputedStyle(document.documentElement).getPropertyValue('--hs-scale') === '1.3'")
    for name in titles:
        if name not in ("heads", "lab", "training"):
            visit(page, titles[name])
            assert page.evaluate(WIDER) <= 0 and page.evaluate("hsOutside()") == [], name
            assert page.locator("[data-testid=stException]").count() == 0
            assert page.locator(".hs-message.hs-error").count() == 0

    # Training: a short one, to its end.
    visit(page, titles["training"])
    page.goto(page.url + "&steps=20")
    page.wait_for_selector(".st-key-training_train")
    settled(page)
    press_train(page)
    stage(page, "done")
