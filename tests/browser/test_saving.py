"""Every picture of every page can be saved as PNG, SVG and CSV, and its files say what they show."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import BrowserContext, Locator, Page, expect

from pages.registry import pages
from tests.browser.stillness import still

SENTENCE = "The dog sees the cat."
FORMATS = ("png", "svg", "csv")
PARTS: dict[str, tuple[dict[str, str], ...]] = {
    "paper": ({},),
    "heads": ({"training": "0"}, {"view": "lines"}),
    "roles": ({}, {"part": "importance", "checkpoint": "reverse"}),
    "attribution": ({}, {"part": "source"}, {"part": "patching"}, {"part": "compare"}),
    "anatomy": ({}, {"part": "compare"}, {"part": "before"}),
    "decoding": ({}, {"part": "beam"}, {"part": "sampling"}, {"part": "paint"}, {"part": "given", "target": "Ja."}),
    "embeddings": tuple(
        {"part": part} for part in ("norms", "neighbours", "map", "residual", "layernorm", "lens", "output")
    ),
    "positions": ({}, {"part": "distance"}, {"part": "learned"}, {"part": "order"}, {"part": "lab"}),
    "feedforward": ({}, {"part": "neurons"}, {"part": "nonlinearity"}, {"part": "position"}, {"part": "knock"}),
    "lab": ({}, {"part": "measures", "scaling": "off"}, {"part": "leak"}, {"part": "scaling"}, {"part": "softmax"}),
    "training": ({},),
    "recipe": ({}, {"part": "dropout"}, {"part": "smoothing"}, {"part": "batches"}, {"part": "cost"}),
    "results": ({"part": "bleu"}, {"part": "subsets"}, {"part": "table2"}, {"part": "tables"}),
    "model": ({},),
}  # fmt: skip
# The pictures of a page, and for each the menu that saves it: [[what it is, name of the menu in tests or null]]. A
# picture is a drawing of some size, a table with coloured cells, Table 1, or what says that it is one.
PICTURES = """() => {
  const found = [];
  const parent = (element) => element.parentElement ?? element.getRootNode().host ?? null;
  const closest = (element, selector) => {
    for (let at = element; at; at = parent(at)) if (at.matches(selector)) return at;
    return null;
  };
  const menuOf = (element) => {
    const told = closest(element, "[data-saved-by]");
    if (told) return told.dataset.savedBy;
    const key = closest(element, "[class*=st-key-hs-picture-]")?.className.match(/st-key-hs-picture-([\\w-]+)/)[1];
    if (key) return `${key}-save`;
    for (let at = closest(element, ".hs-fig, .hs"); at; at = parent(at) && closest(parent(at), ".hs")) {
      const menu = at.querySelector(".hs-save");
      if (menu) return menu.dataset.testid;
    }
    return null;
  };
  const coloured = (table) => [...table.querySelectorAll("td")].some((cell) => {
    const { backgroundImage, backgroundColor } = getComputedStyle(cell);
    return backgroundImage !== "none" || !/(, 0\\)|\\/ 0\\)|transparent)$/.test(backgroundColor);
  });
  const walk = (root) => root.querySelectorAll("*").forEach((element) => {
    if (element.shadowRoot) walk(element.shadowRoot);
    const { width, height } = element.getBoundingClientRect();
    const inner = element.parentElement?.closest("svg");
    const drawing = element.matches("svg, canvas") && !inner && width > 70 && height > 25;
    const told = element.matches("[data-saved-by], .hs-cx-table, [class*=st-key-hs-picture-]");
    const written = told || (element.matches("table") && coloured(element));
    const picture = drawing || written;
    if (!picture || !element.checkVisibility({ visibilityProperty: true })) return;
    found.push([`${element.tagName} ${element.getAttribute("class")} ${width}x${height}`, menuOf(element)]);
  });
  walk(document.querySelector("[data-testid=stApp]"));
  return found;
}"""


def opened(context: BrowserContext, server: str, name: str, params: dict[str, str]) -> Page:
    page = context.new_page()
    path = next(one.path for one in pages() if one.name == name)
    page.goto(f"{server}/{path}?{urlencode({'source': SENTENCE, **params})}")
    page.wait_for_selector(".hs-save", state="attached")
    still(page)
    return page


def test_a_page_that_is_not_listed_has_no_picture(context: BrowserContext, server: str) -> None:
    for name in (page.path for page in pages() if page.name not in PARTS):
        page = context.new_page()
        page.goto(f"{server}/{name}")
        expect(page.locator("h1.hs-spoken")).to_be_attached()
        still(page)
        assert page.evaluate(PICTURES) == []


# The first picture of every page with every change, the others before a release.
VIEWS = [
    pytest.param(
        name,
        params,
        id=f"{name} {params}",
        marks=pytest.mark.long if params != PARTS[name][0] else (),
    )
    for name in PARTS
    for params in PARTS[name]
]


@pytest.mark.parametrize(("name", "params"), VIEWS)
def test_every_picture_can_be_saved(context: BrowserContext, server: str, name: str, params: dict[str, str]) -> None:
    page = opened(context, server, name, params)
    found = page.evaluate(PICTURES)
    assert found, "no picture was found"
    assert not [picture for picture, menu in found if menu is None]
    for menu in {menu for _, menu in found}:
        offered = page.get_by_test_id(menu).first
        for kind in FORMATS:
            expect(offered.get_by_test_id(f"{menu}-{kind}")).to_have_count(1)
        if menu != "figure-save":  # test_figures.py saves one of them
            check_files(page, offered, menu)


def check_files(page: Page, menu: Locator, name: str) -> None:
    """All three files hold something, under one short plain name, and the caption is ordinary text."""
    names = set()
    for kind in FORMATS:
        menu.locator("summary").click()
        with page.expect_download() as download:
            menu.get_by_test_id(f"{name}-{kind}").click()
        stem, _, end = download.value.suggested_filename.rpartition(".")
        assert end == kind and re.fullmatch(r"headscope-[\w.-]{3,140}", stem, re.ASCII)
        names.add(re.sub(r"step\d+$", "", stem))  # a training goes on
        content = Path(download.value.path()).read_bytes()
        if kind == "png":
            assert content.startswith(b"\x89PNG") and len(content) > 2000
        elif kind == "svg":
            check_drawing(content.decode())
        else:
            head, *rows = csv.reader(content.decode("utf-8-sig").splitlines())
            assert len(head) > 1 and all(head[1:]) and len(rows) > 1
            assert any(re.fullmatch(r"-?\d+(\.\d+)?(e-\d+)?", cell) for cell in rows[0])
    assert len(names) == 1


def check_drawing(content: str) -> None:
    root = ElementTree.fromstring(content)
    tags = {element.tag.split("}")[-1] for element in root.iter()}
    assert "image" not in tags and "text" in tags and tags & {"rect", "path"}
    for element in root.iter():
        for value in element.attrib.values():
            assert "NaN" not in value and not re.search(r"var\(|color-mix|color\(|undefined", value), (
                element.tag,
                value,
            )
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None and title.text
    assert not re.search(r"\s[,;.!?]|  ", title.text), title.text
