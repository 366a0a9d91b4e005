"""The engine in the app, in Chromium: pictures follow the keys, the numbers are those of Python, and the server is
asked only for what it alone knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.explorer_page import exact, hover, opened, wait_for_params, weight_in
from tests.support.closed import closed_checkpoint
from tests.support.server import start, stop
from transformer.inference.pretrained import Pretrained

READY = "window.__headscopeLive?.engine"
STALE = "getComputedStyle(document.documentElement).getPropertyValue('--hs-stale')"


def with_engine(context: BrowserContext, server: str, **params: str) -> Page:
    """A page on which the browser computes."""
    page = opened(context, server, checkpoint="reverse", **params)
    page.wait_for_function(READY)
    return page


def type_(page: Page, text: str, side: str = "source") -> None:
    page.locator(f".st-key-{side} input").fill(text)


def output(page: Page) -> Locator:
    return page.get_by_test_id("chips")


def test_the_picture_follows_the_keys_without_the_server(
    visitor: BrowserContext, live_server: str, reverse: Pretrained
) -> None:
    page = with_engine(visitor, live_server, source="k a l o", kind="cross", layer="2", head="1")
    expect(output(page)).to_contain_text("o")
    visitor.set_offline(True)
    for text in ("s t e r", "s t e r n"):
        type_(page, text)
        trace = reverse.trace(text)
        expect(output(page).locator(".hs-chip")).to_have_text(list(trace.target_out_labels))
        exact(page)
        for row in range(len(trace.target_out)):
            for column in range(len(trace.source_tokens)):
                shown = weight_in(hover(page, "cross", row, column))
                assert shown == pytest.approx(float(trace.cross.weights[1, 0, row, column]), abs=6e-5), (row, column)
    visitor.set_offline(False)


def test_the_server_hears_of_a_sentence_after_a_pause_and_the_link_opens_it(
    visitor: BrowserContext, live_server: str, reverse: Pretrained
) -> None:
    page = with_engine(visitor, live_server, source="k a l o")
    type_(page, "m i r")
    wait_for_params(page, source="m i r")
    page.get_by_test_id("kind-encoder_self").click()
    wait_for_params(page, source="m i r", kind="encoder_self")
    copy = visitor.new_page()
    copy.goto(page.url)
    expect(output(copy).locator(".hs-chip")).to_have_text(list(reverse.trace("m i r").target_out_labels))


def test_an_old_picture_is_dim_until_the_new_one_is_there(context: BrowserContext, server: str) -> None:
    page = opened(context, server, checkpoint="reverse", source="k a l o")
    assert page.evaluate(READY) is None
    before = page.locator("[data-drawn]").get_attribute("data-drawn")
    type_(page, "k a l o s")
    page.wait_for_function(f"{STALE} === '0.4'")
    expect(page.locator("[data-drawn]")).not_to_have_attribute("data-drawn", before or "")  # and nobody pressed Enter
    page.wait_for_function(f"{STALE} === ''")
    wait_for_params(page, source="k a l o s")


def test_what_only_the_server_knows_comes_from_the_server(
    visitor: BrowserContext, live_server: str, reverse: Pretrained
) -> None:
    page = with_engine(visitor, live_server, source="k a l o")
    type_(page, "")
    expect(page.locator(".hs-error")).to_contain_text("the source text is empty", ignore_case=True)
    type_(page, "k a")
    expect(output(page).locator(".hs-chip")).to_have_text(list(reverse.trace("k a").target_out_labels))
    expect(page.locator(".hs-error")).to_have_count(0)
    without = opened(visitor, live_server, checkpoint="reverse~cross.1.1", source="k a l o")  # no graphs have that
    without.wait_for_timeout(1000)
    assert without.evaluate(READY) is None
    type_(without, "k a")
    expect(output(without)).to_contain_text("</s>")
    wait_for_params(without, source="k a")


# In every frame of the page: whether translations of the Lab are there, and marked as old.
WATCH = """
const written = [];
const seen = (root) => root.querySelectorAll("*").forEach((element) => {
  const found = element.shadowRoot?.querySelector(".hs-lab-translations");
  if (found?.textContent) written.push(found.hasAttribute("data-old"));
});
const watch = () => { seen(document); requestAnimationFrame(watch); };
watch();
window.written = written;
"""


def test_translations_stay_when_the_engine_takes_over(visitor: BrowserContext, live_server: str) -> None:
    page = visitor.new_page()
    page.add_init_script(WATCH)
    page.goto(f"{live_server}/lab?checkpoint=reverse&source=k+a+l+o")
    page.wait_for_function("window.written.length && window.__headscopeLive?.comparison?.written")
    page.wait_for_function("seen => window.written.length > seen + 2", arg=page.evaluate("window.written.length"))
    assert not any(page.evaluate("window.written"))


def test_words_outside_a_closed_vocabulary_are_named_while_one_types(
    visitor: BrowserContext, browser_path: str, tmp_path: Path
) -> None:
    closed_checkpoint(tmp_path)
    log = tmp_path / "log.txt"
    process, address = start(log, HEADSCOPE_ENGINE="on", HEADSCOPE_CHECKPOINTS=str(tmp_path))
    try:
        page = opened(visitor, address, checkpoint="ko-en", source="학교를 봐요")
        page.wait_for_function(READY)
        type_(page, "개명을 봐요")
        told = page.get_by_text("Not in this model's vocabulary: 개명을", exact=True)
        expect(told).to_be_visible()
        type_(page, "학교를 봐요")
        expect(told).to_have_count(0)
    finally:
        stop(process)
