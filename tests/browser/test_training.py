"""The page of training in a real browser, with real workers: the whole way of a class, and each of its corners."""

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pages.registry import pages
from tests.browser.live_training_page import (
    BUSY,
    card,
    held_step,
    opened,
    press,
    press_train,
    settled,
    stage,
    step,
    train,
    wait_for_frames,
    wait_for_step,
)
from tests.browser.navigation import link_to, taken
from tests.browser.stillness import still
from transformer.checkpoints.archive import read_zip
from transformer.inference.pretrained import open_files

SCROLLS = "document.querySelector('[data-testid=stMain]').scrollWidth > innerWidth + 1"


@pytest.fixture
def page(context: BrowserContext) -> Page:
    context.set_default_timeout(60_000)
    return context.new_page()


def drawn(page: Page) -> str:
    return str(page.get_by_test_id("training-grid-cross").evaluate("canvas => canvas.toDataURL()"))


def test_a_class_trains_compares_and_opens_models(
    page: Page, visitor: BrowserContext, server: str, tmp_path: Path
) -> None:
    opened(page, server, "?steps=600")
    expect(page.get_by_text(re.compile("600 steps.*at most 120 s of computing time"))).to_be_visible()
    press_train(page)
    stage(page, "training")

    # It moves by itself, is held, and goes on.
    wait_for_step(page, 1)
    seen = {drawn(page)}
    until = time.monotonic() + BUSY / 1000
    while len(seen) <= 3 and time.monotonic() < until:
        page.wait_for_timeout(150)
        seen.add(drawn(page))
    assert len(seen) > 3, "the heads are not redrawn while it trains"
    press(page, "pause")
    stage(page, "paused")
    held = held_step(page)
    press(page, "go")
    stage(page, "training")
    wait_for_step(page, held + 1)

    # Back to the first step while it trains: the browser does that alone.
    page.get_by_test_id("training-slider").fill("0")
    wait_for_frames(page)
    first = drawn(page)
    page.wait_for_timeout(600)
    assert step(page) == 0 and drawn(page) == first
    page.get_by_test_id("training-live").click()
    wait_for_step(page, 1)

    # Stopped, its model is there all the same; again, with the next seed.
    press(page, "stop")
    stage(page, "done")
    expect(card(page)).to_contain_text("stopped at step")
    after = page.locator("[class*=st-key-hs-after-]")
    expect(after).to_have_count(1)
    press(page, "again")
    expect(page.get_by_test_id("training-run")).to_have_count(2, timeout=BUSY)
    expect(card(page, 1)).to_contain_text("seed 2")
    stage(page, "training", 1)
    press(page, "stop", 1)
    stage(page, "done", 1)
    press(page, "remove", 1)
    expect(page.get_by_test_id("training-run")).to_have_count(1)

    # The same without the mask, laid over it; what the paper says stands beside what happened.
    page.get_by_role("radio", name="No causal mask").click()
    page.wait_for_url(re.compile("preset=no-mask"))  # the run of that click may not have begun
    settled(page)
    press_train(page)
    expect(page.get_by_test_id("training-run")).to_have_count(2, timeout=BUSY)
    expect(card(page, 1)).to_contain_text("no causal mask")
    stage(page, "training", 1)
    table = page.get_by_test_id("training-findings")
    expect(table).to_contain_text("no causal mask", timeout=BUSY)
    press(page, "stop", 1)
    stage(page, "done", 1)
    expect(table).to_contain_text("It ended early")

    # A page opens it; the menu keeps it. tests/pages/training opens it on every page.
    name = [listed.title for listed in pages() if listed.opens_models][-1]
    after.nth(1).get_by_role("link", name=name, exact=True).click()
    page.wait_for_url(re.compile("checkpoint=mine"))
    expect(page.locator("h1")).to_have_text(name)
    settled(page)
    assert "mine/reverse" in page.get_by_role("combobox", name="Checkpoint").first.input_value()
    link_to(page, "Training").click()
    page.wait_for_selector(".st-key-training_train")
    settled(page)
    expect(page.get_by_test_id("training-run")).to_have_count(2)

    # As a zip, and in another session, which has no such model until the zip is loaded there.
    file, content = taken(after.nth(1).get_by_role("button", name="Download (zip)"))
    (path := tmp_path / file).write_bytes(content)
    assert path.suffix == ".zip" and not open_files(read_zip(content), "x").config.causal
    assert b"causal = false" in taken(after.nth(1).get_by_role("button", name="Recipe"))[1]
    second = visitor.new_page()
    opened(second, server, "?" + page.url.partition("?")[2])
    message = second.locator(".hs-message").first
    expect(message).to_contain_text("in another session")
    second.get_by_test_id("training-file-input").set_input_files(path)
    expect(message).to_contain_text("It is open now on every page", timeout=BUSY)
    link_to(second, "Heads").click()
    second.wait_for_url(re.compile("checkpoint=mine"))


def test_pasted_pairs_stay_in_the_field_and_are_trained(page: Page, server: str) -> None:
    opened(page, server, "?preset=own&steps=40")
    train_button = page.get_by_role("button", name="Train it live", exact=True)
    expect(train_button).to_be_disabled()
    field = page.get_by_role("textbox", name=re.compile("^Your pairs"))
    field.fill("one, eins\n<b>two</b>")
    field.blur()
    expect(page.locator(".hs-error")).to_contain_text("Line 2")
    expect(field).to_have_value("one, eins\n<b>two</b>")
    pairs = "\n".join(f"{'ab' * (n % 4 + 1)}{chr(99 + n)}, <b>{chr(99 + n)}</b>" for n in range(20))
    field.fill(pairs)
    field.blur()
    expect(train_button).to_be_enabled()
    expect(page.locator(".hs-error")).to_have_count(0)
    press_train(page)
    stage(page, "done")
    expect(page.get_by_test_id("training-predictions")).to_contain_text("</b>")
    assert "eins" not in page.url and "%3Cb" not in page.url
    link_to(page, "Lab").click()
    page.wait_for_selector("[data-drawn]")
    link_to(page, "Training").click()
    expect(field).to_have_value(pairs)


def test_nothing_is_cut_off_while_it_trains(page: Page, server: str) -> None:
    """On a phone, and then on a narrow screen, where the groups of pages and the menus stand in one line."""
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, server, "?steps=600")
    train(page, 3)
    assert not page.evaluate(SCROLLS)
    top = page.get_by_test_id("training").bounding_box()
    wait_for_step(page, 12)
    assert top is not None and page.get_by_test_id("training").bounding_box()["y"] == top["y"], "the picture jumps"  # type: ignore[index]
    press(page, "stop")
    stage(page, "done")
    expect(page.locator("[class*=st-key-hs-after-]")).to_have_count(1)
    assert not page.evaluate(SCROLLS)
    page.set_viewport_size({"width": 1280, "height": 800})
    still(page)
    assert not page.evaluate(SCROLLS)
    links = page.locator(".hs-pages-wide").locator("> :is(a, details)")
    expect(links).to_have_count(5)
    big = page.get_by_role("button", name="Aa")
    first, last = links.first.bounding_box(), big.bounding_box()
    assert first and last and abs((first["y"] + first["height"] / 2) - (last["y"] + last["height"] / 2)) < 12
    assert last["x"] + last["width"] <= 1280
