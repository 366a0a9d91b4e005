"""Every control of every page is in the link: change all of them, open the link elsewhere, compare what they show."""

from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page

from pages.registry import pages
from tests.browser.explorer_page import SENTENCE
from tests.browser.stillness import still

# The controls of the page's content, in order: Streamlit's and those of our pictures. Each gets a number in
# data-control, and says its kind, what it is called and what it shows.
CONTROLS = """() => {
  const found = [];
  const walk = (root) => root.querySelectorAll("*").forEach((element) => {
    found.push(element);
    if (element.shadowRoot) walk(element.shadowRoot);
  });
  walk(document.querySelector("[data-testid=stMain]"));
  found.forEach((element) => delete element.dataset.control);
  const KINDS = {
    select: "select", combobox: "[role=combobox]", toggle: "button[aria-pressed]", radio: "[role=radio], [type=radio]",
    checkbox: "[type=checkbox]", slider: "[role=slider], [type=range]", number: "[type=number], [inputmode=decimal]",
    fold: "summary, button[aria-expanded]:not([aria-haspopup])", tab: "[role=tab]",
    text: "input:not([type=file], [type=hidden])",
  };
  const NOT_HERE = ".st-key-hs-header, .st-key-hs-sentence, [class*=_part], [data-not-in-link], [aria-hidden=true]";
  const within = (element, selector) =>  // in its shadow roots too
    element.closest(selector) || (element.getRootNode().host && within(element.getRootNode().host, selector));
  const used = found.filter((element) => element.matches(Object.values(KINDS).join()) && !element.disabled
    && (element.matches("label > input") ? element.parentElement : element).checkVisibility({visibilityProperty: true})
    && !within(element, NOT_HERE));
  const kind = (element) => Object.keys(KINDS).find((name) => element.matches(KINDS[name]));
  const name = (element) => (element.ariaLabel || element.labels?.[0]?.textContent || element.dataset.testid
    || element.textContent || "").replace(/keyboard_arrow_(right|down)/, "").trim().slice(0, 60);
  const shows = (element) => ({
    toggle: () => element.ariaPressed,
    radio: () => element.ariaChecked ?? String(element.checked),
    checkbox: () => String(element.checked),
    slider: () => element.ariaValueNow ?? element.value,
    combobox: () => element.value || element.closest("[data-testid]").innerText,
    fold: () => element.ariaExpanded ?? String(element.parentElement.open),
    tab: () => element.ariaSelected,
  }[kind(element)] || (() => element.value))();
  return used.map((element, index) => {
    element.dataset.control = index;
    const id = (element.dataset.testid || name(element)).replace(/[0-9][0-9.,]*/g, "#"); // one of many alike
    return {index, id, name: name(element), kind: kind(element), shows: shows(element),
            inert: Boolean(within(element, "[inert]"))};
  });
}"""
PAGES = [page for page in pages() if page.content.options or page.content.sentence]  # on the others nothing is chosen
MOST = 80  # controls changed on a page


def controls(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(CONTROLS)
    return found


def change(page: Page, control: dict[str, Any]) -> None:
    """Change a control as a person does."""
    element, kind = page.locator(f"[data-control='{control['index']}']").first, control["kind"]
    if kind == "select":
        values = element.evaluate("element => [...element.options].filter((o) => !o.disabled).map((o) => o.value)")
        element.select_option(next((value for value in values if value != control["shows"]), values[0]))
    elif kind == "combobox":
        element.click()
        page.keyboard.press("ArrowDown")  # opens it if the click closed it
        options = page.locator("[role=option]")
        options.first.wait_for()
        texts = options.all_inner_texts()
        options.nth(next((at for at, text in enumerate(texts) if text != control["shows"]), 0)).click()
    elif kind in ("toggle", "radio", "checkbox", "fold", "tab"):
        element.evaluate("element => element.click()")
    else:
        element.focus()
        page.keyboard.press("ArrowUp" if kind == "number" else "ArrowLeft")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Tab")


def opened(page: Page, address: str) -> Page:
    page.goto(address)
    page.wait_for_selector(".hs-brand")
    page.wait_for_function(f"() => ({CONTROLS})().length > 0 || document.querySelector('.hs-point')")  # some have none
    still(page)
    return page


# The others take 30 to 50 seconds each and run before a release.
EACH_TIME = ("heads",)
WALKS = [pytest.param(page.name, marks=() if page.name in EACH_TIME else pytest.mark.long) for page in PAGES]


@pytest.mark.parametrize("name", WALKS)
def test_a_link_holds_every_control(context: BrowserContext, server: str, name: str) -> None:
    """Part after part; a control that several parts have is changed in the first."""
    entry = next(page for page in PAGES if page.name == name)
    changed: set[tuple[str, str]] = set()
    for part in entry.content.parts() or ("",):
        params = {"source": SENTENCE} | ({"part": part} if part else {})
        page = opened(context.new_page(), f"{server}/{entry.path}?{urlencode(params)}")
        while len(changed) < MOST:  # a change may bring further controls
            usable = [one for one in controls(page) if not one["inert"]]
            control = next((one for one in usable if (one["kind"], one["id"]) not in changed), None)
            if control is None:
                break
            if not page.locator(f"[data-control='{control['index']}']").count():  # drawn anew since it was listed
                still(page)
                continue
            changed.add((control["kind"], control["id"]))
            if control["kind"] != "text":
                change(page, control)
                still(page)
        for _ in range(5):  # the browser reports a change after a pause, and the server writes it into the address
            other = opened(context.new_page(), page.url)
            seen, linked = ([(one["name"], one["shows"]) for one in controls(one_page)] for one_page in (page, other))
            other.close()
            if linked == seen:
                break
        assert linked == seen, page.url
        page.close()
    assert 2 < len(changed) < MOST
