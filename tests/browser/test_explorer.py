"""The explorer in a real Chromium: read cells, download, save, labels, meanings, and what fits on a screen."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.explorer_page import (
    SENTENCE,
    click_head,
    exact,
    hover,
    opened,
    params_of,
    wait_for_params,
    weight_in,
)
from tests.browser.navigation import opened_at, saved, taken
from tests.browser.stillness import still
from transformer.inference.pretrained import Pretrained


def test_the_downloaded_page_opens_offline(
    another: Callable[..., BrowserContext], context: BrowserContext, server: str, model: Pretrained, tmp_path: Path
) -> None:
    page = opened(context, server, kind="cross", layer="3", head="2")
    page.get_by_role("button", name="Download").click()
    _, document = taken(page.get_by_role("button", name="This picture as an HTML page"))
    cross = model.trace(SENTENCE).cross.weights
    (tmp_path / "explorer.html").write_bytes(document)
    alone = another(offline=True).new_page()
    problems: list[str] = []
    alone.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    alone.goto((tmp_path / "explorer.html").as_uri())
    alone.wait_for_selector("[data-drawn]")
    click_head(alone, "cross", 0, 5)
    assert weight_in(hover(alone, "cross", 1, 2)) == pytest.approx(float(cross[0, 5, 1, 2]), abs=0.5001e-4)
    assert not problems


def test_a_saved_picture_tells_what_was_done_to_its_numbers(context: BrowserContext, server: str) -> None:
    choices = {"pieces": "words", "special": "renormalised", "threshold": "0.1", "rows": "fed"}
    page = opened(context, server, source="My name is Zorvik.", kind="cross", layer="3", head="4", **choices)
    exact(page)
    name, content = saved(page, "save", "head")
    assert name == "headscope-en-de-cross-layer3-head4-fed-words-renormalised-threshold0.1-alone.svg"
    caption = re.findall(r"<title>(.*?)</title>", content.decode())[0]
    assert caption.startswith("My name is Zorvik. → Ich heiße Zorvik. · Special tokens are hidden, and each row")
    assert caption.endswith("Weights below 0.10 are not drawn.")


def test_meanings_stand_under_the_words_in_tooltips_files_and_links(
    another: Callable[..., BrowserContext], server: str
) -> None:
    context = another(locale="ko-KR")
    page = opened(context, server, kind="cross", layer="2", head="6")
    exact(page)
    switch = page.get_by_test_id("opt-meanings")
    expect(switch.locator("xpath=..")).to_have_text("뜻 보기")
    assert "개" not in hover(page, "cross", 1, 1) and "meanings" not in params_of(page)
    switch.check()
    wait_for_params(page, meanings="on")
    tip = hover(page, "cross", 1, 1)
    assert "Hund: 개\n" in tip and "dog: 개\n" in tip
    copy = opened(context, server, **params_of(page))
    expect(copy.get_by_test_id("opt-meanings")).to_be_checked()
    exact(copy)
    for view in ("heatmap", "lines"):
        copy.get_by_test_id("opt-view").select_option(view)
        texts = re.findall(r"<text [^>]*>([^<]*)</text>", saved(copy, "save", "head")[1].decode())
        assert texts.count("개") == texts.count("고양이") == 2, view


def test_the_arithmetic_ends_with_the_stored_weight_and_goes_on_to_what_is_drawn(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    cross = model.trace(SENTENCE).cross
    weights = cross.weights[3, 0]
    row = max(range(5), key=lambda index: float(weights[index, -1]))  # much of it on </s>
    cell, rest = int(weights[row, :-1].argmax()), 1 - float(weights[row, -1])
    link = {"kind": "cross", "layer": "4", "head": "1", "cell": f"{row + 1},{cell + 1}"}
    page = opened(context, server, special="renormalised", **link)
    exact(page)
    line = page.get_by_test_id("cell")
    expect(line.get_by_test_id("cell-check")).to_have_text("✓ as in the model")
    dot = float(cross.queries[3, 0, row].double() @ cross.keys[3, 0, cell].double())
    arithmetic = line.inner_text().replace("−", "-")
    assert f"{dot:.2f}" in arithmetic and f"{dot / cross.queries.shape[-1] ** 0.5:.2f}" in arithmetic
    drawn = f"÷ {rest:.4f}, the row without special tokens → drawn: {float(weights[row, cell]) / rest:.4f}"
    expect(line.get_by_test_id("cell-drawn")).to_have_text(drawn)
    page.get_by_test_id("opt-special").select_option("hidden")
    expect(line.get_by_test_id("cell-drawn")).to_have_count(0)
    expect(page.get_by_test_id("badge-rows")).to_contain_text("stored rows sum to 1")


def test_the_tooltip_follows_a_head_chosen_by_keys_under_a_resting_pointer(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    weights = model.trace(SENTENCE).cross.weights
    page = opened(context, server, kind="cross", layer="3", head="1")
    exact(page)
    page.get_by_test_id("grid-cross").focus()
    hover(page, "cross", 0, 0)
    for head in range(3):
        expect(page.get_by_test_id("tooltip").first).to_contain_text(f"{float(weights[2, head, 0, 0]):.4f}")
        page.keyboard.press("ArrowRight")


def test_the_explorer_offers_the_reading_in_which_a_head_aligns(context: BrowserContext, server: str) -> None:
    page = opened(context, server, kind="cross", layer="2", head="6")
    expect(page.get_by_test_id("aligns")).to_contain_text("word predicted: 9% of rows; of the word fed in: 99%")
    page.get_by_test_id("aligns-rows").click()
    wait_for_params(page, rows="fed")
    expect(page.get_by_test_id("aligns-rows")).to_have_count(0)


def test_a_lone_surrogate_in_a_link_is_harmless(context: BrowserContext, server: str) -> None:
    page = opened_at(context, f"{server}/?source=a%ED%A0%80b&layer=%00")
    expect(page.get_by_label(re.compile("Source · English"))).to_have_value(re.compile("^a"))
    page.goto(f"{server}/?target=%FF%FE")
    expect(page.locator(".hs-error")).to_contain_text("The target text has no readable character")


@pytest.mark.parametrize("kind", ["cross", "all"])
def test_nothing_is_cut_off(context: BrowserContext, server: str, kind: str) -> None:
    page = opened(context, server, kind=kind, cell="2,2")
    for width, height in ((1440, 900), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.reload()
        page.wait_for_selector("[data-drawn]")
        still(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        explorer = page.get_by_test_id("explorer").bounding_box()
        assert explorer and explorer["x"] >= 0 and explorer["x"] + explorer["width"] <= width
        if width == 1440:
            last = page.get_by_test_id("cell").first.bounding_box()
            assert last and last["y"] + last["height"] <= height, "the picture and its arithmetic need scrolling"
