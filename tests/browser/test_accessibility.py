"""Every page by keyboard, to a screen reader, in both themes, zoomed and in forced colours: axe-core and more."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from pages.registry import pages
from tests.browser.accessibility import HELP, WIDER, findings
from tests.browser.navigation import taken
from tests.browser.stillness import still
from tests.support.server import WAIT

SENTENCE, TARGET = "The dog sees the cat.", "Der Hund sieht die Katze."
RECORDED = "I don't have any money."
CROSS = {"place": "decoder.cross", "decoder": "3", "head": "5", "t": "5"}
SWITCHED = {"scaling": "off", "zero": "cross.2.3"}
LESSON = "attention-in-10-minutes"
# Every page, every part, and states that look different: page, link.
VIEWS: dict[str, tuple[str, dict[str, str]]] = {
    **{page.name: (page.path, {}) for page in pages()},
    **{
        f"{page.name}-{part}": (page.path, {"part": part})
        for page in pages()
        for part in list(page.content.parts())[1:]
    },
    "heads": ("", {"kind": "cross", "layer": "4", "head": "1", "cell": "2,2"}),
    "heads-three": ("", {"kind": "all", "layer": "2", "head": "1", "special": "hidden"}),
    "heads-lines": ("", {"view": "lines", "kind": "cross", "layer": "3", "head": "2", "big": "1"}),
    "heads-formation": ("", {"source": RECORDED, "target": "", "training": "542", "kind": "cross", "cell": "2,2"}),
    "heads-not-recorded": ("", {"target": "Die Katze sieht den Hund.", "training": "542"}),
    "heads-error": ("", {"source": "word " * 200, "layer": "99"}),
    "heads-alignment": ("", {"panel": "alignment"}),
    "heads-lesson": ("", {"lesson": LESSON, "stop": "1"}),
    "heads-lesson-asked": ("", {"lesson": LESSON, "stop": "4"}),
    "heads-lesson-covered": ("", {"lesson": LESSON, "stop": "2"}),
    "lab": ("lab", {**SWITCHED, "kind": "cross", "layer": "3", "head": "7"}),
    "lab-leak": ("lab", {"part": "leak", "causal": "off", "kind": "decoder_self"}),
    "positions-lab": ("positions", {"part": "lab", "positions": "remove@source"}),
    "positions-refused": ("positions", {"d_model": "9999", "length": "x", "part": "none", "scaling": "off"}),
    "embeddings-lens": ("embeddings", {"part": "lens", "step": "5"}),
    "feedforward-neurons": ("feedforward", {"part": "neurons", "layer": "99"}),
    "feedforward-knock": ("feedforward", {"part": "knock", "skip": "encoder.2.ff", "neurons": "decoder.1.5"}),
    "roles-importance": ("roles", {"part": "importance", "checkpoint": "reverse"}),
    "anatomy": ("anatomy", dict(SWITCHED)),
    "anatomy-sub": ("anatomy", {"zoom": "sub", **CROSS, "step": "softmax"}),
    "anatomy-number": ("anatomy", {"zoom": "number", **CROSS, "step": "dot", "row": "3", "col": "2"}),
    "anatomy-before": ("anatomy", {"part": "before", "checkpoint": "reverse", "source": "headscope", "target": ""}),
    "decoding-branches": ("decoding", {"branches": "1.1.20_2.3.30", "at": "2.2", "begin": "Der"}),
    "decoding-paint": ("decoding", {"part": "paint", "paint_row": "3"}),
    "decoding-given": ("decoding", {"part": "given", "target": "Ein Hund sieht eine Katze."}),
    "training-own": ("training", {"preset": "own", "big": "1"}),
    "training-refused": ("training", {"preset": "none", "heads": "3", "rate": "x", "mask": "perhaps"}),
}
WALKED = (*(page.name for page in pages()), "heads-formation", "heads-lesson", "anatomy-sub")
TITLES = {page.name: page.title for page in pages()}
GROUPS = list(dict.fromkeys(page.group or page.title for page in pages()))  # what the header shows
DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
ZOOMED = {"width": 720, "height": 450}  # 1440x900 at 200%
DRAWN = (
    "[data-drawn], [data-testid=anatomy-stage], .hs-cx-table, [data-testid=measures], [data-testid=training], "
    "[data-testid=paper] svg, [data-testid=decoding] canvas, .paint-row, .beam-tree, .hs-batch, .hs-recipe-cost, "
    ".hs-bleu-texts, .headgrid-cell, .hs-roles-shares, [class*=st-key-hs-lesson-card], .st-key-hs-own, .hs-cover"
)
# Of every page one view with every change, the others before a release.
EACH = [pytest.param(view, marks=() if view in WALKED else pytest.mark.long) for view in VIEWS]
OPEN = "hsOpenAll()"


@pytest.fixture(scope="module")
def page(profile: BrowserContext) -> Iterator[Page]:
    """One page for all tests of this file: themes, sizes and forced colours change while a page is open."""
    page = profile.new_page()
    page.emulate_media(reduced_motion="reduce")
    page.set_default_timeout(WAIT)
    page.add_init_script(HELP)
    yield page
    page.close()


def look(page: Page, scheme: str, size: dict[str, int], forced: bool = False) -> None:
    page.emulate_media(color_scheme=scheme, forced_colors="active" if forced else "none")  # type: ignore[arg-type]
    page.set_viewport_size(size)  # type: ignore[arg-type]
    still(page)


def show(page: Page, server: str, view: str, opened: bool = True) -> Page:
    name, params = VIEWS[view]
    page.goto(f"{server}/{name}?{urlencode({'source': SENTENCE, 'target': TARGET, **params})}")
    page.wait_for_selector(".hs-brand", state="attached")  # a question covers it
    if view not in ("heads-error", "lab-softmax", "lab-scaling", "feedforward-knock", "positions-relative"):
        page.wait_for_selector(DRAWN)
    still(page)
    if opened:
        # What stands in a fold that was not clicked open is inert.
        folds = {"training": ("Details",), "model": ("Sizes and scores", "Model card")}.get(name, ())
        for fold in ("All stops",) if "stop" in params else folds:
            page.locator("summary", has_text=fold).evaluate("element => element.click()")
        page.evaluate(OPEN)
        still(page)
    return page


@pytest.mark.parametrize("view", EACH)
def test_a_page_opens_from_a_link_and_is_accessible(
    context: BrowserContext, page: Page, server: str, view: str
) -> None:
    """No error, and nothing that axe finds: on a desk and on a phone, themes take turns. Then zoomed to 200%,
    where nothing may be cut off, and in forced colours, where what is pressed must show."""
    first, second = ("light", "dark") if len(view) % 2 else ("dark", "light")
    look(page, first, DESK)
    show(page, server, view)
    assert page.get_by_test_id("stException").count() == 0
    if not view.endswith(("error", "refused", "neurons", "not-recorded")):
        assert page.locator(".hs-error, .hs-warning").count() == 0
    structured(page, view)
    assert findings(page) == []
    look(page, second, PHONE)
    assert findings(page) == []
    assert page.evaluate(WIDER) <= 0
    assert page.locator(".hs-fig-error:visible").count() == 0  # figures follow both, too
    look(page, first, ZOOMED)
    assert page.evaluate(WIDER) <= 0
    assert page.evaluate("hsOutside()") == []
    look(page, first, DESK, forced=True)
    assert page.evaluate("hsSameWhenPressed()") == []
    look(page, "light", DESK)
    if view in WALKED:
        reached_by_tab(page)


def structured(page: Page, view: str) -> None:
    """Language, title, one h1 with the page's name, the landmark of its content, polite announcements, and few."""
    assert page.evaluate("hsBare()") == []  # pictures without a word
    assert page.evaluate("document.documentElement.lang") == "en"
    name = VIEWS[view][0] or "heads"
    assert page.title() == f"{TITLES[name]} · Headscope"
    assert page.evaluate("hsEvery('h1').map((element) => element.textContent)") == [TITLES[name]]
    assert page.evaluate("hsEvery('main, [role=main]').length") == 1
    live = page.evaluate("hsEvery('[aria-live], [role=status]').map((element) => element.getAttribute('aria-live'))")
    assert set(live) <= {None, "polite", "off"}
    assert (
        page.evaluate("hsEvery(HS_USE).filter((node) => hsSeen(node) && !hsName(node)).map((node) => node.outerHTML)")
        == []
    )


def walk(page: Page) -> tuple[list[dict[str, Any]], list[str]]:
    """Tab from the top to the end: every stop, and what can be used but was not reached. A stop that does not look
    different is marked."""
    wanted, stops = page.evaluate("hsBegin()"), []
    for _ in range(wanted + 20):
        page.keyboard.press("Tab")
        stop = page.evaluate("hsStop()")
        if stop is None:
            return stops, page.evaluate("hsMissed()")
        if page.evaluate("hsUnseen()"):
            page.wait_for_timeout(250)  # colours may take a moment
            stop["unseen"] = page.evaluate("hsUnseen()")
        stops.append(stop)
    pytest.fail(f"Tab goes on and on: {stops[-3:]}")


def reached_by_tab(page: Page) -> None:
    """The Tab key reaches everything, and shows where it is."""
    page.evaluate("() => { window.scrollTo(0, 0); hsDeep().blur(); }")
    stops, missed = walk(page)
    assert missed == []
    assert [stop["html"] for stop in stops if stop.get("unseen")] == []
    names = [stop["name"] for stop in stops]
    assert all(names), stops
    # From the skip link over the pages to the content, in the order they are seen in.
    skip = names.index("Skip to the content")
    first = [name.split(":")[0].removesuffix("expand_more") for name in names[skip + 1 : skip + 1 + len(GROUPS)]]
    groups = ["☰ Explore"] if "lesson=" in page.url else GROUPS  # beside a lesson, the header is narrow
    assert skip <= 1 and first[: len(groups)] == groups
    content = [stop for stop in stops[skip + 1 + len(groups) :] if stop["y"] > 60]
    assert content and content[0]["y"] <= content[-1]["y"]


def test_the_skip_link_skips_the_header(page: Page, server: str) -> None:
    show(page, server, "heads")
    skip = page.get_by_text("Skip to the content")
    skip.focus()
    expect(skip).to_be_in_viewport()
    box = skip.bounding_box()
    assert box and box["width"] > 100 and box["height"] >= 24
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label(re.compile("^Source"))).to_be_focused()


def spoken(page: Page) -> Locator:
    return page.locator("[role=status].hs-spoken")


def test_arrow_keys_read_heads_and_cells_and_tab_leaves_them(page: Page, server: str) -> None:
    show(page, server, "heads", opened=False)
    page.get_by_test_id("grid-cross").focus()
    page.keyboard.press("ArrowRight")
    expect(spoken(page)).to_have_text("Layer 4, head 2")
    page.get_by_test_id("head-cross").focus()
    page.keyboard.press("ArrowLeft")
    expect(spoken(page)).to_have_text(re.compile(r"^Hund to The, weight [\d.]+$"))
    page.keyboard.press("Tab")
    assert page.evaluate("hsDeep().tagName") == "SUMMARY"
    show(page, server, "heads-lines", opened=False)
    page.get_by_test_id("lines-cross").locator("..").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(spoken(page)).to_have_text(re.compile(r"^Hund to The, weight [\d.]+$"))


def test_arrow_keys_read_the_numbers_of_a_figure(page: Page, server: str) -> None:
    show(page, server, "embeddings-lens", opened=False)
    figure = page.locator("[data-testid=figure] .hs-fig")
    box = figure.locator(".hs-fig-plot")
    expect(box).to_have_attribute("aria-label", re.compile(r"^When the final token is found: \d+ numbers, from"))
    box.focus()
    for key, spoken in (
        ("ArrowRight", r"after embedding, step 1 · Der, probability \d\.\d{4}, rank"),
        ("ArrowDown", r"after layer 1, step 1 · Der"),
        ("End", r"after layer 1, step 7 · </s>"),
    ):
        page.keyboard.press(key)
        expect(figure.locator(".hs-spoken")).to_have_text(re.compile(spoken))
    page.keyboard.press("Enter")  # as a click: the step is chosen
    page.wait_for_url(re.compile("step=7"))
    box.focus()
    page.keyboard.press("Escape")
    expect(figure.locator(".hoverlayer > *")).to_have_count(0)
    page.keyboard.press("Tab")
    expect(box).not_to_be_focused()
    show(page, server, "positions-order", opened=False)
    page.locator(".hs-fig-plot").focus()
    page.keyboard.press("End")
    expect(page.locator(".hs-fig .hs-spoken")).to_have_text(re.compile("^encoder layer 1: "))


def test_menus_open_and_close_by_keyboard(page: Page, server: str) -> None:
    show(page, server, "heads", opened=False)
    for name in ("Examples", "Download", "Link"):
        button = page.get_by_test_id("stPopoverButton").filter(has_text=name)
        button.focus()
        page.keyboard.press("Enter")
        body = page.get_by_test_id("stPopoverBody")
        expect(body).to_be_visible()
        still(page)
        assert findings(page) == []
        page.keyboard.press("Escape")
        expect(body).to_have_count(0)
    save = page.get_by_test_id("save").locator("summary")
    save.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("save-svg")).to_be_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(hsDeep()).outlineStyle") != "none"
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("save-svg")).not_to_be_visible()
    expect(save).to_be_focused()


def test_the_downloaded_page_is_accessible_offline(
    another: Callable[..., BrowserContext], page: Page, server: str, tmp_path: Path
) -> None:
    show(page, server, "heads", opened=False)
    page.get_by_text("Download", exact=True).click()
    _, content = taken(page.get_by_role("button", name="This picture as an HTML page").first)
    (tmp_path / "taken.html").write_bytes(content)
    for scheme, size in (("light", DESK), ("dark", PHONE)):
        alone = another(viewport=size, color_scheme=scheme, bypass_csp=True, offline=True).new_page()
        alone.add_init_script(HELP)
        alone.goto((tmp_path / "taken.html").as_uri())
        alone.wait_for_selector("[data-drawn]")
        alone.evaluate(OPEN)
        assert findings(alone) == []
        assert alone.evaluate("hsEvery('h1').length") == 1 and alone.evaluate("document.documentElement.lang") == "en"
        stops, missed = walk(alone)
        assert missed == [] and [stop["html"] for stop in stops if stop.get("unseen")] == []


def test_no_animation_runs_with_reduced_motion(page: Page, server: str) -> None:
    show(page, server, "anatomy", opened=False)
    page.get_by_test_id("zoom-sub").click()
    page.wait_for_timeout(50)
    # Transitions of ours that last: only those by which a component notices another theme, of 1 ms.
    lasting = page.evaluate(
        """() => hsEvery(".hs, .hs *").filter((node) => parseFloat(getComputedStyle(node).transitionDuration) > 0.01 ||
          (parseFloat(getComputedStyle(node).animationDuration) > 0.01)).map((node) => node.outerHTML.slice(0, 100))"""
    )
    assert lasting == []
