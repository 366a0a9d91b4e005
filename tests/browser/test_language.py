"""No text of a page, picture, tooltip or menu stays English in the pseudo-language; each visitor reads their own."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from pages.registry import pages
from tests.browser.stillness import still
from tests.support.build import tiny_pretrained
from tests.support.locale_template import catalogue
from tests.support.pseudo import CODE, untranslated, write_catalogue
from tests.support.server import served
from transformer.checkpoints.folder import save_checkpoint

CROSS = {"place": "decoder.cross", "decoder": "2", "head": "2", "t": "1"}
SWITCHED = {"scaling": "off", "zero": "cross.1.2"}
PARTS = [(page.path, {"part": part} if part else {}) for page in pages() for part in page.content.parts() or ("",)]
# tests/pages/test_language.py reads every part without a browser; here the first of each page, the others before a
# release.
FIRST = [{}, *({"part": next(iter(page.content.parts()))} for page in pages() if page.content.parts())]
VIEWS: list[tuple[str, dict[str, str]]] = [
    *PARTS,
    ("", {"kind": "all", "cell": "2,2", "special": "renormalised", "pieces": "words"}),
    ("", {"kind": "cross", "view": "lines", "layer": "1", "head": "all", "summary": "max", "threshold": "0.5"}),
    ("lab", {**SWITCHED, "causal": "off", "kind": "decoder_self", "layer": "1", "head": "1"}),
    ("lab", {"part": "measures", **SWITCHED}),
    ("anatomy", SWITCHED),
    ("anatomy", {"zoom": "layer", "place": "encoder.self", "encoder": "1"}),
    *(("anatomy", {"zoom": "sub", **CROSS, "step": step}) for step in ("norm", "project", "softmax", "head_outputs")),
    ("anatomy", {"zoom": "sub", "place": "encoder.ff", "encoder": "1"}),
    ("anatomy", {"zoom": "sub", "place": "source"}),
    ("anatomy", {"zoom": "sub", "place": "output", "t": "1"}),
    ("anatomy", {"zoom": "number", **CROSS, "step": "dot", "row": "1", "col": "1"}),
    ("training", {"preset": "own"}),
]
# What Streamlit and plotly say themselves, in English only.
STREAMLIT = {
    "Open", "Choose an option", "Decrement", "Increment", "Fullscreen", "Download plot as a PNG", "Autoscale", "Pan",
    "Zoom", "Zoom in", "Zoom out", "Reset axes", "Skip to main content", "Clear value",
}  # fmt: skip
PAIRS = "one, eins\ntwo, zwei\nthree, drei"  # an example of what can be typed
SHOWN = "[data-testid=stApp][data-test-script-state=notRunning] .hs-brand"
# Everything painted on a canvas, as it is painted.
RECORD = """
window.hsPainted = new Set();
for (const name of ["fillText", "strokeText"]) {
  const paint = CanvasRenderingContext2D.prototype[name];
  CanvasRenderingContext2D.prototype[name] = function (text, ...more) {
    window.hsPainted.add(String(text));
    return paint.call(this, text, ...more);
  };
}
"""
# Every block of text of the document and of our components, what is read out, and what the pointer is told everywhere.
READ = """(all) => {
  const texts = new Set(window.hsPainted);
  const skipped = "noscript, style, script, code, math, svg.main-svg, .katex, [translate=no]";
  const inline = new Set(["B", "I", "EM", "STRONG", "SPAN", "SUB", "SUP", "A", "KBD", "BDI", "TSPAN", "ABBR"]);
  const markdown = "[data-testid=stMarkdownContainer]"; // one text of several paragraphs
  const textOf = (node, whole = node.matches?.(markdown)) => [...node.childNodes].map((child) =>
    child.nodeType === 3 ? child.data
    : child.nodeType === 1 && !child.matches(skipped) && (whole || inline.has(child.tagName.toUpperCase()))
      ? textOf(child, whole) : " ",
  ).join("");
  const elements = all.filter((element) => !element.closest(skipped));
  for (const element of elements) if (element.matches("details")) element.open = true;
  const read = (element) => {
    for (const name of ["aria-label", "title", "alt", "placeholder", "aria-valuetext"])
      if (element.getAttribute(name)) texts.add(element.getAttribute(name));
    const within = element.parentElement?.closest(markdown);
    if (!within && (!inline.has(element.tagName.toUpperCase()) || element.getRootNode() === element.parentNode))
      texts.add(textOf(element));
  };
  elements.forEach(read);
  const tips = elements.filter((element) => element.matches(".hs-tip"));
  const point = (element, x, y) => {
    for (const type of ["pointerenter", "pointermove"])
      element.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, bubbles: type === "pointermove" }));
    for (const tip of tips) if (!tip.hidden) [tip, ...tip.querySelectorAll("*")].forEach(read);
  };
  for (const element of elements.filter((element) => element.closest(".hs"))) {
    const { left, top, width, height } = element.getBoundingClientRect();
    const steps = element.tagName === "CANVAS" ? 9 : 1;
    for (let i = 0; i < steps; i++)
      for (let j = 0; j < steps; j++)
        point(element, left + (width * (i + 0.5)) / steps, top + (height * (j + 0.5)) / steps);
    element.dispatchEvent(new PointerEvent("pointerleave"));
  }
  return [...texts, ...window.hsPainted];
}"""


@pytest.fixture(scope="module")
def address(browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app with the pseudo-language, a little German, and a model whose words are no language's."""
    folder = tmp_path_factory.mktemp("language")
    (folder / "locale").mkdir()
    write_catalogue(folder / "locale")
    (folder / "locale" / "de.po").write_bytes(catalogue({"Heads": "Köpfe"}, "de"))
    tiny = tiny_pretrained()
    save_checkpoint(folder / "models" / "tiny", tiny.model, tiny.tokenizer, tiny.languages)
    given = {"HEADSCOPE_LOCALE": str(folder / "locale"), "HEADSCOPE_CHECKPOINTS": str(folder / "models")}
    with served(folder, **given) as app:
        yield app.address


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US")
    context.add_init_script(RECORD)
    yield context.new_page()
    context.close()


def _view(path: str, view: dict[str, str], later: bool) -> Any:
    """later: read before a release, not before every merge."""
    return pytest.param(
        path, view, id=f"{path or 'heads'}-{'-'.join(view.values())}", marks=pytest.mark.long if later else ()
    )


@pytest.mark.parametrize("path, view", [_view(*one, one in PARTS and one[1] not in FIRST) for one in VIEWS])
def test_no_text_stays_english(page: Page, address: str, path: str, view: dict[str, str]) -> None:
    sentence = {"checkpoint": "tiny", "source": "ka lo mi", "target": "re sta vu", "lang": CODE}
    page.goto(f"{address}/{path}?{urlencode({**sentence, **view})}")
    page.wait_for_selector(SHOWN)
    still(page)
    said = page.locator("*").evaluate_all(READ)
    texts = [text.removeprefix("Help for") for text in said if text.strip() not in {*STREAMLIT, PAIRS}]
    assert any("⟦" in text for text in texts)
    assert {text: words for text in texts if (words := untranslated(text))} == {}


def test_two_visitors_read_two_languages_and_keep_their_choice(
    another: Callable[..., BrowserContext], address: str
) -> None:
    german, english = (another(locale=locale).new_page() for locale in ("de-DE", "en-GB"))
    for page in (german, english):
        page.goto(address)
        page.wait_for_selector(SHOWN)
    header = ".st-key-hs-header"
    assert "Köpfe" in german.inner_text(header) and "Köpfe" not in english.inner_text(header)
    assert german.evaluate("document.documentElement.lang") == "de"
    english.goto(f"{address}/?lang=de")
    expect(english.locator(header)).to_contain_text("Köpfe")
    still(english)
    assert "lang=" not in english.url
    english.goto(f"{address}/?kind=cross")
    expect(english.locator(header)).to_contain_text("Köpfe")
