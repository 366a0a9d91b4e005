"""Markup in any text stays text: known attack strings in every field, link, checkpoint and file that is taken home."""

import csv
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, expect

import transformer
from pages.registry import pages
from tests.browser.attacks import ATTACKS, FOUND, NAME, RECORD, TYPED, WRITTEN, evil_checkpoint
from tests.browser.navigation import saved, taken
from tests.browser.stillness import still
from tests.support.server import WAIT, served
from transformer.inference.pretrained import Pretrained

ALL = " ".join(ATTACKS)
EVERY = [(page.path, part) for page in pages() for part in page.content.parts() or ("",)]
FIRST = {"", *(next(iter(page.content.parts())) for page in pages() if page.content.parts())}
# No word of the sentence in them: visited before a release, with all parts but the first.
SILENT = {("positions", "encoding"), *((page.path, part) for page in pages() for part in page.content.alone)}
SILENT |= {(page.path, next(iter(page.content.parts()), "")) for page in pages() if not page.content.sentence}
SILENT -= {("model", "")}
VISITED = [
    pytest.param(
        page,
        part,
        id=f"{page or 'heads'}-{part or 'whole'}",
        marks=pytest.mark.long if (page, part) in SILENT or part not in FIRST else (),
    )
    for page, part in EVERY
]
SWITCHED = {"scaling": "off", "zero": "cross.1.2", "positions": "reverse@source"}


def printable(label: str) -> str:
    """As `printable` of dom.js and `plain` of figures write it: what turns or breaks a line is a dot."""
    return re.sub("[\u2028-\u202e\u2060-\u206f\ufeff]", "·", label)


@pytest.fixture(scope="module")
def evil(browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an app whose first checkpoint attacks."""
    folder = tmp_path_factory.mktemp("evil")
    evil_checkpoint(folder)
    with served(folder, HEADSCOPE_CHECKPOINTS=str(folder), HEADSCOPE_MAX_TOKENS="400") as app:
        yield app.address


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Pretrained:
    return transformer.load(evil_checkpoint(tmp_path_factory.mktemp("model")))


@pytest.fixture(scope="module")
def watched(browser: Browser) -> Iterator[Page]:
    """The one page of a browser that records scripts that ran, requests to other servers, and windows that opened."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(WAIT)
    context.add_init_script(RECORD)
    page = context.new_page()
    page.failures = []  # type: ignore[attr-defined]

    def request(sent: Request) -> None:
        if urlsplit(sent.url).scheme not in ("data", "blob", "file") and urlsplit(sent.url).hostname != "localhost":
            page.failures.append(sent.url)  # type: ignore[attr-defined]

    context.on("request", request)
    page.on("pageerror", lambda error: page.failures.append(str(error)))  # type: ignore[attr-defined]
    page.on("dialog", lambda dialog: (page.failures.append(dialog.message), dialog.dismiss()))  # type: ignore[attr-defined]
    yield page
    context.close()


def open_folds(page: Page) -> None:
    page.locator("details").evaluate_all("all => all.forEach((element) => { element.open = true; })")


def safe(page: Page) -> None:
    """No script ran, no request left the server, and no element on the page comes from typed markup."""
    assert page.locator("*").evaluate_all(FOUND) == []
    assert len(page.context.pages) == 1 and not page.failures  # type: ignore[attr-defined]


def opened(page: Page, address: str) -> Page:
    page.failures.clear()  # type: ignore[attr-defined]
    page.goto(address)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning] .hs-brand")
    drawn(page)
    return page


def link(evil: str, name: str = "", **params: str) -> str:
    return f"{evil}/{name}?{urlencode({'checkpoint': NAME, 'source': ALL, 'target': ALL, **params})}"


def drawn(page: Page) -> None:
    still(page)
    assert page.locator("[data-testid=stException]").count() == 0


@pytest.mark.parametrize("name, part", VISITED)
def test_markup_stays_text_on_every_page(watched: Page, evil: str, name: str, part: str) -> None:
    switches = SWITCHED if name in ("lab", "anatomy") or part == "lab" else {}
    page = opened(watched, link(evil, name, **({"part": part} if part else {}), **switches))
    open_folds(page)
    still(page)
    safe(page)
    if next(one for one in pages() if one.path == name).content.sentence:
        expect(page.get_by_label(re.compile("^Source ·"))).to_have_value(ALL)
    written = page.locator("body *").evaluate_all(WRITTEN).replace(ALL, "")
    if (name, part) not in SILENT and name != "model":
        seen = [attack for attack in ATTACKS if attack in written or printable(attack) in written]
        assert len(seen) >= 2, f"only {seen} are to be read"
    if (name, part) != ("results", "bleu"):  # it divides texts into tokens, and "bold" is one
        for bold in ("bold", "nine", "line"):  # stand between tags in the strings, and are never set apart
            assert page.get_by_text(bold, exact=True).count() == 0


def test_figures_show_tokens_as_plain_text(watched: Page, evil: str) -> None:
    page = opened(watched, link(evil, "embeddings", part="norms"))
    box = page.locator("[data-testid=figure] .hs-fig-plot").first
    expect(box).to_have_attribute("role", "application")
    page.wait_for_selector(".hs-fig[data-drawn]")
    box.focus()
    for number, attack in enumerate(ATTACKS, 1):  # the hover of plotly, which knows a little markup itself
        page.keyboard.press("ArrowRight")
        spoken = page.locator("[data-testid=figure] .hs-spoken").first
        expect(spoken).to_contain_text(f"{number} · {printable(attack)}")
    safe(page)
    ticks = box.locator(".xtick text").all_text_contents()
    labels = [f"{text[:17]}…" if len(text) > 18 else text for text in ATTACKS]
    written = {tick.split(" · ", 1)[-1] for tick in ticks}
    assert {printable(label) for label in labels} <= written | {"…"} or len(ticks) < 40
    assert box.locator("a, .xtick tspan[style*=weight]").count() == 0
    figure = page.locator("[data-testid=figure]").first
    check_svg(saved(figure, "figure-save", "svg")[1].decode())
    check_csv(saved(figure, "figure-save", "csv")[1].decode())


def check_svg(content: str) -> None:
    root = ElementTree.fromstring(content)
    for element in root.iter():
        assert element.tag.split("}")[-1] not in ("script", "a", "foreignObject", "iframe")
        assert not [name for name in element.attrib if name.lower().startswith("on")]
    assert "<script>attacked(" in "".join(root.itertext())


def check_csv(content: str) -> None:
    cells = [cell for row in csv.reader(content.lstrip("\ufeff").splitlines()) for cell in row]
    for cell in cells:
        assert not re.match(r"[=+@\t\r-]", cell) or re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", cell), cell
    assert "'=HYPERLINK(attacked)" in cells and "'+1+1" in cells and ATTACKS[0] in cells


def test_markup_stays_text_in_the_explorer_and_its_downloads(watched: Page, evil: str, tmp_path: Path) -> None:
    page = opened(watched, link(evil, kind="cross", layer="1", head="1"))
    plot = page.get_by_test_id("head-cross")
    area = plot.evaluate("element => JSON.parse(element.dataset.plot)")
    at = plot.bounding_box()
    assert at
    for number in (0, 1, 3, 9, 31):
        page.mouse.move(
            at["x"] + area["left"] + (number + 0.5) * area["cw"], at["y"] + area["top"] + (number + 0.5) * area["ch"]
        )
        attack = printable(ATTACKS[number])
        expect(page.get_by_test_id("tooltip").locator("div").first).to_have_text(f"{attack} → {attack}")
    chips = page.locator(".hs-chip")
    assert chips.all_text_contents()[: len(ATTACKS)] == [printable(attack) for attack in ATTACKS]
    chips.nth(1).hover()
    expect(page.get_by_test_id("tooltip")).to_contain_text(ATTACKS[1])
    safe(page)
    files = {}
    for kind in ("svg", "csv"):
        name, content = saved(page, "save", kind)
        assert not re.search(r"[<>\"'/\\]", name)
        files[kind] = content.decode()
    check_svg(files["svg"])
    check_csv(files["csv"])
    page.get_by_text("Download", exact=True).click()
    files["html"] = taken(page.get_by_role("button", name="This picture as an HTML page").first)[1].decode()
    for kind in ("svg", "html"):
        alone = opened_file(watched, tmp_path / f"taken.{kind}", files[kind])
        if kind == "html":
            assert alone.title().startswith(f"Headscope: {ATTACKS[0]}")
            expect(alone.locator("header span")).to_have_text(f"{ALL} → {ALL}")
            assert alone.locator(".hs-chip").all_text_contents()[1] == ATTACKS[1]
            alone.locator(".hs-chip").nth(1).hover()
            open_folds(alone)
        safe(alone)


def opened_file(page: Page, path: Path, content: str) -> Page:
    path.write_text(content, encoding="utf-8")
    page.goto(path.as_uri())
    still(page)
    return page


def test_markup_stays_text_in_a_notebook(watched: Page, model: Pretrained, tmp_path: Path) -> None:
    cell = model.trace(ALL, ALL)._repr_html_()
    document = f"<!doctype html><meta charset=utf-8><title>n</title><p>before</p>{cell}<p>after"
    notebook = opened_file(watched, tmp_path / "notebook.html", document)
    frame = notebook.frame_locator("iframe")
    assert frame.locator(".hs-chip").all_text_contents()[1] == ATTACKS[1]
    assert "allow-same-origin" not in (notebook.locator("iframe").get_attribute("sandbox") or "")
    for inner in notebook.frames[1:]:
        assert inner.locator("*").evaluate_all(FOUND) == []
    assert notebook.locator("body > *").evaluate_all("all => all.map(n => n.tagName)") == ["P", "IFRAME", "P"]
    assert notebook.evaluate("window.attackedBy") == [] and watched.failures == []  # type: ignore[attr-defined]


def test_names_and_cards_of_checkpoints_stay_text(watched: Page, evil: str, model: Pretrained) -> None:
    page = opened(watched, link(evil, source="lo mi"))
    label = page.locator("[data-testid=stTextInput] label").first.text_content() or ""
    assert model.languages[0].replace("\u2060", "") in label.replace("\u2060", "")
    assert page.locator("[data-testid=stTextInput] label :is(strong, em, a, img, code, [style*=color])").count() == 0
    page.get_by_text("Examples", exact=True).click()
    buttons = page.locator("[data-testid=stPopoverBody] button")
    expect(buttons).to_have_count(len(ATTACKS) + len(TYPED))
    titles = [text.replace("\u2060", "") for text in buttons.all_text_contents()]
    assert titles == [" ".join(text.split()) for text in (*ATTACKS, *TYPED)]
    notes = page.locator("[data-testid=stPopoverBody] .hs-look").all_text_contents()
    for text, note in zip((*ATTACKS, *TYPED), notes, strict=True):
        assert note.count(text) == 2
    safe(page)
    buttons.nth(1).click()
    drawn(page)
    expect(page.get_by_label(re.compile("^Source ·"))).to_have_value(ATTACKS[1])
    safe(page)
    page = opened(watched, link(evil, "model"))
    card = page.locator("[data-testid=stMarkdown]").last
    expect(card).to_contain_text("<script>attacked(1)</script>")
    unsafe = card.locator("script, iframe, a[href^=javascript], img:not([src^='data:'], [alt^=Mermaid][src^='blob:'])")
    assert unsafe.evaluate_all("unsafe => unsafe.map((element) => element.outerHTML)") == []
    safe(page)


FIELDS = (  # page, link, label, and how many characters the field takes
    ("", {}, "^Target", 10_000),
    ("lab", {"part": "leak", "causal": "off"}, "^Token to feed there", 100),
    ("embeddings", {"part": "neighbours"}, "^or any word", 80),
    ("feedforward", {"part": "knock"}, "^Silence neurons", 80),
)


@pytest.mark.parametrize("name, params, label, longest", FIELDS, ids=[f"{field[0]}-{field[2][:7]}" for field in FIELDS])
def test_typed_text_stays_unchanged_in_its_field(
    watched: Page, evil: str, name: str, params: dict[str, str], label: str, longest: int
) -> None:
    page = opened(watched, link(evil, name, source="lo mi", **params))
    field = page.get_by_role("textbox", name=re.compile(label)).first
    for text in (TYPED[1], ALL):
        field.fill(text[:longest])
        field.press("Enter")
        drawn(page)
        expect(field).to_have_value(text[:longest])
        safe(page)
