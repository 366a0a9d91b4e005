"""The engine in the app, in Chromium: pictures follow the keys and choices, the numbers are those of Python, and the
server is asked only for what it alone knows. tests/web/ compares what the engine computes with Python's numbers."""

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.anatomy_page import Anatomy
from tests.browser.explorer_page import exact, hover, opened, params_of, wait_for_params, weight_in
from tests.browser.navigation import opened_at
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


def test_the_picture_follows_the_keys_without_the_server_which_hears_of_it(
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
    wait_for_params(page, source="s t e r n")  # the server hears of it
    page.get_by_test_id("kind-encoder_self").click()
    wait_for_params(page, source="s t e r n", kind="encoder_self")


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


# -- Decoding, Feed-forward and Positions -----------------------------------------------------------------------------


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


# -- the anatomy ------------------------------------------------------------------------------------------------------


@pytest.fixture
def anatomy(visitor: BrowserContext, live_server: str) -> Anatomy:
    """A drawing whose numbers come from the engine, in a browser without a network."""
    found = Anatomy(visitor.new_page(), live_server, checkpoint="reverse", source="k a l o", target="")
    found.page.wait_for_function(READY)
    found.page.wait_for_timeout(300)  # its pass over the sentence that is drawn already
    visitor.set_offline(True)
    return found


def go(anatomy: Anatomy, matrix: str, **partial: object) -> None:
    """Until the drawing has a matrix of where it goes."""
    anatomy.element.evaluate("({ anatomy }, partial) => anatomy.go(partial)", partial)
    anatomy.until(f"anatomy.data.matrix('{matrix}')")


def test_the_drawing_follows_keys_and_steps_without_the_server(anatomy: Anatomy, reverse: Pretrained) -> None:
    before = anatomy.element.get_attribute("data-drawn") or ""
    assert "engine" not in before  # the server's picture stays as it is, until something is new
    go(anatomy, "place.weights", zoom="sub", place="decoder.cross", decoder=1, step="softmax")
    assert anatomy.element.get_attribute("data-drawn") == before
    type_(anatomy.page, "s t e r n")
    labels = ",".join(reverse.trace("s t e r n").target_out_labels)
    anatomy.until(f"anatomy.data.labels('target_out').join() === '{labels}'")
    anatomy.until("anatomy.data.matrix('place.weights')")
    go(anatomy, "W_1", place="encoder.ff", encoder=0, step="inner")
    go(anatomy, "place.rows", place="source", step="row", zoom="number")


def test_a_switch_is_drawn_at_once_and_the_server_hears_of_it(anatomy: Anatomy) -> None:
    go(anatomy, "place.head_outputs", zoom="sub", place="decoder.cross", decoder=1, head=2, step="values")
    anatomy.element.evaluate("({ anatomy }) => anatomy.switches.knock()")
    notes, said = anatomy.page.get_by_test_id("anatomy-notes"), "1 head knocked out: cross-attention, layer 2, head 3."
    expect(notes).to_have_text(f"Switched: {said}", use_inner_text=True)
    anatomy.page.context.set_offline(False)
    anatomy.told()
    wait_for_params(anatomy.page, zero="cross.2.3", zoom="sub", decoder="2", head="3", step="values")
