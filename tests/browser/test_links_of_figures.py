"""Every control of the pages of figures, changed, is in the link: a fresh browser that opens it shows the same."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page

from pages.registry import pages
from tests.browser.stillness import still

SOURCE, TARGET = "The dog sees the cat.", "Der Hund sieht die Katze."
# The state of every control below the sentence: [kind, name, value], in the order of the page.
CONTROLS = """() => {
  const main = document.querySelector("[data-testid=stMain]") || document.body;
  const shown = (one) => one.checkVisibility() && !one.closest(".st-key-hs-header, .st-key-source, .st-key-target");
  const kinds = {
    stSelectbox: (one) => one.querySelector("input").value || one.innerText,
    stNumberInput: (one) => one.querySelector("input").value,
    stTextInput: (one) => one.querySelector("input").value,
    stCheckbox: (one) => String(one.querySelector("input").checked),
    stButtonGroup: (one) => [...one.querySelectorAll("[role=radio], button")]
      .filter((item) => [item.ariaChecked, item.ariaPressed].includes("true") || /Active/.test(item.dataset.testid))
      .map((item) => item.innerText).join(),
    stExpander: (one) => String(one.querySelector("details").open),
  };
  const selector = Object.keys(kinds).map((kind) => `[data-testid=${kind}]`).join();
  const found = [...main.querySelectorAll(`${selector}, .hs-figure input[type=range], .positions input`)];
  return found.filter(shown).map((one) => {
    const kind = one.dataset.testid;
    if (!kinds[kind]) return ["input", one.ariaLabel || one.dataset.testid, one.value];
    return [kind, (one.querySelector("label, summary, [role=radiogroup]") || one).innerText, kinds[kind](one)];
  });
}"""


def change(page: Page, index: int) -> None:
    """Change the control at an index of CONTROLS, as a person would."""
    marker = "document.querySelectorAll('[data-changing]').forEach((one) => one.removeAttribute('data-changing'));"
    found = CONTROLS.replace("return found.filter(shown).map(", f"{marker} const one = found.filter(shown)[{index}];"
                             "one.setAttribute('data-changing', ''); return [one].map(")  # fmt: skip
    ((kind, _name, value),) = page.evaluate(found)
    control = page.locator("[data-changing]")
    if kind == "stSelectbox":
        control.locator("input").click()
        page.keyboard.press("ArrowUp" if index % 2 else "ArrowDown")
        page.locator("[role=option]").nth(1).wait_for()
        options = page.locator("[role=option]")
        others = [at for at, text in enumerate(options.all_inner_texts()) if text != value]
        options.nth(others[-1]).click()
    elif kind == "stNumberInput":
        buttons = control.locator("button:not([disabled])")
        buttons.last.click()
    elif kind == "stTextInput":
        control.locator("input").fill("3")
        page.keyboard.press("Enter")
    elif kind == "stCheckbox":
        control.locator("label").first.click()
    elif kind == "stButtonGroup":
        items = control.locator("[role=radio], button")
        others = [at for at, text in enumerate(items.all_inner_texts()) if text not in value.split(",")]
        items.nth(others[-1]).click()
    elif kind == "stExpander":
        control.locator("summary").click()
    elif control.get_attribute("type") == "text":
        control.fill("4, 9")
        page.keyboard.press("Enter")
    else:
        control.focus()
        page.keyboard.press("ArrowUp" if control.get_attribute("type") == "number" else "ArrowLeft")
        if control.input_value() == value:
            page.keyboard.press("ArrowRight")


def opened(page: Page, link: str) -> Page:
    page.goto(link)
    page.wait_for_selector(".hs-point, .pos-says")
    page.wait_for_function(f"() => ({CONTROLS})().length > 0")
    still(page)
    return page


@pytest.mark.parametrize("name", ["positions", "embeddings", "feedforward"])
def test_every_control_is_in_the_link(browser: Browser, server: str, name: str) -> None:
    content = next(page.content for page in pages() if page.name == name)
    for part in content.parts():
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        params = urlencode({"part": part, "source": SOURCE, "target": TARGET})
        page = opened(context.new_page(), f"{server}/{name}?{params}")
        index = int(page.evaluate(CONTROLS)[0][0] == "stButtonGroup")  # the menu of parts
        while index < len(page.evaluate(CONTROLS)):  # a choice may bring more of them
            before, link = page.evaluate(CONTROLS)[index], page.url
            change(page, index)
            page.wait_for_function("(link) => location.href !== link", arg=link)
            still(page)
            assert page.evaluate(CONTROLS)[index] != before, before
            index += 1
        wanted, link = page.evaluate(CONTROLS), page.url
        context.close()
        other = browser.new_context(viewport={"width": 1440, "height": 900})
        again = opened(other.new_page(), link)
        assert again.evaluate(CONTROLS) == wanted, (part, link)
        assert not again.locator(".hs-warning").count(), (part, link)
        other.close()
