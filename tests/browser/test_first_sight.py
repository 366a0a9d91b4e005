"""The first sight of a sentence: what somebody without a link sees."""

import base64
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.canvas import tile
from tests.browser.explorer_page import opened, params_of, wait_for_params
from tests.browser.navigation import opened_at, saved, sized_page
from transformer.inference.pretrained import Pretrained

# How far the first line of a saved picture is from the same text in a font of the page, of 255.
DISTANCE = """async ([png, text, size, x, y, colour, font]) => {
  await document.fonts.load(`${size}px ${font}`);
  const image = new Image();
  image.src = "data:image/png;base64," + png;
  await image.decode();
  const [width, height] = [image.width, Math.ceil(2 * y) + 8];
  const pixels = (draw) => {
    const context = Object.assign(document.createElement("canvas"), {width, height}).getContext("2d");
    draw(context);
    return context.getImageData(0, 0, width, height).data;
  };
  const saved = pixels((context) => context.drawImage(image, 0, 0));
  const drawn = pixels((context) => {
    context.fillStyle = `rgb(${saved.slice(0, 3).join()})`;
    context.fillRect(0, 0, width, height);
    Object.assign(context, {fillStyle: colour, font: `${2 * size}px ${font}`});
    context.fillText(text, 2 * x, 2 * y);
  });
  return saved.reduce((sum, one, at) => sum + Math.abs(one - drawn[at]), 0) / saved.length;
}"""
# How far the first lines were after a word that is pointed at drew them anew, and whether they were still the same.
DRAWN = """new Promise((done) => {
  const sight = () =>
    [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")]
      .map((part) => part.shadowRoot?.querySelector("[data-testid=sight]"))
      .find(Boolean);
  const progress = () => sight()?.querySelector("path")?.getAnimations()[0]?.effect.getComputedTiming().progress ?? 0;
  const look = () => {
    if (progress() < 0.3) return requestAnimationFrame(look);
    const [svg, line] = [sight(), sight().querySelector("path")];
    const { x, y } = svg.querySelector("text[data-side=target]").getBoundingClientRect();
    svg.dispatchEvent(new PointerEvent("pointermove", { clientX: x + 5, clientY: y + 5 }));
    requestAnimationFrame(() => {
      const now = progress();
      svg.addEventListener("animationend", () => done([now, line.isConnected]), { once: true });
    });
  };
  look();
})"""
SVG = "{http://www.w3.org/2000/svg}"
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
SIGHT = "[data-sight=first] [data-testid=sight] path"


@pytest.fixture
def first(context: BrowserContext, server: str) -> Page:
    return opened_at(context, server, SIGHT)


def words(page: Page, side: str) -> list[str]:
    return page.locator(f"[data-testid=sight] text[data-side={side}]").all_text_contents()


def strong(page: Page) -> int:
    """Lines that are not faded."""
    return page.locator("[data-testid=sight] path:not([stroke-opacity='0.06'])").count()


def test_a_visitor_sees_the_translation_and_the_lines_of_one_head(first: Page, model: Pretrained) -> None:
    source = first.locator(".st-key-source input")
    trace = model.trace(source.input_value())
    said = first.get_by_test_id("sight-says")
    assert " ".join(words(first, "target")) == "Der Mann , der mich gestern angerufen hat , ist mein Bruder ."
    assert trace.target_text == "Der Mann, der mich gestern angerufen hat, ist mein Bruder."
    expect(said).to_contain_text("Layer 2, head 6: having read angerufen, it looks at called (1.00)")
    expect(first.locator(".st-key-target")).to_be_hidden()
    expect(first.locator(".hs-seg")).to_be_hidden()
    assert first.locator("button[kind=primary]").all_inner_texts() == ["Start the 10-minute lesson"]
    wait_for_params(first, sight="first")


def test_the_first_lines_draw_themselves_once(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    page.add_init_script(f"window.drawn = {DRAWN}")
    page.goto(server)
    at, kept = page.evaluate("window.drawn")
    assert at >= 0.3 and not kept
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    lines = page.locator("[data-testid=sight] path")
    assert lines.first.evaluate("line => line.getAnimations().length") == 0


def test_the_lines_begin_at_the_words_in_the_field(first: Page) -> None:
    field = first.locator(".st-key-source input").bounding_box()
    assert field is not None
    starts = first.eval_on_selector_all(
        "[data-testid=sight] path", "all => all.map(one => one.getPointAtLength(0).matrixTransform(one.getScreenCTM()))"
        ".map(({x, y}) => [x, y])",
    )  # fmt: skip
    assert all(field["x"] < x < field["x"] + field["width"] for x, _ in starts)
    assert all(0 <= y - field["y"] - field["height"] < 30 for _, y in starts)
    assert len({round(x) for x, _ in starts}) == 10  # nine words and the full stop


def test_a_word_that_is_pointed_at_keeps_its_lines(first: Page) -> None:
    every = strong(first)
    first.locator("[data-testid=sight] text[data-side=target]", has_text="mich").hover(force=True)
    expect(first.get_by_test_id("sight-says")).to_contain_text("having read mich, it looks at me")
    assert 0 < strong(first) < every
    first.locator("[data-testid=sight] text[data-side=target]", has_text="mich").click(force=True)
    wait_for_params(first, cell="6,5")


def test_in_big_text_the_buttons_stand_beside_the_texts(context: BrowserContext, server: str) -> None:
    page = sized_page(context, 1280, 720)
    page.goto(f"{server}/?big=1")
    page.wait_for_selector(SIGHT)
    lead, caption = page.locator(".st-key-hs-heads-lead p.hs-lead"), page.get_by_test_id("sight-says")
    for text, button in ((lead, page.locator("button[kind=primary]")), (caption, page.get_by_test_id("sight-all"))):
        left, right = text.bounding_box(), button.bounding_box()
        assert left and right and left["x"] + left["width"] < right["x"]
        assert abs(left["y"] + left["height"] / 2 - right["y"] - right["height"] / 2) < 3
    assert left and left["height"] < 40  # one line


def test_the_lines_and_the_large_picture_show_the_head_that_is_pointed_at(first: Page) -> None:
    large = first.get_by_test_id("head-cross")
    title = first.locator(".hs-head-box h2 span")
    said = first.get_by_test_id("sight-says")
    before = large.evaluate("canvas => canvas.toDataURL()")
    grid = first.get_by_test_id("grid-cross")
    at = tile(grid, 3, 2)
    grid.hover(position={"x": at["x"] + 5, "y": at["y"] + 5})
    expect(said).to_contain_text("Layer 4, head 3")
    expect(title).to_have_text("Layer 4, head 3")
    assert large.evaluate("canvas => canvas.toDataURL()") != before
    first.mouse.move(5, 5)
    expect(said).to_contain_text("Layer 2, head 6")
    expect(title).to_have_text("Layer 2, head 6")
    assert large.evaluate("canvas => canvas.toDataURL()") == before


def test_switches_and_numbers_stand_behind_two_buttons(first: Page, context: BrowserContext, server: str) -> None:
    expect(first.locator(".hs-stats")).to_be_hidden()
    first.get_by_test_id("sight-how").click()
    expect(first.locator(".hs-stats")).to_be_visible()
    wait_for_params(first, sight="how")
    first.get_by_test_id("sight-all").click()
    for shown, hidden in ((".hs-seg", "[data-testid=sight]"), (".st-key-target", "[data-testid=sight]")):
        expect(first.locator(shown)).to_be_visible()
        expect(first.locator(hidden)).to_be_hidden()
    again = opened_at(context, server, ".hs-seg")  # who opened the switches keeps them
    again.get_by_test_id("sight-first").click()
    expect(again.get_by_test_id("sight")).to_be_visible()
    wait_for_params(again, sight="first")
    link = opened(context, server, kind="cross", layer="3", head="3")  # opens all of it
    expect(link.get_by_test_id("sight")).to_be_hidden()
    expect(link.locator(".hs-seg")).to_be_visible()
    assert "sight" not in params_of(link)


def test_another_sentence_has_another_finding(first: Page) -> None:
    first.locator(".st-key-source input").fill("Yesterday the old woman bought a small house.")
    expect(first.get_by_test_id("sight-says")).not_to_contain_text("angerufen")
    assert "alte" in words(first, "target")
    first.set_viewport_size(PHONE)  # type: ignore[arg-type]
    expect(first.locator("[data-testid=sight] text[data-side=source]").first).to_have_text("Yesterday")
    boxes = [
        first.locator(f"[data-testid=sight] text[data-side={side}]").first.bounding_box()
        for side in ("source", "target")
    ]
    assert boxes[0] is not None and boxes[1] is not None
    assert boxes[0]["x"] < 195 < boxes[1]["x"]  # in two columns


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_words_lines_and_caption_are_saved(first: Page, size: dict[str, int], model: Pretrained) -> None:
    first.set_viewport_size(size)  # type: ignore[arg-type]
    source = first.locator(".st-key-source input").input_value()
    expect(first.locator("[data-testid=sight] text[data-side=source]")).to_have_count(0 if size is WIDE else 10)
    root = ElementTree.fromstring(saved(first, "sight-save", "svg")[1])
    fonts = re.findall(r'"(.+?)"|([^", ]+)', root.attrib["font-family"])
    assert fonts[0][0] == "Source Sans" and ("Noto Sans CJK KR", "") in fonts and fonts[-1][1] == "sans-serif"
    texts = {side: [] for side in ("source", "target", None)}
    for text in root.iter(f"{SVG}text"):
        texts[text.get("data-side")].append(text.text)
    assert "".join(texts["source"]) == source.replace(" ", "")
    assert "".join(texts["target"]) == model.trace(source).target_text.replace(" ", "")
    caption = " ".join(texts[None])
    assert caption.startswith("Layer 2, head 6: having read angerufen, it looks at called (1.00). Special tokens are")
    assert len(list(root.iter(f"{SVG}path"))) == first.locator("[data-testid=sight] path").count() > 10


def test_a_saved_file_has_nothing_of_what_is_pointed_at(context: BrowserContext, server: str) -> None:
    page = opened(context, server, sight="first", view="lines")
    for part, menu in (("sight", "sight-save"), ("lines-cross", "save")):
        files, faded = [], f"[data-testid={part}] :is([opacity='0.1'], [stroke-opacity='0.06'])"
        for word in (False, True):
            page.mouse.move(5, 5)
            if word:
                page.get_by_test_id(part).locator("text", has_text="Hund").hover(force=True)
                expect(page.locator(faded)).not_to_have_count(0)
            page.get_by_test_id(menu).evaluate("menu => (menu.open = true)")
            with page.expect_download() as download:
                page.get_by_test_id(f"{menu}-svg").press("Enter")
            files.append(Path(download.value.path()).read_bytes())
        assert files[0] == files[1]


def test_a_saved_png_has_the_font_of_the_page(first: Page) -> None:
    line = next(ElementTree.fromstring(saved(first, "sight-save", "svg")[1]).iter(f"{SVG}text"))
    x, y, size = (float(line.attrib[name]) for name in ("x", "y", "font-size"))
    given = [
        base64.b64encode(saved(first, "sight-save", "png")[1]).decode(),
        line.text,
        size,
        x,
        y,
        line.attrib["fill"],
    ]
    own, other = (first.evaluate(DISTANCE, [*given, font]) for font in ('"Source Sans"', "sans-serif"))
    assert own < 0.5 < other


def test_the_menu_that_saves_is_seen_with_pointer_keyboard_and_touch(
    first: Page, another: Callable[..., BrowserContext], server: str
) -> None:
    menu, head = first.get_by_test_id("save"), first.get_by_test_id("head-cross")
    for act, seen in ((lambda: None, "0"), (head.hover, "1"), (lambda: None, "0"), (head.focus, "1")):
        first.mouse.move(5, 5)
        act()
        expect(menu).to_have_css("opacity", seen)
        expect(first.get_by_test_id("sight-save")).to_have_css("opacity", "0")
    phone = opened_at(another(viewport=PHONE, has_touch=True, is_mobile=True), server, SIGHT)
    for name in ("save", "sight-save"):
        expect(phone.get_by_test_id(name)).to_have_css("opacity", "1")
