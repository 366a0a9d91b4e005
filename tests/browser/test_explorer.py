"""The main ways through the app, in a real Chromium: type, click, read, link, download."""

from __future__ import annotations

import io
import re
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from transformer.inference.pretrained import Pretrained

pytest.importorskip("playwright")
from playwright.sync_api import Browser, BrowserContext, expect

from tests.browser.explorer_page import (
    SENTENCE,
    click_head,
    exact,
    hover,
    opened,
    params_of,
    plot,
    saved_pictures,
    wait_for_params,
    weight_in,
)
from tests.browser.navigation import link_to
from tests.browser.stillness import still


def test_decoder_rows_are_labelled_by_the_token_fed_in_or_predicted(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    page = opened(context, server, kind="decoder_self", layer="1", head="1")
    exact(page)
    trace = model.trace(SENTENCE)
    first = hover(page, "decoder_self", 0, 0)
    assert trace.target_out_labels[0] in first
    page.get_by_test_id("opt-rows").select_option("fed")
    wait_for_params(page, rows="fed")
    assert "<s>" in hover(page, "decoder_self", 0, 0).split("→")[0]


def test_a_link_opens_the_same_picture(context: BrowserContext, server: str) -> None:
    page = opened(context, server)
    page.get_by_test_id("kind-encoder_self").click()
    click_head(page, "encoder_self", 1, "all")
    page.get_by_test_id("opt-summary").select_option("max")
    page.get_by_test_id("opt-pieces").select_option("words")
    page.get_by_test_id("opt-special").select_option("hidden")
    wait_for_params(page, kind="encoder_self", layer="2", head="all", summary="max", pieces="words", special="hidden")
    copy = context.new_page()
    copy.goto(page.url)
    copy.wait_for_selector("[data-drawn]", timeout=30_000)
    assert params_of(copy) == params_of(page)
    for name in ("summary", "pieces", "special"):
        assert copy.get_by_test_id(f"opt-{name}").input_value() == page.get_by_test_id(f"opt-{name}").input_value()
    assert plot(copy.get_by_test_id("head-encoder_self")) == plot(page.get_by_test_id("head-encoder_self"))
    text = hover(page, "encoder_self", 1, 1)
    assert hover(copy, "encoder_self", 1, 1) == text


def test_choices_survive_a_visit_to_another_page(context: BrowserContext, server: str) -> None:
    page = opened(context, server, kind="cross", layer="1", head="1")
    page.get_by_test_id("kind-encoder_self").click()
    click_head(page, "encoder_self", 2, 3)
    wait_for_params(page, kind="encoder_self", layer="3", head="4")
    link_to(page, "Model").click()
    page.wait_for_selector("[data-drawn]")
    wait_for_params(page, kind="encoder_self", layer="3", head="4", source=SENTENCE)
    link_to(page, "Heads").click()
    page.wait_for_selector('[data-drawn$=":encoder_self"]')
    wait_for_params(page, kind="encoder_self", layer="3", head="4", source=SENTENCE)
    assert "Layer 3, head 4" in page.get_by_test_id("explorer").inner_text()


def test_arrow_keys_move_from_head_to_head(context: BrowserContext, server: str) -> None:
    page = opened(context, server, kind="cross", layer="1", head="1")
    page.get_by_test_id("grid-cross").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    wait_for_params(page, layer="2", head="3")


def test_the_downloaded_page_opens_offline(
    browser: Browser, context: BrowserContext, server: str, model: Pretrained, tmp_path: Path
) -> None:
    page = opened(context, server, kind="cross", layer="3", head="2")
    page.get_by_role("button", name="Download").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="This picture as an HTML page").click()
    path = tmp_path / "explorer.html"
    download.value.save_as(path)
    with page.expect_download() as download:
        page.get_by_role("button", name="The whole trace (.npz)").click()
    with np.load(io.BytesIO(Path(download.value.path()).read_bytes()), allow_pickle=False) as arrays:
        trace = model.trace(SENTENCE)
        assert np.allclose(arrays["cross.weights"], trace.cross.weights.numpy(), atol=1e-6)
    offline = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    alone = offline.new_page()
    problems: list[str] = []
    alone.on("pageerror", lambda error: problems.append(str(error)))
    alone.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    alone.goto(path.as_uri())
    alone.wait_for_selector("[data-drawn]", timeout=30_000)
    click_head(alone, "cross", 0, 5)
    weight = float(trace.cross.weights[0, 5, 1, 2])
    assert weight_in(hover(alone, "cross", 1, 2)) == pytest.approx(weight, abs=0.5001e-4)
    assert not problems
    offline.close()


def test_a_notebook_cell_shows_the_same_picture(context: BrowserContext, model: Pretrained) -> None:
    trace = model.trace(SENTENCE)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.set_content(trace._repr_html_())
    frame = page.frame_locator("iframe")
    picture = frame.locator("[data-drawn]")
    expect(picture).to_have_attribute("data-drawn", f"{trace.id}:cross")
    frame.get_by_test_id("kind-all").click()
    expect(picture).to_have_attribute("data-drawn", f"{trace.id}:all")
    assert not problems


def test_pictures_and_numbers_can_be_saved(context: BrowserContext, server: str, model: Pretrained) -> None:
    saved = saved_pictures(opened(context, server, kind="cross", layer="3", head="2"))
    assert saved["png"].startswith(b"\x89PNG\r\n") and b"<svg" in saved["svg"]
    assert b"<image" not in saved["head"] and saved["head"].count(b"H8") < saved["svg"].count(b"H8")  # no grid
    rows = [line.split(",") for line in saved["csv"].decode("utf-8-sig").strip().splitlines()]
    numbers = [float(value) for value in re.findall(r"(?<=,)\d\.?\d*(?:e-?\d+)?(?=,|\s|$)", saved["csv"].decode())]
    assert len(rows) > len(model.trace(SENTENCE).target_out)
    largest = float(model.trace(SENTENCE).cross.weights[2, 1].max())
    assert any(value == pytest.approx(largest, abs=1e-6) for value in numbers)


def test_a_saved_picture_tells_what_was_done_to_its_numbers(context: BrowserContext, server: str) -> None:
    choices = {"pieces": "words", "special": "renormalised", "threshold": "0.1", "rows": "fed"}
    page = opened(context, server, source="My name is Zorvik.", kind="cross", layer="3", head="4", **choices)
    exact(page)
    page.get_by_test_id("save").locator("summary").click()
    with page.expect_download() as download:
        page.get_by_test_id("save-head").click()
    assert download.value.suggested_filename == (
        "headscope-en-de-cross-layer3-head4-fed-words-renormalised-threshold0.1-alone.svg"
    )
    caption = re.findall(r"<title>(.*?)</title>", Path(download.value.path()).read_text(encoding="utf-8"))[0]
    assert caption.startswith("My name is Zorvik. → Ich heiße Zorvik. · Special tokens are hidden, and each row")
    assert caption.endswith("Weights below 0.10 are not drawn.")


def test_meanings_stand_under_the_words_in_tooltips_files_and_links(browser: Browser, server: str) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="ko-KR")
    page = opened(context, server, kind="cross", layer="2", head="6")
    exact(page)
    switch = page.get_by_test_id("opt-meanings")
    expect(switch.locator("xpath=..")).to_have_text("뜻 보기")
    assert "개" not in hover(page, "cross", 1, 1) and "meanings" not in params_of(page)
    switch.check()
    wait_for_params(page, meanings="on")
    tip = hover(page, "cross", 1, 1)
    assert "Hund: 개\n" in tip and "dog: 개\n" in tip
    copy = opened(context, page.url.split("/?")[0], **params_of(page))
    expect(copy.get_by_test_id("opt-meanings")).to_be_checked()
    for view in ("heatmap", "lines"):
        copy.get_by_test_id("opt-view").select_option(view)
        svg = saved_pictures(copy)["head"].decode("utf-8")
        texts = re.findall(r"<text [^>]*>([^<]*)</text>", svg)
        assert texts.count("개") == texts.count("고양이") == 2, view
    copy.get_by_test_id("opt-meanings").uncheck()
    assert "고양이" not in saved_pictures(copy)["head"].decode("utf-8")
    unknown = opened(context, server, source="Trains rattle.", target="Bahnen rattern.", meanings="on")
    expect(unknown.get_by_test_id("opt-meanings").locator("xpath=..")).to_contain_text("이 문장의 단어는 목록에 없음")
    toy = opened(context, server, checkpoint="reverse", source="headscope", meanings="on")
    expect(toy.get_by_test_id("opt-meanings")).to_be_hidden()
    assert not page.problems + copy.problems + unknown.problems + toy.problems  # type: ignore[attr-defined]
    context.close()


def test_the_arithmetic_ends_with_the_stored_weight_and_goes_on_to_what_is_drawn(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    weights = model.trace("The dog sees the cat.").cross.weights[3, 0]
    row = max(range(5), key=lambda index: float(weights[index, -1]))  # much of it on </s>
    cell, rest = int(weights[row, :-1].argmax()), 1 - float(weights[row, -1])
    link = {"kind": "cross", "layer": "4", "head": "1", "cell": f"{row + 1},{cell + 1}"}
    page = opened(context, server, source="The dog sees the cat.", special="renormalised", **link)
    exact(page)
    line = page.get_by_test_id("cell")
    expect(line.get_by_test_id("cell-check")).to_have_text("✓ as in the model")
    part = model.trace("The dog sees the cat.").cross
    dot = float(part.queries[3, 0, row].double() @ part.keys[3, 0, cell].double())
    arithmetic = line.inner_text().replace("−", "-")
    assert f"{dot:.2f}" in arithmetic and f"{dot / part.queries.shape[-1] ** 0.5:.2f}" in arithmetic
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
    tip = page.get_by_test_id("tooltip").first
    for head in (1, 2):
        expect(tip).to_contain_text(f"{float(weights[2, head - 1, 0, 0]):.4f}")
        page.keyboard.press("ArrowRight")
    expect(tip).to_contain_text(f"{float(weights[2, 2, 0, 0]):.4f}")


def test_the_explorer_offers_the_reading_in_which_a_head_aligns(context: BrowserContext, server: str) -> None:
    page = opened(context, server, source="The dog sees the cat.", kind="cross", layer="2", head="6")
    expect(page.get_by_test_id("aligns")).to_contain_text("word predicted: 9% of rows; of the word fed in: 99%")
    page.get_by_test_id("aligns-rows").click()
    wait_for_params(page, rows="fed")
    expect(page.get_by_test_id("aligns-rows")).to_have_count(0)


def test_a_lone_surrogate_in_a_link_is_harmless(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    page.goto(f"{server}/?source=a%ED%A0%80b&layer=%00")
    page.wait_for_selector("[data-drawn]")
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


def test_no_request_goes_to_another_host(context: BrowserContext, server: str) -> None:
    asked: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{server}/?kind=all")
    page.wait_for_selector("[data-drawn]")
    still(page)
    hosts = {urlsplit(url).hostname for url in asked if not url.startswith(("data:", "blob:"))}
    assert hosts == {"localhost"}


def test_an_error_is_shown_and_the_typed_text_stays(context: BrowserContext, server: str) -> None:
    page = opened(context, server)
    field = page.get_by_label(re.compile("Source · English"))
    for text, sentence in (
        ("word " * 10_000, "50,000 characters. At most 4,096 are allowed"),
        ("word " * 200, "at most 128 are allowed"),
        ("   ", "The source text is empty"),
    ):
        field.fill(text)
        page.keyboard.press("Enter")
        expect(page.locator(".hs-error")).to_contain_text(sentence)
        assert field.input_value() == text
    field.fill(SENTENCE)
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-drawn]")
    assert page.locator(".hs-error").count() == 0
