"""The pages of figures in a real Chromium: in both themes, saved, and slid through."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
import torch

from pages.positions.lab import ROUNDING
from transformer.analysis.lens import logit_lens
from transformer.analysis.permutation import equivariance, permutation
from transformer.figures.style import BLUE, INK, PALETTE, PAPER
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions, Reposition
from transformer.model.positions import sinusoidal

pytest.importorskip("playwright")
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.explorer_page import params_of
from tests.browser.navigation import sized_page
from tests.browser.stillness import still

SENTENCE, TARGET = "The dog sees the cat.", "Der Hund sieht die Katze."


def opened(context: BrowserContext, server: str, name: str, **params: str) -> Page:
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{server}/{name}?{urlencode({'source': SENTENCE, 'target': TARGET, **params})}")
    ready = ".hs-tr-title" if params.get("part") == "knock" else "[data-drawn]"
    page.wait_for_selector(ready)
    page.problems = problems  # type: ignore[attr-defined]
    return page


def figure(page: Page, name: str) -> Locator:
    element = page.locator(f"[data-testid=figure][data-name={name}]")
    expect(element.locator(".main-svg").first).to_be_visible()
    return element


def saved(page: Page, name: str, kind: str) -> bytes:
    element = figure(page, name)
    element.locator("summary").click()
    with page.expect_download() as download:
        element.get_by_test_id(f"figure-save-{kind}").click()
    assert download.value.suggested_filename.endswith("." + kind)
    return Path(download.value.path()).read_bytes()


def rows(content: bytes) -> list[list[str]]:
    text = content.decode("utf-8")
    assert text.startswith("\ufeff")
    return list(csv.reader(text[1:].splitlines()))


def test_a_saved_figure_has_the_numbers_and_texts_shown(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    page = opened(context, server, "positions", part="order", seed="3")
    trace = model.trace(SENTENCE, TARGET)
    order = permutation(len(trace.source_ids), 3)
    wanted = {}
    for name, switches in (("with", Interventions()), ("without", Interventions((Reposition("remove", "source"),)))):
        usual, moved = model.retrace(trace, switches), model.retrace(trace, switches, order=order)
        wanted[f"{name} positions"] = equivariance(usual, moved, order).outputs.tolist()
    saved_series: dict[str, list[float]] = {}
    for series, _, value in rows(saved(page, "permutation", "csv"))[1:]:
        saved_series.setdefault(series, []).append(float(value))
    assert saved_series["with positions"] == pytest.approx(wanted["with positions"], rel=1e-4)
    assert max(saved_series["without positions"]) < ROUNDING
    svg = saved(page, "permutation", "svg").decode()
    assert svg.startswith("<?xml") and "Tokens in another order" in svg and "encoder layer" in svg
    assert saved(page, "permutation", "png").startswith(b"\x89PNG")


def test_a_saved_heatmap_keeps_its_labels_and_no_token_becomes_a_formula(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    page = opened(context, server, "embeddings", part="lens")
    lens = logit_lens(model.trace(SENTENCE, TARGET), model.model)
    head, *lines = rows(saved(page, "logit-lens", "csv"))
    assert len(head) == 1 + lens.probability.shape[1] and len(lines) == len(lens.probability)
    for line, wanted in zip(lines, lens.probability.tolist(), strict=True):
        assert [float(number) for number in line[1:]] == pytest.approx(wanted, rel=1e-5, abs=1e-9)
    assert lines[0][0] == "embedding" and lines[-1][0] == "layer 4"
    page = opened(context, server, "embeddings", part="norms", source="=1+1", target="")
    text = saved(page, "embedding-norms-source", "csv").decode()
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


def test_a_figure_follows_the_theme(context: BrowserContext, server: str) -> None:
    page = opened(context, server, "positions", part="order")
    lines = "els => els.map(line => line.style.stroke)"

    def strokes() -> list[str]:
        return figure(page, "permutation").locator(".scatterlayer .js-line").evaluate_all(lines)

    def rgb(colour: str) -> str:
        return "rgb({}, {}, {})".format(*(int(colour[at : at + 2], 16) for at in (1, 3, 5)))

    assert strokes()[1:] == [rgb(BLUE["light"]), rgb(INK["light"])]
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        f"() => document.querySelectorAll('.hs-fig .scatterlayer .js-line')[1].style.stroke === '{rgb(BLUE['dark'])}'"
    )
    assert strokes()[1:] == [rgb(BLUE["dark"]), rgb(INK["dark"])]


def test_heatmaps_and_axes_follow_the_theme_to_dark_and_back(context: BrowserContext, server: str) -> None:
    page = opened(context, server, "embeddings", part="lens")
    read = (
        "() => [...document.querySelectorAll('.hs-fig .js-plotly-plot')].filter(box => box._fullData).flatMap(box => "
        "[box._fullLayout.xaxis.tickfont.color, box._fullLayout.yaxis.gridcolor, "
        "...box._fullData.filter(t => t.type === 'heatmap').flatMap(t => t.colorscale.map(pair => pair[1]))])"
    )
    colours = {scheme: {colour[scheme] for colour in PALETTE} for scheme in ("light", "dark")}

    def seen(scheme: str) -> None:
        other = colours["dark" if scheme == "light" else "light"]
        page.wait_for_function(f"() => {{ const all = ({read})(); return all.length && "
                               f"all.every(colour => !{list(other)}.includes(colour)); }}")  # fmt: skip
        assert INK[scheme] in page.evaluate(read) and PAPER[scheme] in page.evaluate(read)

    seen("light")
    page.emulate_media(color_scheme="dark")
    seen("dark")
    page.emulate_media(color_scheme="light")
    seen("light")


def test_a_slider_moves_the_tokens_without_the_server(context: BrowserContext, server: str, model: Pretrained) -> None:
    page = opened(context, server, "embeddings", part="map")
    box = page.locator("[data-testid=figure]").first
    slider = box.locator("input[type=range]")
    expect(slider).to_be_visible()
    read = "box => box.querySelector('.js-plotly-plot')._fullData.map(trace => Array.from(trace.x))"
    assert int(slider.get_attribute("max") or 0) == model.config.encoder_layers
    before = box.evaluate(read)
    drawn_before = box.locator("[data-drawn]").get_attribute("data-drawn")
    context.set_offline(True)  # what follows needs nobody
    slider.focus()
    page.keyboard.press("Home")
    expect(box.locator("[data-drawn]")).not_to_have_attribute("data-drawn", drawn_before or "")
    assert box.evaluate(read) != before
    context.set_offline(False)


def test_a_slider_keeps_its_value_and_the_link_follows(context: BrowserContext, server: str) -> None:
    page = opened(context, server, "embeddings", part="map")
    slider = page.locator("[data-testid=figure] input[type=range]").first
    for key, value in (("Home", "0"), ("End", "4"), ("ArrowLeft", "3")):
        slider.focus()
        page.keyboard.press(key)
        page.wait_for_url(re.compile(f"layer={value}"))
        still(page)
        expect(slider).to_have_value(value)


def test_the_encoding_is_computed_in_the_browser_as_in_python(context: BrowserContext, server: str) -> None:
    page = opened(context, server, "positions", part="encoding", d_model="34", length="19")
    table = sinusoidal(19, 34)
    is_drawn = (
        "() => [...document.querySelectorAll('.js-plotly-plot')].some(p => p._fullData?.[0]?.z?.length === COUNT)"
    )
    read = (
        "() => { const plots = [...document.querySelectorAll('.js-plotly-plot')];"
        " const heatmap = plots.map(p => p._fullData[0]).find(t => t && t.type === 'heatmap');"
        " return Array.from(heatmap.z, row => Array.from(row)); }"
    )
    page.wait_for_function(is_drawn.replace("COUNT", "19"))
    assert torch.equal(torch.tensor(page.evaluate(read), dtype=torch.float32), table)
    slider = page.locator("[data-testid=positions-length]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(is_drawn.replace("COUNT", "20"))
    assert torch.equal(torch.tensor(page.evaluate(read), dtype=torch.float32), sinusoidal(20, 34))
    page.wait_for_url(re.compile("length=20"))


def test_an_out_of_range_link_shows_a_warning_and_keeps_the_sentence(context: BrowserContext, server: str) -> None:
    page = opened(context, server, "feedforward", part="neurons", layer="99", neuron="123456", stack="decoder")
    warnings = " ".join(page.locator(".hs-warning").all_inner_texts())
    assert "'99'" in warnings and "Shown: 4." in warnings and "Shown: 1584." in warnings
    expect(page.get_by_label(re.compile("^Source"))).to_have_value(SENTENCE)
    page.wait_for_url(re.compile("layer=4.*neuron=1584"))


@pytest.mark.long
def test_the_first_pictures_end_in_the_first_screen_of_a_projector(context: BrowserContext, server: str) -> None:
    """In big text, which takes more of the screen."""
    page = sized_page(context, 1280, 720)
    bottoms = "(selector) => [...document.querySelectorAll(selector)].map((one) => one.getBoundingClientRect().bottom)"
    for path, selector, count in (
        ("positions?part=distance", ".pos-figure", 2), ("positions?part=learned", ".hs-figure", 2),
        ("embeddings?part=residual", ".hs-figure", 2), ("feedforward?part=neurons", ".hs-figure", 2),
        ("feedforward?part=knock", ".hs-figure", 1), ("feedforward?part=position", ".hs-figure", 2),
        ("embeddings?part=layernorm", ".hs-figure", 2), ("attribution?part=source", ".hs-figure", 1),
        ("recipe?part=rate", ".hs-figure", 1), ("recipe?part=dropout", ".hs-figure", 1),
        ("recipe?part=smoothing", ".hs-figure", 1), ("results?part=subsets", ".hs-figure", 1),
        ("results?part=table2", ".hs-figure", 1), ("results?part=tables", ".hs-figure", 1),
    ):  # fmt: skip
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
