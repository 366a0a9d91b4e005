"""The frame on a phone: its header, and what is wider than the screen."""

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.navigation import sized_page
from tests.browser.stillness import still

FADES = "element => getComputedStyle(element).maskImage !== 'none'"
GOES_ON = "element => element.scrollWidth > element.clientWidth + 1"


def opened(context: BrowserContext, address: str, width: int) -> Page:
    page = sized_page(context, width, 844)
    page.goto(address)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning] .hs-pages")
    still(page)
    return page


def boxes(header: Locator) -> list[tuple[float, float, float]]:
    """Left, right and middle of every control in sight."""
    found = header.locator("summary, button, input").filter(visible=True)
    sizes = [box for one in found.all() if (box := one.bounding_box()) is not None]
    return [(box["x"], box["x"] + box["width"], box["y"] + box["height"] / 2) for box in sizes]


@pytest.mark.parametrize("query", ["", "lang=ko", "big=1", "checkpoint=en-de~cross.2.5,cross.2.6"])
@pytest.mark.parametrize("width", [390, 360])
def test_the_header_is_one_line_that_unfolds_and_cuts_nothing(
    context: BrowserContext, server: str, width: int, query: str
) -> None:
    page = opened(context, f"{server}/?{query}", width)
    header = page.locator(".st-key-hs-header")
    line = boxes(header)
    assert len(line) == 3 and max(middle for _, _, middle in line) - min(middle for _, _, middle in line) < 3
    expect(page.locator(".st-key-hs-link")).to_be_hidden()
    page.locator(".hs-tools summary").click()
    for name in ("checkpoint", "headscope_language_menu", "hs-download", "hs-link", "hs-big"):
        expect(page.locator(f".st-key-{name}")).to_be_visible()
    assert all(left >= 0 and right <= width for left, right, _ in boxes(header))
    assert not header.evaluate(GOES_ON)
    cut = "inputs => inputs.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.value)"
    assert header.locator("input").evaluate_all(cut) == []


def test_choices_are_one_line_and_fade_only_where_they_go_on(context: BrowserContext, server: str) -> None:
    page = opened(context, f"{server}/decoding?part=given", 390)
    parts = page.get_by_role("radiogroup").first
    assert parts.evaluate(GOES_ON) and parts.evaluate(FADES)
    box, chosen = parts.bounding_box(), parts.locator("[aria-checked=true]").bounding_box()
    assert box and chosen and box["height"] < 60
    assert box["x"] <= chosen["x"] and chosen["x"] + chosen["width"] <= box["x"] + box["width"] + 1
    page.goto(f"{server}/roles")
    parts = page.get_by_role("radiogroup").first
    expect(parts).to_be_visible()
    still(page)
    assert not parts.evaluate(GOES_ON) and not parts.evaluate(FADES)


def test_a_matrix_that_is_wider_than_a_phone_fades_where_it_goes_on(context: BrowserContext, server: str) -> None:
    page = opened(context, f"{server}/attribution", 390)
    matrix = page.locator(".headgrid-scroll").first
    expect(matrix).to_be_visible()
    assert matrix.evaluate(GOES_ON) and matrix.evaluate(FADES)
    page.set_viewport_size({"width": 1440, "height": 900})
    still(page)
    assert not matrix.evaluate(GOES_ON) and not matrix.evaluate(FADES)


@pytest.mark.parametrize("part, option", [("rate", "warmup"), ("dropout", "p_drop"), ("smoothing", "epsilon")])
def test_a_control_of_the_recipe_is_seen_with_its_picture(
    context: BrowserContext, server: str, part: str, option: str
) -> None:
    page = opened(context, f"{server}/recipe?part={part}", 390)
    control = page.locator(f".st-key-recipe_{option}")
    control.scroll_into_view_if_needed()
    expect(control).to_be_in_viewport(ratio=0.9)
    expect(page.locator("[data-testid=figure] .main-svg").first).to_be_in_viewport(ratio=0.95)
