"""Decoding, Feed-forward and Positions with the engine in the app: they follow the keys and the choices without the
server, which learns of them later."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.explorer_page import params_of, wait_for_params
from tests.browser.navigation import opened_at
from tests.browser.test_live import READY, type_
from transformer.inference.pretrained import Pretrained


def offline(context: BrowserContext, server: str, path: str, ready: str, **params: str) -> Page:
    """A page that the engine draws, without the server."""
    page = opened_at(context, f"{server}/{path}", ready, checkpoint="reverse", source="stone", **params)
    page.wait_for_function(READY)
    context.set_offline(True)
    return page


def lines(page: Page, count: int) -> list[str]:
    expect(page.locator(".decoding-line")).to_have_count(count)
    return ["".join(one.locator(".decoding-chip").all_inner_texts()) for one in page.locator(".decoding-line").all()]


def test_decoding_follows_keys_branches_and_a_beginning(
    visitor: BrowserContext, live_server: str, reverse: Pretrained
) -> None:
    page = offline(visitor, live_server, "decoding", "[data-testid=decoding-bar-1]", at="1.1")
    type_(page, "word")
    chips = page.locator(".decoding-line").first.locator(".decoding-chip")
    expect(chips).to_have_text([*reverse.translate("word").text, "</s>"])
    other = page.get_by_test_id("decoding-bar-2").locator(".decoding-token").inner_text()
    page.get_by_test_id("decoding-bar-2").click()
    first, second = lines(page, 2)
    assert second.removesuffix("</s>") == reverse.translate("word", prefix=other).text != first
    page.get_by_label("Begin with").fill("xy")
    expect(page.locator(".decoding-chip[data-forced]")).to_have_count(2)
    assert lines(page, 1)[0].removesuffix("</s>") == reverse.translate("word", prefix="xy").text
    visitor.set_offline(False)
    wait_for_params(page, begin="xy", source="word")
    assert "branches" not in params_of(page) and lines(page, 1)[0].startswith("xy")


def test_active_neurons_follow_keys_and_choices(visitor: BrowserContext, live_server: str, reverse: Pretrained) -> None:
    page = offline(visitor, live_server, "feedforward", "[data-testid=feedforward][data-drawn]")
    type_(page, "word")
    trace = reverse.trace("word")
    both = (trace.encoder_ff.activation, trace.decoder_ff.activation)
    for threshold in (0, 1):
        page.get_by_test_id("feedforward-threshold").fill(str(20 * threshold))
        share = max(float((one > threshold).double().mean(-1).max()) for one in both)
        told = f"{100 * share:.1f}% of a layer's neurons are active"
        expect(page.get_by_test_id("feedforward-says")).to_contain_text(told)
    page.locator(".ff-map").first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):  # w, o, o in layer 2
        page.keyboard.press(key)
    share = float((both[0][1, 1] > 1).double().mean())
    expect(page.get_by_test_id("tooltip")).to_contain_text(f"active {100 * share:.1f}%")
    expect(page.locator(".ff-part .hs-spoken").first).to_contain_text("2 · o, layer 2")
    visitor.set_offline(False)
    wait_for_params(page, threshold="100", source="word")


def test_the_tokens_under_the_encodings_follow_the_keys(visitor: BrowserContext, live_server: str) -> None:
    page = offline(visitor, live_server, "positions", "[data-testid=positions][data-drawn]", length="16")
    tokens = page.locator("[data-testid=positions-curves] .xtick text")
    rest = [str(position) for position in range(4, 16)]
    expect(tokens).to_have_text([*"stone", "</s>", *rest[2:]])
    type_(page, "abc")
    expect(tokens).to_have_text([*"abc", "</s>", *rest])
