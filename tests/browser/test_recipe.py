"""The Training recipe page in Chromium."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.explorer_page import wait_for_params
from tests.browser.navigation import sized_page
from tests.browser.stillness import still


@pytest.mark.parametrize(
    "part, label, value, param",
    [
        ("dropout", "P_drop", "0.4", "p_drop"),
        ("smoothing", "Label smoothing ε", "0.3", "epsilon"),
    ],
)
def test_a_number_changes_the_point_and_the_picture(
    context: BrowserContext, server: str, part: str, label: str, value: str, param: str
) -> None:
    page = context.new_page()
    page.goto(f"{server}/recipe?part={part}&source=The+dog+sees+the+cat.")
    point = page.locator(".hs-point")
    expect(page.locator("[data-testid=figure] .main-svg").first).to_be_attached()
    before = point.inner_text()
    field = page.get_by_role("spinbutton", name=label, exact=True)
    field.fill(value)
    field.press("Enter")
    wait_for_params(page, **{param: value})
    expect(point).not_to_have_text(before, use_inner_text=True)
    page.close()


def test_a_batch_shows_its_padding_and_another_order_more_of_it(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    page.goto(f"{server}/recipe?part=batches")
    pads = page.locator(".hs-batch .hs-pad")
    expect(pads.first).to_be_visible()
    page.get_by_text("random order", exact=True).click()
    wait_for_params(page, order="random")
    expect(page.locator(".hs-batch")).to_have_count(2)
    page.close()


def test_a_slider_moves_the_rate(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    page.goto(f"{server}/recipe?part=rate")
    line = page.locator("[data-testid=figure] .scatterlayer .js-line").first
    expect(line).to_be_attached()
    before = line.get_attribute("d") or ""
    slider = page.get_by_role("slider", name="Warm-up")
    slider.focus()
    slider.press("ArrowLeft")
    wait_for_params(page, warmup="3900")
    expect(line).not_to_have_attribute("d", before)
    page.close()


@pytest.mark.parametrize("part, option", [("rate", "warmup"), ("dropout", "p_drop"), ("smoothing", "epsilon")])
def test_on_a_phone_a_control_is_seen_with_its_picture(
    context: BrowserContext, server: str, part: str, option: str
) -> None:
    page = sized_page(context, 390, 844)
    page.goto(f"{server}/recipe?part={part}&source=The+dog+sees+the+cat.")
    picture = page.locator("[data-testid=figure] .main-svg").first
    expect(picture).to_be_attached()
    still(page)
    control = page.locator(f".st-key-recipe_{option}")
    control.scroll_into_view_if_needed()
    expect(control).to_be_in_viewport(ratio=0.9)
    expect(picture).to_be_in_viewport(ratio=0.95)
    page.close()
