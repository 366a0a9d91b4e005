"""Every picture of every page can be saved as PNG, SVG and CSV, and its files say what they show."""

import csv
import re
from xml.etree import ElementTree

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from pages.registry import pages
from tests.browser.navigation import opened_at, taken
from tests.browser.stillness import still
from tests.support.app import every_part, linked

SENTENCE = "The dog sees the cat."
FORMATS = ("png", "svg", "csv")
# What a link needs to show the pictures of a part, and further views with pictures.
GIVEN = {
    "lab-measures": {"scaling": "off"}, "decoding-given": {"target": "Ja."},
    "roles-importance": {"checkpoint": "reverse"},
}  # fmt: skip
MORE = (("heads", {"training": "0"}), ("heads", {"view": "lines"}))
WITHOUT = ("lessons-all", "lessons-own", "positions-relative", "roles-search")  # parts without a picture
# The pictures of a page, and for each the menu that saves it: [[what it is, name of the menu in tests or null]]. A
# picture is a drawing of some size, a table with coloured cells, Table 1, or what says that it is one.
PICTURES = """(all) => {
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
  for (const element of all) {
    const { width, height } = element.getBoundingClientRect();
    const inner = element.parentElement?.closest("svg");
    const drawing = element.matches("svg, canvas") && !inner && width > 70 && height > 25;
    const told = element.matches("[data-saved-by], .hs-cx-table, [class*=st-key-hs-picture-]");
    const written = told || (element.matches("table") && coloured(element));
    const picture = drawing || written;
    if (!picture || !element.checkVisibility({ visibilityProperty: true })) continue;
    found.push([`${element.tagName} ${element.getAttribute("class")} ${width}x${height}`, menuOf(element)]);
  }
  return found;
}"""


def opened(context: BrowserContext, server: str, name: str, params: dict[str, str]) -> Page:
    path = next(one.path for one in pages() if one.name == name)
    page = opened_at(context, f"{server}/{path}", ".hs-brand", **{"source": SENTENCE, **params})
    still(page)
    return page


def pictures(page: Page) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = page.locator("[data-testid=stApp] *").evaluate_all(PICTURES)
    return found


# The first picture of every page with every change, the others before a release.
FIRST = {(page.name, next(iter(page.content.parts()), "")) for page in pages()}
VIEWS = [
    *(pytest.param(name, linked(part, **GIVEN.get(f"{name}-{part}", {})), id=f"{name}-{part}",
                   marks=() if (name, part) in FIRST else pytest.mark.long)
      for name, part in every_part() if f"{name}-{part}" not in WITHOUT),
    *(pytest.param(name, params, id=f"{name}-{'-'.join(params)}") for name, params in MORE),
]  # fmt: skip


def test_a_part_without_pictures_has_none(context: BrowserContext, server: str) -> None:
    for name, part in (one.split("-") for one in WITHOUT):
        assert pictures(opened(context, server, name, linked(part))) == []


@pytest.mark.parametrize(("name", "params"), VIEWS)
def test_every_picture_can_be_saved(context: BrowserContext, server: str, name: str, params: dict[str, str]) -> None:
    page = opened(context, server, name, params)
    page.wait_for_selector(".hs-save", state="attached")
    still(page)
    found = pictures(page)
    assert found, "no picture was found"
    assert not [picture for picture, menu in found if menu is None]
    for menu in {menu for _, menu in found}:
        offered = page.get_by_test_id(menu).first
        for kind in FORMATS:
            expect(offered.get_by_test_id(f"{menu}-{kind}")).to_have_count(1)
        if menu != "figure-save":  # test_figures.py saves one of them
            check_files(offered, menu)


def check_files(menu: Locator, name: str) -> None:
    """All three files hold something, under one short plain name, and the caption is ordinary text."""
    names = set()
    for kind in FORMATS:
        menu.locator("summary").click()
        given, content = taken(menu.get_by_test_id(f"{name}-{kind}"))
        stem, _, end = given.rpartition(".")
        assert end == kind and re.fullmatch(r"headscope-[\w.-]{3,140}", stem, re.ASCII)
        names.add(re.sub(r"step\d+$", "", stem))  # a training goes on
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
