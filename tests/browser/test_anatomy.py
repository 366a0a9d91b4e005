"""The anatomy in Chromium: the numbers drawn are those of the trace, and going back restores the picture."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
import torch
from torch import Tensor

import transformer
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.tracing.trace import Trace

pytest.importorskip("playwright")
from playwright.sync_api import Browser, BrowserContext, expect

from tests.browser.anatomy_page import Anatomy
from tests.browser.explorer_page import wait_for_params
from tests.browser.navigation import link_to, sized_page

SMALL = {"checkpoint": "reverse", "source": "headscope", "target": "epocsdaeh"}
MARKUP = '<b>dog</b> <img src=x onerror="window.attacked=1"> <i>x</i> &lt;'
ATTENTION = ("x", "project", "split", "dot", "scale", "mask", "softmax", "values", "concat", "output", "add", "norm")
PLACES = {
    "source": ("row", "times", "plus"),
    "encoder.self": ATTENTION,
    "encoder.ff": ("x", "inner", "activation", "outer", "add", "norm"),
    "target": ("row", "times", "plus"),
    "decoder.self": ATTENTION,
    "decoder.cross": ATTENTION,
    "decoder.ff": ("x", "inner", "activation", "outer", "add", "norm"),
    "output": ("hidden", "logits", "probabilities", "choose", "back"),
}


def same(first: tuple[str, Tensor], second: tuple[str, Tensor]) -> bool:
    """Whether two pictures are the same: equal items and, apart from smoothed edges, equal pixels."""
    return first[0] == second[0] and apart(first[1], second[1]) < 0.001


def apart(first: Tensor, second: Tensor) -> float:
    """Share of the pixels that differ visibly."""
    return float(((first - second).abs().amax(-1) > 16).float().mean())


def different(pictures: list[tuple[str, Tensor]]) -> int:
    """How many of the pictures look unlike the one before."""
    return sum(apart(a[1], b[1]) > 0.001 for a, b in itertools.pairwise(pictures))


@pytest.fixture(scope="module")
def model() -> Pretrained:
    """A small one, which is drawn faster than the usual one."""
    return transformer.load("reverse")


@pytest.fixture(scope="module")
def trace(model: Pretrained) -> Trace:
    return model.trace(SMALL["source"], SMALL["target"])


@pytest.fixture(scope="module")
def whole(profile: BrowserContext, server: str) -> Iterator[Anatomy]:
    """One page for the tests that only move through the drawing."""
    drawing = Anatomy(profile.new_page(), server, **SMALL)
    yield drawing
    assert not drawing.problems
    drawing.page.close()


@pytest.fixture
def moved(whole: Anatomy) -> Callable[..., Anatomy]:
    """The page in this state. Missing values are the first; numbers count from 1, as in links. motion: without it,
    every picture is drawn at once."""

    def move(motion: bool = True, **state: Any) -> Anatomy:
        whole.page.emulate_media(reduced_motion="no-preference" if motion else "reduce")
        counted = {name: int(state.pop(name, 1)) - 1 for name in ("encoder", "decoder", "head", "t", "row", "col")}
        place = state.pop("place", "source")
        whole.go(**{"zoom": "model", "place": place, "step": PLACES[place][0], **state, **counted})
        return whole

    return move


@pytest.fixture
def opened(context: BrowserContext, server: str) -> Iterator[Any]:
    made: list[Anatomy] = []

    def make(**params: object) -> Anatomy:
        made.append(Anatomy(context.new_page(), server, **{**SMALL, **params}))
        return made[-1]

    yield make
    for drawing in made:
        assert not drawing.problems


def test_the_numbers_drawn_are_those_of_the_trace(
    moved: Callable[..., Anatomy], model: Pretrained, trace: Trace
) -> None:
    drawing = moved(zoom="sub", place="encoder.self", motion=False)
    layer, head = 1, 2

    def check(place: str, step: str, name: str, expected: Tensor, zoom: str = "sub") -> None:
        """One of the matrices of that name is the tensor, number by number."""
        drawing.go(zoom=zoom, place=place, step=step, encoder=layer, decoder=layer, head=head, t=3)
        assert drawing.at["zoom"] == zoom and drawing.at["step"] == step
        matrices = drawing.numbers(name)
        for matrix in matrices.values():
            for candidate in (matrix, matrix.T):
                if candidate.shape == expected.shape and torch.equal(candidate, expected):
                    return
        shapes = {key: list(matrix.shape) for key, matrix in matrices.items()}
        pytest.fail(f"{place} {step}: no {name} of {list(expected.shape)} with the trace's numbers among {shapes}")

    self, cross = trace.encoder_self, trace.cross
    check("encoder.self", "x", "x", self.enters[layer])
    check("encoder.self", "project", "queries", self.queries[layer].transpose(0, 1).flatten(1))
    check("encoder.self", "softmax", "weights", self.weights[layer, head])
    check("encoder.self", "softmax", "weights", self.weights[layer, head], "head")
    check("encoder.self", "norm", "leaves", self.leaves[layer])
    check("decoder.self", "mask", "scores", trace.decoder_self.scores[layer, head], "head")
    check("decoder.cross", "dot", "dot", cross.queries[layer, head] @ cross.keys[layer, head].T, "head")
    check("decoder.cross", "scale", "scaled", cross.scores[layer, head])
    check("decoder.cross", "values", "head_outputs", cross.head_outputs[layer, head], "head")
    check("decoder.cross", "concat", "concat", cross.head_outputs[layer].transpose(0, 1).flatten(1))
    check("decoder.cross", "output", "update", cross.update[layer])
    check("encoder.ff", "inner", "pre", trace.encoder_ff.pre_activation[layer])
    check("decoder.ff", "activation", "activation", trace.decoder_ff.activation[layer])
    check("decoder.ff", "add", "sum", trace.decoder_ff.sum[layer])
    check("source", "row", "rows", model.model.embedding.weight[list(trace.source_ids)])
    check("target", "plus", "positions", trace.target_positions)
    check("output", "hidden", "hidden", trace.decoder_output)


def test_the_likeliest_next_words_are_those_of_the_trace(moved: Callable[..., Anatomy], trace: Trace) -> None:
    drawing = moved(t=4)
    expected = trace.logits[3].softmax(-1).topk(10)
    words = drawing.element.evaluate(
        """({ anatomy }) => { const { outputs } = anatomy.data;
          return { ids: outputs.ids[3], p: Array.from(outputs.probability.slice(30, 40)) }; }"""
    )
    assert words["ids"] == expected.indices.tolist()
    assert torch.allclose(torch.tensor(words["p"]), expected.values, atol=1e-7)
    bars = drawing.element.evaluate(
        "({ anatomy }) => anatomy.scene.filter((item) => item.key.startsWith('p:')).map((item) => item.text)"
    )
    assert bars[0] == f"{expected.values[0]:.4f}"


def test_the_tooltip_of_a_cell_shows_its_weight(moved: Callable[..., Anatomy], trace: Trace) -> None:
    drawing = moved(zoom="head", place="decoder.cross", step="softmax", decoder=2, head=3, t=2)
    box = drawing.element.evaluate(
        """({ anatomy }) => { const item = anatomy.scene.find((item) => item.key === "m:decoder.1.cross.weights.h2"
            || item.key === "m:decoder.1.cross.scores.h2"); const { x, y, w, h } = item; return { x, y, w, h }; }"""
    )
    weights = trace.cross.weights[1, 2]
    rows, columns = weights.shape
    row, column = 1, int(weights[1].argmax())
    drawing.page.get_by_test_id("anatomy-canvas").hover(
        position={"x": box["x"] + box["w"] * (column + 0.5) / columns, "y": box["y"] + box["h"] * (row + 0.5) / rows}
    )
    tip = drawing.page.get_by_test_id("anatomy").get_by_test_id("tooltip")
    expect(tip).to_contain_text(f"{weights[row, column]:.4f}")
    expect(tip).to_contain_text(trace.source_labels[column])


def test_a_click_on_a_cell_opens_its_number(moved: Callable[..., Anatomy], trace: Trace) -> None:
    drawing = moved(zoom="head", place="encoder.self", step="dot", encoder=1, head=1)
    box = drawing.element.evaluate(
        """({ anatomy }) => { const item = anatomy.scene.find((item) => item.pick && item.key.includes(".scores.h0"));
            const { x, y, w, h } = item; return { x, y, w, h }; }"""
    )
    rows = len(trace.source_ids)
    drawing.page.get_by_test_id("anatomy-canvas").click(
        position={"x": box["x"] + box["w"] * 3.5 / rows, "y": box["y"] + box["h"] * 2.5 / rows}
    )
    drawing.told()
    assert (drawing.at["zoom"], drawing.at["row"], drawing.at["col"]) == ("number", 2, 3)
    steps = trace.encoder_self
    value = float(steps.queries[0, 0, 2] @ steps.keys[0, 0, 3])
    texts = drawing.element.evaluate(
        "({ anatomy }) => anatomy.scene.filter((item) => item.text).map((item) => item.text).join(' ')"
    ).replace("−", "-")
    assert f"{value:.4f}" in texts
    assert drawing.link()["zoom"] == "number" and drawing.link()["col"] == "4"


@pytest.mark.parametrize("place", ["decoder.self", "output"])
def test_steps_forward_and_back_lead_to_the_same_picture(moved: Callable[..., Anatomy], place: str) -> None:
    drawing = moved(zoom="sub", place=place, encoder=1, decoder=1, t=3, motion=place == "output")
    pictures = [drawing.picture()]
    for step in PLACES[place][1:]:
        drawing.press("ArrowRight")
        assert drawing.at["step"] == step
        pictures.append(drawing.picture())
    assert different(pictures) == len(pictures) - 1
    for step, picture in zip(reversed(PLACES[place][:-1]), reversed(pictures[:-1]), strict=True):
        drawing.press("ArrowLeft")
        assert drawing.at["step"] == step
        assert same(drawing.picture(), picture), step


def test_zooming_in_and_out_leads_to_the_same_picture(moved: Callable[..., Anatomy]) -> None:
    drawing = moved(place="decoder.cross", step="softmax", t=3)
    pictures, zooms = [drawing.picture()], ["model"]
    for zoom in ("layer", "sub", "head", "number"):
        drawing.press("Enter")
        assert drawing.at["zoom"] == zoom
        expect(drawing.page.locator(f"[data-zoom={zoom}][aria-current]")).to_be_visible()
        pictures.append(drawing.picture())
        zooms.append(zoom)
    assert different(pictures) == 4
    for picture, zoom in zip(reversed(pictures[:-1]), reversed(zooms[:-1]), strict=True):
        drawing.press("Escape")
        assert drawing.at["zoom"] == zoom and same(drawing.picture(), picture)


# Every zoom once; tests of the page without a browser read the other links.
LINKS = [
    ("model", "output", "hidden"),
    ("layer", "encoder.ff", "x"),
    ("sub", "target", "plus"),
    ("head", "decoder.self", "mask"),
    ("number", "decoder.cross", "softmax"),
]


def test_a_link_opens_its_state(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    for zoom, place, step in LINKS:
        drawing = Anatomy(page, server, zoom=zoom, place=place, step=step, encoder=2, decoder=2, head=2, t=3)
        at = drawing.at
        assert (at["zoom"], at["place"], at["step"], at["t"]) == (zoom, place, step, 2)
        assert page.locator(".hs-error, .hs-warning, [data-testid=stException]").count() == 0
        matrices, waiting = drawing.element.evaluate(
            "({ anatomy }) => [anatomy.scene.filter((item) => item.kind === 'matrix').length, anatomy.data.waiting]"
        )
        assert matrices and not waiting
        assert page.get_by_test_id("anatomy-canvas").get_attribute("aria-label")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1440
        assert not drawing.problems


def test_markup_in_a_sentence_stays_text(opened: Any) -> None:
    drawing = opened(
        checkpoint="en-de", source=MARKUP, target=MARKUP, zoom="head", place="decoder.cross", step="softmax"
    )
    drawing.go(zoom="number")
    drawing.go(zoom="model", place="output")
    assert drawing.page.evaluate("window.attacked === undefined")
    assert drawing.page.locator("img[src=x]").count() == 0
    assert "<b>" in "".join(drawing.element.evaluate("({ anatomy }) => anatomy.data.labels('source')"))


def test_play_moves_on_a_key_steps_and_a_key_back_stops_it(opened: Any) -> None:
    drawing = opened(zoom="sub", place="encoder.self", step="split", tempo="fast")
    page, handle = drawing.page, drawing.element.element_handle()
    playing = "({ anatomy }) => anatomy.playing"
    page.get_by_test_id("anatomy-stage").focus()
    page.keyboard.press(" ")
    page.wait_for_function("({ anatomy }) => anatomy.state.step !== 'split'", arg=handle)
    page.keyboard.press("ArrowLeft")
    assert drawing.element.evaluate(playing) is False
    drawing.settle()
    drawing.go(step="split", tempo="slow")  # a key comes long before the clock
    page.keyboard.press(" ")
    page.keyboard.press("ArrowRight")
    assert drawing.at["step"] == "dot" and drawing.element.evaluate(playing)
    made = "({ anatomy }) => anatomy.stage.flowing?.made.some(({ matrix }) => matrix.name === 'dot')"
    page.wait_for_function(made, arg=handle)  # row by row


def test_the_chosen_word_is_fed_in_and_the_translation_grows(opened: Any) -> None:
    drawing = opened(place="decoder.ff", decoder=2, head=1, t=2, tempo="slow")
    shown = """({ anatomy }) => ["translation", "fed:2"].map((key) =>
        anatomy.scene.find((item) => item.key === key)?.text ?? "")"""
    assert drawing.element.evaluate(shown) == [SMALL["target"][:1], ""]
    drawing.page.get_by_test_id("anatomy-stage").focus()
    drawing.page.keyboard.press(" ")
    drawing.page.keyboard.press("ArrowRight")
    assert drawing.at["place"] == "output"
    assert drawing.element.evaluate(shown) == [SMALL["target"][:2], ""]
    drawing.settle()
    word = drawing.element.evaluate(
        """({ anatomy: { scene, data } }) => {
          const { ids, chosen } = data.outputs;
          const { x, y } = scene.find(({ key }) => key === `word:${ids[1].indexOf(chosen[1])}`);
          return [x, y]; }"""
    )
    start = drawing.element.evaluate(
        """({ anatomy }) => {
          anatomy.step(1);
          const { x, y, alpha } = anatomy.stage.moving.find(({ item }) => item.key === "fed:2").from;
          return [x, y, alpha]; }"""
    )
    assert start == [*word, 1]  # from where it was chosen
    assert (drawing.at["place"], drawing.at["decoder"], drawing.at["t"]) == ("target", 0, 2)
    assert drawing.element.evaluate(shown) == [SMALL["target"][:2], SMALL["target"][1]]
    drawing.settle()
    strips = drawing.element.evaluate(
        "({ anatomy }) => { anatomy.step(1); return anatomy.stage.flowing.made.map((item) => item.key); }"
    )
    computed = {"self.queries", "self.keys", "self.values", "self.weights.h0", "cross.x"}
    assert set(strips) == {f"m:decoder.0.{name}" for name in computed}


def test_only_what_a_knocked_out_head_changes_is_marked(opened: Any, model: Pretrained, trace: Trace) -> None:
    drawing = opened(zoom="model", place="encoder.self", encoder=2, head=1)
    drawing.page.get_by_test_id("anatomy-switches").locator("summary").first.click()
    drawing.page.get_by_test_id("knock").click()
    drawing.page.wait_for_function(
        "({ anatomy }) => Object.keys(anatomy.data.header.changed).length > 0", arg=drawing.element.element_handle()
    )
    drawing.settle()
    assert drawing.link()["zero"] == "encoder_self.2.1"
    switched = model.retrace(trace, Interventions.parse({"zero": "encoder_self.2.1"}))
    changed = drawing.element.evaluate("({ anatomy }) => anatomy.data.header.changed")
    expected = float((switched.encoder_output - trace.encoder_output).abs().max())
    assert changed["encoder.output"] == pytest.approx(expected, abs=1e-6)
    assert not any(name.startswith("encoder.0") or name.startswith("encoder.1.self") for name in changed)
    marks = drawing.element.evaluate(
        "({ anatomy }) => anatomy.scene.filter((item) => item.key.startsWith('changed:')).map((item) => item.key)"
    )
    assert "changed:m:encoder.output" in marks and "changed:m:encoder.1.self.x" not in marks


def test_the_parameters_on_the_boxes_add_up_to_those_of_the_model(
    moved: Callable[..., Anatomy], model: Pretrained
) -> None:
    config = model.config
    total = 0
    for place, layers in (("encoder.self", config.encoder_layers), ("decoder.self", config.decoder_layers)):
        drawing = moved(zoom="model", place=place)
        texts = drawing.element.evaluate(
            """(one) => ["encoder", "decoder"].map((stack) => one.anatomy.scene
                 .find(({ key }) => key === `layername:${stack}`).text)"""
        )
        found = [re.search(r"parameters: ([\d,]+)|([\d,]+) parameters", text) for text in texts]
        counts = [int(one[one.lastindex or 0].replace(",", "")) for one in found if one]
        # One stack is open, and shows one layer; the other is a box, and shows all of its layers.
        stacks = dict(zip(("Encoder", "Decoder"), counts, strict=True))
        opened, closed = ("Encoder", "Decoder") if place.startswith("encoder") else ("Decoder", "Encoder")
        total = layers * stacks[opened] + stacks[closed]
        table = drawing.element.evaluate(
            "(one) => one.anatomy.scene.find((item) => /^count:(source|target)$/.test(item.key)).text"
        )
        total += int(re.findall(r"[\d,]{5,}", table)[0].replace(",", ""))
        assert total == model.model.parameter_count()


def test_keys_work_on_a_page_just_opened_and_numbers_run(context: BrowserContext, server: str) -> None:
    drawing = Anatomy(context.new_page(), server)
    assert (drawing.at["place"], drawing.at["t"]) == ("source", 0)
    for name in ("Feed-forward", "Anatomy"):  # the focus is on the link
        link_to(drawing.page, name).click()
        drawing.page.locator("[data-testid=anatomy]").wait_for(state="visible" if name == "Anatomy" else "detached")
    drawing.page.locator("[data-testid=anatomy][data-drawn]").wait_for()
    drawing.settle()
    maps = "(one) => one.anatomy.scene.find(({ key }) => key.startsWith('m:decoder.0.self.weights'))"
    drawing.page.keyboard.press("ArrowRight")
    drawing.page.wait_for_function("(one) => one.anatomy.stage.flowing?.since", arg=drawing.element.element_handle())
    assert drawing.at["place"] == "encoder.self"
    drawing.page.keyboard.press(" ")
    assert drawing.element.evaluate("(one) => one.anatomy.playing") is True
    drawing.page.keyboard.press(" ")
    # Keys in a text field, a slider or a menu belong to them.
    place = drawing.at["place"]
    for field in (
        drawing.page.locator("[data-testid=stTextInput] input").first,
        drawing.page.get_by_test_id("anatomy-t"),
    ):
        field.focus()
        drawing.page.keyboard.press("ArrowRight")
    drawing.settle()
    assert drawing.at["place"] == place and drawing.at["t"] == 1
    drawing.go(zoom="model", place="decoder.self")
    tile = drawing.element.evaluate(maps)
    tokens = drawing.element.evaluate("(one) => one.anatomy.scene.find(({ key }) => key === 'tokens:target')")
    assert (tile["y"], tile["h"]) == (tokens["y"], tokens["h"])  # as high as its rows
    assert not drawing.problems


def test_the_drawing_is_saved(opened: Any, trace: Trace) -> None:
    drawing = opened(zoom="head", place="encoder.self", step="softmax", encoder=1, head=2)
    saved = {}
    for kind in ("svg", "png", "csv"):
        drawing.page.get_by_test_id("anatomy-save").locator("summary").click()
        with drawing.page.expect_download() as download:
            drawing.page.get_by_test_id(f"anatomy-save-{kind}").click()
        assert download.value.suggested_filename.endswith(f"-encoder.self-layer1-head2-softmax.{kind}")
        saved[kind] = Path(download.value.path()).read_bytes()
    assert saved["png"].startswith(b"\x89PNG")
    texts = " ".join(ElementTree.fromstring(saved["svg"]).itertext())
    assert SMALL["source"] in texts and "weights of" in texts and "[object" not in texts
    lines = list(csv.reader(io.StringIO(saved["csv"].decode("utf-8-sig"))))
    assert lines[0] == ["weights", *(token.replace("▁", "") for token in trace.source_tokens)]
    numbers = torch.tensor([[float(number) for number in line[1:]] for line in lines[1:]])
    torch.testing.assert_close(numbers, trace.encoder_self.weights[0, 1], rtol=1e-6, atol=0)


def test_nothing_moves_with_reduced_motion(context: BrowserContext, server: str) -> None:
    drawing = Anatomy(sized_page(context, 1440, 900, reduced_motion="reduce"), server)
    drawing.element.evaluate("({ anatomy }) => { anatomy.stage.frames = []; anatomy.go({ zoom: 'layer' }); }")
    drawing.page.wait_for_timeout(900)
    assert drawing.element.evaluate("({ anatomy }) => anatomy.stage.frames.length") <= 2
    assert not drawing.problems


def test_a_phone_shows_one_column(browser: Browser, server: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, device_scale_factor=2, has_touch=True)
    drawing = Anatomy(context.new_page(), server, zoom="model", place="encoder.self")
    for state in ({}, {"zoom": "sub", "place": "decoder.cross"}):
        drawing.go(**state)
        assert drawing.page.evaluate("document.documentElement.scrollWidth") <= 390
        stage = drawing.page.get_by_test_id("anatomy-canvas").bounding_box()
        tell = drawing.page.locator(".hs-an-tell").bounding_box()
        assert stage and tell and tell["y"] >= stage["y"] + stage["height"] - 1
    assert not drawing.problems
    context.close()


def test_too_many_tokens_get_an_error_message(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    text = "the cat and the dog and " * 14
    page.goto(f"{server}/anatomy?{urlencode({'source': text, 'target': text})}")
    expect(page.get_by_test_id("anatomy-notes")).to_contain_text("64")
    expect(page.get_by_test_id("anatomy-canvas")).to_be_hidden()
    expect(page.locator("[data-testid=stTextInput] input").first).to_have_value(text)


def test_three_models_write_the_typed_letters_before_the_transformer(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    page.goto(f"{server}/anatomy?part=before")
    curves = page.locator("[data-testid=figure][data-name=input-length]")
    for name in ("recurrent, no attention", "recurrent, attention", "Transformer"):
        expect(curves.locator(".legendtext", has_text=re.compile(f"^{name}$"))).to_be_visible()
    expect(curves.locator(".scatterlayer .trace.scatter")).to_have_count(3 * 4 + 1)  # means, seeds, and a line
    written = page.locator("table", has_text="One input, three models").locator("tbody tr")
    expect(written).to_have_count(3)
    expect(written.last).to_contain_text("esaelp noitnetta")
    expect(written.first).not_to_contain_text("✓")  # 16 letters are too many for 128 numbers
    field = page.get_by_label("Letters to write backwards")
    field.fill("abc")
    field.press("Enter")
    wait_for_params(page, letters="abc")
    for row in written.all():
        expect(row).to_contain_text("✓ 3 of 3")
    cross = page.locator("[data-testid=figure][data-name=before-cross-attention]")
    expect(cross.locator("h2")).to_contain_text("layer")
    page.get_by_text("mean of all heads", exact=True).click()
    wait_for_params(page, heads="mean")
    expect(cross.locator("h2")).not_to_contain_text("layer")
    page.close()
