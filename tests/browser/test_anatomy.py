"""The anatomy in Chromium: how one moves through it, and that going back restores the picture."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.anatomy_page import Anatomy
from tests.browser.navigation import link_to, sized_page
from transformer.inference.pretrained import Pretrained
from transformer.view.anatomy_state import steps_of

SMALL = {"checkpoint": "reverse", "source": "headscope", "target": "epocsdaeh"}


def same(first: tuple[str, numpy.ndarray], second: tuple[str, numpy.ndarray]) -> bool:
    """Whether two pictures are the same: equal items and, apart from smoothed edges, equal pixels."""
    return first[0] == second[0] and apart(first[1], second[1]) < 0.001


def apart(first: numpy.ndarray, second: numpy.ndarray) -> float:
    """Share of the pixels that differ visibly."""
    return float((abs(first - second).max(-1) > 16).mean())


@pytest.fixture(scope="module")
def whole(profile: BrowserContext, server: str) -> Iterator[Anatomy]:
    """One page for the tests that only move through the drawing."""
    drawing = Anatomy(profile.new_page(), server, **SMALL)
    yield drawing
    drawing.page.close()


@pytest.fixture
def moved(context: BrowserContext, whole: Anatomy, reverse: Pretrained) -> Callable[..., Anatomy]:
    """The page in this state. Missing values are the first; numbers count from 1, as in links. motion: without it,
    every picture is drawn at once."""

    def move(motion: bool = True, place: str = "source", **state: Any) -> Anatomy:
        whole.page.emulate_media(reduced_motion="no-preference" if motion else "reduce")
        counted = {name: int(state.pop(name, 1)) - 1 for name in ("encoder", "decoder", "head", "t", "row", "col")}
        whole.go(**{"zoom": "model", "place": place, "step": steps_of(place, reverse.config)[0], **state, **counted})
        return whole

    return move


@pytest.fixture
def opened(context: BrowserContext, server: str) -> Callable[..., Anatomy]:
    return lambda **params: Anatomy(context.new_page(), server, **{**SMALL, **params})


def test_a_cell_tells_its_weight_and_a_click_opens_its_number(
    moved: Callable[..., Anatomy], reverse: Pretrained
) -> None:
    drawing = moved(zoom="head", place="decoder.cross", step="softmax", decoder=2, head=3, t=2)
    box = drawing.read("anatomy.scene.find((item) => item.pick && /cross[.](weights|scores)[.]h2/.test(item.key))")
    trace = reverse.trace(SMALL["source"], SMALL["target"])
    weights = trace.cross.weights[1, 2]
    rows, columns = weights.shape
    row, column = 1, int(weights[1].argmax())
    at = {"x": box["x"] + box["w"] * (column + 0.5) / columns, "y": box["y"] + box["h"] * (row + 0.5) / rows}
    drawing.page.get_by_test_id("anatomy-canvas").hover(position=at)  # type: ignore[arg-type]
    tip = drawing.page.get_by_test_id("anatomy").get_by_test_id("tooltip")
    expect(tip).to_contain_text(f"{weights[row, column]:.4f}")
    expect(tip).to_contain_text(trace.source_labels[column])
    drawing.page.get_by_test_id("anatomy-canvas").click(position=at)  # type: ignore[arg-type]
    drawing.told()
    assert (drawing.at["zoom"], drawing.at["row"], drawing.at["col"]) == ("number", row, column)
    texts = drawing.read("anatomy.scene.map((item) => item.text || '').join(' ')")
    assert f"{weights[row, column]:.4f}" in texts
    assert drawing.link()["zoom"] == "number" and drawing.link()["col"] == str(column + 1)


@pytest.mark.parametrize("place", ["decoder.self", "output"])
def test_steps_forward_and_back_lead_to_the_same_picture(
    moved: Callable[..., Anatomy], reverse: Pretrained, place: str
) -> None:
    drawing = moved(zoom="sub", place=place, t=3, motion=place == "output")
    steps, pictures = steps_of(place, reverse.config), [drawing.picture()]
    for step in steps[1:]:
        drawing.press("ArrowRight")
        assert drawing.at["step"] == step
        pictures.append(drawing.picture())
    assert all(apart(a[1], b[1]) > 0.001 for a, b in itertools.pairwise(pictures))
    for step, picture in zip(reversed(steps[:-1]), reversed(pictures[:-1]), strict=True):
        drawing.press("ArrowLeft")
        assert drawing.at["step"] == step
        assert same(drawing.picture(), picture), step


def test_zooming_in_and_out_leads_to_the_same_picture(moved: Callable[..., Anatomy]) -> None:
    drawing = moved(place="decoder.cross", step="softmax", t=3)
    zooms = ("model", "layer", "sub", "head", "number")
    pictures = [drawing.picture()]
    for zoom in zooms[1:]:
        drawing.press("Enter")
        assert drawing.at["zoom"] == zoom
        expect(drawing.page.locator(f"[data-zoom={zoom}][aria-current]")).to_be_visible()
        pictures.append(drawing.picture())
    assert all(apart(a[1], b[1]) > 0.001 for a, b in itertools.pairwise(pictures))
    for picture, zoom in zip(reversed(pictures[:-1]), reversed(zooms[:-1]), strict=True):
        drawing.press("Escape")
        assert drawing.at["zoom"] == zoom and same(drawing.picture(), picture)


def test_play_moves_on_a_key_steps_and_a_key_back_stops_it(opened: Callable[..., Anatomy]) -> None:
    drawing = opened(zoom="sub", place="encoder.self", step="split", tempo="fast")
    page = drawing.page
    page.get_by_test_id("anatomy-stage").focus()
    page.keyboard.press(" ")
    drawing.until("anatomy.state.step !== 'split'")
    page.keyboard.press("ArrowLeft")
    assert drawing.read("anatomy.playing") is False
    drawing.settle()
    drawing.go(step="split", tempo="slow")  # a key comes long before the clock
    page.keyboard.press(" ")
    page.keyboard.press("ArrowRight")
    assert drawing.at["step"] == "dot" and drawing.read("anatomy.playing")
    drawing.until("anatomy.stage.flowing?.made.some(({ matrix }) => matrix.name === 'dot')")  # row by row


def test_the_chosen_word_is_fed_in_and_the_translation_grows(opened: Callable[..., Anatomy]) -> None:
    drawing = opened(place="decoder.ff", decoder=2, head=1, t=2, tempo="slow")
    text = "anatomy.scene.find((item) => item.key === '{}')?.text ?? ''"
    shown, target = f"[{text.format('translation')}, {text.format('fed:2')}]", SMALL["target"]
    assert drawing.read(shown) == [target[:1], ""]
    drawing.page.get_by_test_id("anatomy-stage").focus()
    drawing.page.keyboard.press(" ")
    drawing.page.keyboard.press("ArrowRight")
    assert drawing.at["place"] == "output" and drawing.read(shown) == [target[:2], ""]
    drawing.settle()
    chosen, start = drawing.element.evaluate(
        """({ anatomy }) => {
          const { ids, chosen } = anatomy.data.outputs;
          const word = anatomy.scene.find(({ key }) => key === `word:${ids[1].indexOf(chosen[1])}`);
          anatomy.step(1);
          const { x, y, alpha } = anatomy.stage.moving.find(({ item }) => item.key === "fed:2").from;
          return [[word.x, word.y, 1], [x, y, alpha]]; }"""
    )
    assert start == chosen  # from where it was chosen
    assert (drawing.at["place"], drawing.at["decoder"], drawing.at["t"]) == ("target", 0, 2)
    assert drawing.read(shown) == [target[:2], target[1]]
    drawing.settle()
    strips = drawing.read("(anatomy.step(1), anatomy.stage.flowing.made.map((item) => item.key))")
    computed = ("self.queries", "self.keys", "self.values", "self.weights.h0", "cross.x")
    assert set(strips) == {f"m:decoder.0.{name}" for name in computed}


def test_only_what_a_knocked_out_head_changes_is_marked(opened: Callable[..., Anatomy]) -> None:
    drawing = opened(zoom="model", place="encoder.self", encoder=2, head=1)
    drawing.page.get_by_test_id("anatomy-switches").locator("summary").first.click()
    drawing.page.get_by_test_id("knock").click()
    drawing.until("Object.keys(anatomy.data.header.changed).length > 0")
    drawing.settle()
    assert drawing.link()["zero"] == "encoder_self.2.1"
    marks = drawing.read("anatomy.scene.map((item) => item.key).filter((key) => key.startsWith('changed:'))")
    assert "changed:m:encoder.output" in marks and "changed:m:encoder.1.self.x" not in marks


def test_keys_work_on_a_page_just_opened_and_belong_to_fields(context: BrowserContext, server: str) -> None:
    drawing = Anatomy(context.new_page(), server)
    assert (drawing.at["place"], drawing.at["t"]) == ("source", 0)
    for name in ("Feed-forward", "Anatomy"):  # the focus is on the link
        link_to(drawing.page, name).click()
        drawing.page.locator("[data-testid=anatomy]").wait_for(state="visible" if name == "Anatomy" else "detached")
    drawing.page.locator("[data-testid=anatomy][data-drawn]").wait_for()
    drawing.settle()
    drawing.page.keyboard.press("ArrowRight")
    drawing.until("anatomy.stage.flowing?.since")
    assert drawing.at["place"] == "encoder.self"
    drawing.page.keyboard.press(" ")
    assert drawing.read("anatomy.playing") is True
    drawing.page.keyboard.press(" ")
    place = drawing.at["place"]
    field = drawing.page.locator("[data-testid=stTextInput] input").first
    for one in (field, drawing.page.get_by_test_id("anatomy-t")):
        one.focus()
        drawing.page.keyboard.press("ArrowRight")
    drawing.settle()
    assert drawing.at["place"] == place and drawing.at["t"] == 1


def test_nothing_moves_with_reduced_motion(context: BrowserContext, server: str) -> None:
    drawing = Anatomy(sized_page(context, 1440, 900, reduced_motion="reduce"), server)
    drawing.read("(anatomy.stage.frames = [], anatomy.go({ zoom: 'layer' }))")
    drawing.page.wait_for_timeout(900)
    assert drawing.read("anatomy.stage.frames.length") <= 2


def test_a_phone_shows_one_column(another: Callable[..., BrowserContext], server: str) -> None:
    context = another(viewport={"width": 390, "height": 844}, device_scale_factor=2, has_touch=True)
    drawing = Anatomy(context.new_page(), server, zoom="model", place="encoder.self")
    for state in ({}, {"zoom": "sub", "place": "decoder.cross"}):
        drawing.go(**state)
        assert drawing.page.evaluate("document.documentElement.scrollWidth") <= 390
        stage = drawing.page.get_by_test_id("anatomy-canvas").bounding_box()
        tell = drawing.page.locator(".hs-an-tell").bounding_box()
        assert stage and tell and tell["y"] >= stage["y"] + stage["height"] - 1
