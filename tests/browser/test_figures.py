"""The pages of figures in a real Chromium: in both themes, saved, and slid through."""

import csv
import re

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.explorer_page import params_of
from tests.browser.navigation import opened_at, saved, sized_page
from tests.browser.stillness import still
from tests.support.figures import colour_in
from transformer.analysis.lens import logit_lens
from transformer.figures.style import INK, PALETTE, PAPER
from transformer.inference.pretrained import Pretrained

SENTENCE, TARGET = "The dog sees the cat.", "Der Hund sieht die Katze."


def opened(context: BrowserContext, server: str, name: str, **params: str) -> Page:
    return opened_at(context, f"{server}/{name}", **{"source": SENTENCE, "target": TARGET, **params})


def figure(page: Page, name: str) -> Locator:
    element = page.locator(f"[data-testid=figure][data-name={name}]")
    expect(element.locator(".main-svg").first).to_be_visible()
    return element


def test_a_saved_heatmap_keeps_its_numbers_and_labels_and_no_token_becomes_a_formula(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    page = opened(context, server, "embeddings", part="lens")
    lens = logit_lens(model.trace(SENTENCE, TARGET), model.model)
    content = saved(figure(page, "logit-lens"), "figure-save", "csv")[1].decode()
    assert content.startswith("\ufeff")
    head, *lines = csv.reader(content[1:].splitlines())
    assert len(head) == 1 + lens.probability.shape[1] and len(lines) == len(lens.probability)
    for line, wanted in zip(lines, lens.probability.tolist(), strict=True):
        assert [float(number) for number in line[1:]] == pytest.approx(wanted, rel=1e-5, abs=1e-9)
    assert lines[0][0] == "embedding" and lines[-1][0] == "layer 4"
    svg = saved(figure(page, "logit-lens"), "figure-save", "svg")[1].decode()
    assert svg.startswith("<?xml") and "When the final token is found" in svg
    page = opened(context, server, "embeddings", part="norms", source="=1+1", target="")
    text = saved(figure(page, "embedding-norms-source"), "figure-save", "csv")[1].decode()
    assert "=" in text and not re.search(r"(^|,)=", text, re.MULTILINE)


def test_a_click_on_a_bar_chooses_its_neuron(context: BrowserContext, server: str) -> None:
    page = opened(context, server, "feedforward", part="neurons", stack="decoder", layer="2", token="3")
    bars = page.locator("[data-testid=figure][data-name=feedforward-strongest] .barlayer .point path")
    expect(bars.nth(3)).to_be_visible()
    chosen = page.get_by_label("Neuron", exact=True)
    before = chosen.input_value()
    at = bars.nth(3).bounding_box()
    assert at
    page.mouse.click(at["x"] + min(20, at["width"] / 2), at["y"] + at["height"] / 2)
    expect(chosen).not_to_have_value(before)
    page.wait_for_function(
        "before => ![null, before].includes(new URLSearchParams(location.search).get('neuron'))", arg=before
    )
    expect(chosen).to_have_value(params_of(page)["neuron"])


def test_heatmaps_lines_and_axes_follow_the_theme_to_dark_and_back(context: BrowserContext, server: str) -> None:
    read = (
        "() => [...document.querySelectorAll('.hs-fig .js-plotly-plot')].filter(box => box._fullData).flatMap(box => "
        "[box._fullLayout.xaxis.tickfont.color, box._fullLayout.yaxis.gridcolor, ...box._fullData.flatMap(t => "
        "t.type === 'heatmap' ? t.colorscale.map(pair => pair[1]) : t.line?.color ?? [])])"
    )
    colours = {scheme: {colour_in(scheme, colour) for colour in PALETTE} for scheme in ("light", "dark")}
    for part, path in (("lens", "embeddings"), ("order", "positions")):
        page = opened(context, server, path, part=part)
        for scheme, other in (("light", "dark"), ("dark", "light"), ("light", "dark")):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.wait_for_function(
                f"() => {{ const all = ({read})(); "
                f"return all.length && all.every(colour => !{list(colours[other])}.includes(colour)); }}"
            )
            ink, paper = (colour_in(scheme, colour) for colour in (INK, PAPER))
            assert ink in page.evaluate(read) and (part == "order" or paper in page.evaluate(read))


def test_a_slider_moves_the_tokens_without_the_server_and_the_link_follows(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    page = opened(context, server, "embeddings", part="map")
    box = page.locator("[data-testid=figure]").first
    slider, drawn = box.locator("input[type=range]"), box.locator("[data-drawn]")
    read = "box => box.querySelector('.js-plotly-plot')._fullData.map(trace => Array.from(trace.x))"
    assert int(slider.get_attribute("max") or 0) == model.config.encoder_layers
    before, drawn_before = box.evaluate(read), drawn.get_attribute("data-drawn") or ""
    context.set_offline(True)  # what follows needs nobody
    slider.focus()
    page.keyboard.press("Home")
    expect(drawn).not_to_have_attribute("data-drawn", drawn_before)
    assert box.evaluate(read) != before
    context.set_offline(False)
    for key, value in (("End", "4"), ("ArrowLeft", "3")):
        slider.focus()
        page.keyboard.press(key)
        page.wait_for_url(re.compile(f"layer={value}"))
        still(page)
        expect(slider).to_have_value(value)


def test_a_longer_encoding_is_computed_in_the_browser(context: BrowserContext, server: str) -> None:
    page = opened(context, server, "positions", part="encoding", d_model="34", length="19")
    plots = "[...document.querySelectorAll('.js-plotly-plot')].map(plot => plot._fullData?.[0])"
    for length in (19, 20):
        page.wait_for_function(f"() => {plots}.some(drawn => drawn?.z?.length === {length})")
        page.get_by_test_id("positions-length").press("ArrowRight")
    page.wait_for_url(re.compile("length=21"))


@pytest.mark.long
def test_the_first_pictures_end_in_the_first_screen_of_a_projector(context: BrowserContext, server: str) -> None:
    """In big text, which takes more of the screen."""
    page = sized_page(context, 1280, 720)
    bottoms = "(selector) => [...document.querySelectorAll(selector)].map((one) => one.getBoundingClientRect().bottom)"
    for path, count in (
        ("positions?part=distance", 2), ("positions?part=learned", 2), ("embeddings?part=residual", 2),
        ("feedforward?part=neurons", 2), ("feedforward?part=knock", 1), ("feedforward?part=position", 2),
        ("embeddings?part=layernorm", 2), ("attribution?part=source", 1), ("recipe?part=rate", 1),
        ("recipe?part=dropout", 1), ("recipe?part=smoothing", 1), ("results?part=subsets", 1),
        ("results?part=table2", 1), ("results?part=tables", 1),
    ):  # fmt: skip
        selector = ".pos-figure" if path.endswith("distance") else ".hs-figure"
        page.goto(f"{server}/{path}&big=1")
        page.wait_for_selector(selector)
        still(page)
        shown = page.evaluate(bottoms, selector)
        assert len(shown) >= count and max(shown[:count]) <= 720, (path, shown)


def test_big_text_cuts_no_token_and_no_second_sentence(context: BrowserContext, server: str) -> None:
    """Grids that do not fit beside each other go below each other, and the field of sentence B shows its last word."""
    page = sized_page(context, 1280, 720)
    page.goto(f"{server}/attribution?part=token&big=1")
    page.wait_for_selector("[data-testid='headgrid-1-0-0']")
    still(page)
    cut = "(all) => all.slice(0, 3).filter((one) => one.scrollWidth > one.clientWidth).length"
    assert page.locator(".headgrid-scroll").evaluate_all(cut) == 0
    page.goto(f"{server}/attribution?part=patching&big=1")
    field = page.get_by_label("Second sentence, B")
    expect(field).to_have_value(re.compile("."))
    still(page)
    assert field.evaluate("(one) => one.scrollWidth <= one.clientWidth")
