"""Every control of every page is in the link: change all of them, open the link elsewhere, compare what they show."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.explorer_page import SENTENCE
from tests.browser.stillness import still

# Controls of the page's content, in order: native ones of our pictures and Streamlit's. Each gets a number in
# data-control, and says what it is called and what it shows.
CONTROLS = """() => {
  const found = [];
  const walk = (root) => root.querySelectorAll("*").forEach((element) => {
    found.push(element);
    if (element.shadowRoot) walk(element.shadowRoot);
  });
  walk(document.querySelector("[data-testid=stMain]"));
  const used = found.filter((element) =>
    element.matches("select, input:not([type=file], [type=hidden]), button[aria-pressed], [role=radio], [role=slider]")
    && element.checkVisibility({visibilityProperty: true}) && !element.disabled
    && !element.closest(".st-key-hs-header, .st-key-hs-sentence, [data-not-in-link]"));
  const name = (element) => (element.getAttribute("aria-label") || element.labels?.[0]?.textContent
    || element.dataset.testid || element.textContent || "").trim().slice(0, 60);
  const shows = (element) => {
    if (element.matches("[aria-pressed]")) return element.getAttribute("aria-pressed");
    if (element.matches("[role=radio]")) return element.getAttribute("aria-checked");
    if (element.matches("[role=slider]")) return element.getAttribute("aria-valuetext") ?? element.ariaValueNow;
    if (element.matches("[type=checkbox], [type=radio]")) return String(element.checked);
    if (element.matches("[role=combobox]")) return element.closest("[data-baseweb=select]").textContent;
    return element.value;
  };
  const kind = (element) => element.matches("select") ? "select" : element.matches("[aria-pressed]") ? "toggle"
    : element.matches("[role=radio], [type=radio]") ? "radio" : element.matches("[role=combobox]") ? "combobox"
    : element.matches("[type=checkbox]") ? "checkbox" : element.matches("[role=slider], [type=range]") ? "slider"
    : element.matches("[type=number]") ? "number" : "text";
  return used.map((element, index) => {
    element.dataset.control = index;
    return {index, name: name(element), kind: kind(element), shows: shows(element)};
  });
}"""

VIEWS: dict[str, tuple[str, dict[str, str]]] = {
    "heads": ("", {"kind": "cross", "layer": "2", "head": "6"}),
    "lab": ("lab", {"scaling": "off"}),
    **{f"lab-{part}": ("lab", {"part": part}) for part in ("measures", "leak", "scaling", "softmax")},
    **{f"positions-{part}": ("positions", {"part": part}) for part in ("encoding", "order", "learned")},
    **{f"embeddings-{part}": ("embeddings", {"part": part}) for part in ("norms", "neighbours", "map", "residual")},
    **{f"embeddings-{part}": ("embeddings", {"part": part}) for part in ("lens", "output")},
    **{f"feedforward-{part}": ("feedforward", {"part": part}) for part in ("activity", "neurons", "nonlinearity")},
    "feedforward-knock": ("feedforward", {"part": "knock"}),
    **{f"anatomy-{part}": ("anatomy", {"part": part}) for part in ("flow", "compare", "before")},
    "training": ("training", {}),
    "model": ("model", {}),
}
MOST = 40  # controls changed on a view


def controls(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(CONTROLS)
    return found


def change(page: Page, control: dict[str, Any]) -> None:
    """Change a control as a person does."""
    element = page.locator(f"[data-control='{control['index']}']").first
    if control["kind"] == "select":
        values = element.evaluate("element => [...element.options].filter((o) => !o.disabled).map((o) => o.value)")
        element.select_option(next((value for value in values if value != control["shows"]), values[0]))
    elif control["kind"] in ("toggle", "radio", "checkbox"):
        element.click(force=True)
    elif control["kind"] == "slider":
        element.focus()
        page.keyboard.press("ArrowRight")
    elif control["kind"] == "combobox":
        element.click()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
    elif control["kind"] == "number":
        element.focus()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Tab")


@pytest.mark.parametrize("name", VIEWS)
def test_a_link_holds_every_control(context: BrowserContext, browser: Browser, server: str, name: str) -> None:
    path, params = VIEWS[name]
    page = context.new_page()
    page.goto(f"{server}/{path}?{urlencode({'source': SENTENCE, **params})}")
    still(page)
    changed: set[tuple[str, str]] = set()
    while len(changed) < MOST:
        control = next((one for one in controls(page) if (one["kind"], one["name"]) not in changed), None)
        if control is None:
            break
        changed.add((control["kind"], control["name"]))
        if control["kind"] != "text":
            change(page, control)
            still(page)
    assert len(changed) > 3
    other = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    other.goto(page.url)
    still(other)
    seen, linked = ([(one["name"], one["shows"]) for one in controls(one_page)] for one_page in (page, other))
    assert linked == seen, page.url
    other.context.close()
