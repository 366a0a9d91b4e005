"""The panel and the bars around the anatomy's drawing, in Chromium: equations, shapes, colours and parameters are those
of the model, typed markup stays text, and no part of the page moves from step to step."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from torch import Tensor

from tests.browser.modules import open_modules
from tests.support.build import D_MODEL, HEADS, tiny_model, tiny_tokenizer
from transformer.analysis import anatomy
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.tracing.trace import Trace
from transformer.view import bundle
from transformer.view.anatomy_pack import open_pack, place_pack, trace_pack, weights_pack
from transformer.view.anatomy_state import PLACES, steps_of

MARKUP = "<b>ka</b> lo {token} <math>mi</math> d_k"
TARGET = "nu re <i>sta</i>"
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre": {"norm": "pre", "activation": "gelu", "positions": "learned"},
    "wide": {"d_k": 13, "scaling": False, "positions": "none"},
    "alone": {"residual": False, "causal": False},
    "alone pre": {"residual": False, "norm": "pre"},
    "no norm": {"norm": "none"},
    "bare": {"residual": False, "norm": "none", "causal": False, "heads": 1},
}
# Of some steps the part of the equation that is highlighted, and its text
LIT: dict[str, list[tuple[str, str, str, str]]] = {
    "paper": [
        ("encoder.self", "scale", "scale", "22"),  # d_k = 66 / 3
        ("encoder.self", "dot", "dot", "QKT"),
        ("decoder.self", "mask", "mask", "+M"),
        ("decoder.cross", "values", "values", "V"),
        ("encoder.self", "output", "output", "WO+bO"),
        ("encoder.self", "concat", "concat", f"Concat\u2061(head1,…,head{HEADS})"),
        ("encoder.ff", "activation", "activation", "max"),
        ("encoder.self", "norm", "norm", "LayerNorm"),
        ("source", "times", "times", str(D_MODEL)),
        ("output", "probabilities", "probabilities", "softmax"),
    ],
    "pre": [
        ("encoder.ff", "activation", "activation", "GELU"),
        ("encoder.self", "norm", "norm", "z=LayerNorm\u2061(x)"),
    ],
    "wide": [("encoder.self", "scale", "scale", "QKT")],  # not scaled: the scores stay as they are
    "alone": [("decoder.cross", "x", "x", "x")],
    "alone pre": [("decoder.ff", "x", "x", "x"), ("decoder.ff", "norm", "norm", "z=LayerNorm\u2061(x)")],
    "no norm": [("encoder.ff", "add", "add", "+FFN\u2061(x)")],
    "bare": [("encoder.ff", "outer", "outer", "W2+b2")],
}
HEAD, STEP = 2, 1

GLUE = """
const unpack = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
window.said = [];
const view = new AnatomyView(document.getElementById("here"), (state) => window.said.push(state));
window.view = view;
for (const text of PACKS) view.take(unpack(text));
window.at = (state) => {
  const weights = WEIGHTS[`${state.place}/${state.step}`];
  if (weights) view.take(unpack(weights));
  view.go(state);
  return view.state;
};
"""


def pretrained(**changes: Any) -> Pretrained:
    tokenizer = tiny_tokenizer()
    return Pretrained("tiny", Path("tiny"), tiny_model(vocab_size=len(tokenizer), **changes), tokenizer, ("A", "B"), {})


def layered(place: str) -> str:
    return place.replace(".", ".0.")


def encoded(pack: bytes) -> str:
    return base64.b64encode(pack).decode("ascii")


def given(model: Pretrained, text: str) -> tuple[Trace, str]:
    """The pass under these switches, and the script with its packs."""
    plain = model.trace(MARKUP, TARGET)
    switches = Interventions.parse(text)
    trace = model.trace(MARKUP, TARGET, interventions=switches) if text else plain
    before, state = plain if text else None, {"revision": 1, "t": STEP, "head": HEAD}
    packs = [trace_pack(model, trace, before, switches.to_params(), state), open_pack(trace, 0, 0)]
    packs += [place_pack(model, trace, layered(place), STEP, before) for place in PLACES]
    steps = {"self": ("project", "output"), "cross": ("project", "output"), "ff": ("inner", "outer")}
    weights = {f"{place}/{step}": encoded(weights_pack(model, layered(place), step))
               for place in PLACES for step in steps.get(place.partition(".")[2], ())}  # fmt: skip
    return trace, f"const PACKS = {json.dumps([*map(encoded, packs)])};\nconst WEIGHTS = {json.dumps(weights)};\n{GLUE}"


class Panel:
    """A page with the anatomy of a tiny model, without a server."""

    def __init__(self, page: Page, model: Pretrained, text: str = "") -> None:
        self.page, self.model = page, model
        self.trace, script = given(model, text)
        html = (
            f"<meta charset=utf-8><style>{bundle.style('anatomy')}</style><body style='margin:60px 20px'><div id=here>"
        )
        open_modules(page, "anatomy/view.js", html=html)
        page.add_script_tag(content=script)

    def go(self, **state: object) -> dict[str, Any]:
        return self.page.evaluate("(state) => window.at(state)", {"head": HEAD, "t": STEP, **state})

    def tensor(self, place: str, name: str) -> Tensor:
        return getattr(anatomy.steps(self.trace, self.model.model, layered(place), STEP), name)

    def lit(self) -> list[list[str]]:
        """Part, text and width of everything highlighted in the equation."""
        return self.page.evaluate(
            """() => [...document.querySelectorAll(".hs-an-lit")].map((element) =>
              [element.dataset.part || "", element.textContent, element.getBoundingClientRect().width])"""
        )

    def part(self, name: str) -> str:
        return self.page.get_by_test_id("tell-" + name).inner_text()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    page = context.new_page()
    page.emulate_media(reduced_motion="reduce")
    return page


@pytest.mark.parametrize("variant", ["paper", "wide", "alone pre", "bare"])
def test_every_step_has_its_equation_and_texts_and_the_model_its_connections(page: Page, variant: str) -> None:
    panel = Panel(page, pretrained(**VARIANTS[variant]))
    config = panel.model.config
    for place in PLACES:
        for step in steps_of(place, config):
            state = panel.go(zoom="sub", place=place, step=step)
            assert (state["place"], state["step"]) == (place, step)
            lit = panel.lit()
            nothing = step == "plus" and config.positions == "none"  # a model without positions adds nothing
            assert bool(lit) != nothing and all(width > 4 and text for _, text, width in lit), (place, step)
            assert panel.part("shape") and panel.part("title")
            assert panel.part("explanation") and "{" not in panel.part("explanation")
    panel.go(zoom="model", place="decoder.self")
    drawn = {key.partition(":")[0] for key in page.evaluate("view.scene.map((item) => item.key)")}
    assert ("around" in drawn) == config.residual
    assert ("pill" in drawn) == (config.residual or config.norm == "post")


def test_the_part_of_the_equation_that_a_step_computes_is_highlighted(page: Page) -> None:
    for variant, parts in LIT.items():
        panel = Panel(page, pretrained(**VARIANTS[variant]))
        for place, step, part, text in parts:
            panel.go(zoom="sub", place=place, step=step)
            assert [(name, lit_text) for name, lit_text, _ in panel.lit()] == [(part, text)]
            assert page.locator(".hs-an-math").first.get_attribute("aria-label")


def test_the_equation_fits_the_panel(page: Page) -> None:
    panel = Panel(page, pretrained())
    for width, big in ((1440, False), (1280, True), (390, False)):
        page.set_viewport_size({"width": width, "height": 800})
        for place in PLACES:
            panel.go(zoom="sub", place=place, big=big)
            overflow = page.get_by_test_id("tell-equation").evaluate(
                "(element) => element.scrollWidth - element.clientWidth"
            )
            assert overflow <= 1, (width, place)


def test_the_panel_says_what_the_switches_changed(page: Page) -> None:
    panel = Panel(page, pretrained(), "scaling=off@encoder_self.1 causal=off@decoder_self.1")
    plain = panel.model.trace(MARKUP, TARGET)
    panel.go(zoom="sub", place="encoder.self", step="scale")
    plain_scores = anatomy.steps(plain, panel.model.model, "encoder.0.self", 0).scaled
    most = float((panel.tensor("encoder.self", "scaled") - plain_scores).abs().max())
    assert float(panel.part("changed").removeprefix("Largest change here: ")) == pytest.approx(most, rel=0.005)
    assert [text for _, text, _ in panel.lit()] == ["QKT"] and panel.part("title").startswith("Not divided")
    assert "scaling off in encoder self-attention, layer 1" in page.get_by_test_id("tell-switched").inner_text()
    panel.go(zoom="sub", place="encoder.self", step="dot")
    assert panel.part("changed") == "The switches change nothing here."
    panel.go(zoom="sub", place="decoder.self", step="mask")
    n = len(panel.trace.target_in_labels)
    assert panel.part("changed").startswith(f"{n * (n - 1) // 2} cells shown or hidden")


def cell(panel: Panel, **state: object) -> str:
    """The arithmetic of one number in the panel; "" if it has none."""
    panel.go(zoom="number", **{"row": 1, "col": 4, **state})
    return panel.page.evaluate("(document.querySelector('.hs-an-cell-equation') || {textContent: ''}).textContent")


def test_the_arithmetic_of_a_number_names_its_operands(page: Page) -> None:
    for norm, fed, read in (("post", "x", "s"), ("pre", "z", "x")):
        panel = Panel(page, pretrained(norm=norm))
        for matrix, letter in (("queries", fed), ("keys", "m"), ("values", "m")):
            assert f"{letter}2,jWj,5+b5=" in cell(panel, place="decoder.cross", step="project", matrix=matrix)
        assert f"{fed}2,jWj,5+b5=" in cell(panel, place="encoder.ff", step="inner")
        assert f"γ5{read}2,5−μ2σ2+β5=" in cell(panel, place="encoder.ff", step="norm")
        assert "E[id]5" in cell(panel, place="source", step="times")


def test_a_number_that_a_switch_replaces_has_no_arithmetic(page: Page) -> None:
    head = f"encoder_self.1.{HEAD + 1}"
    softmax, values = {"place": "decoder.cross", "step": "softmax"}, {"place": "encoder.self", "step": "values"}
    activation, outer = {"place": "decoder.ff", "step": "activation"}, {"place": "decoder.ff", "step": "outer"}
    for text, cells in (
        (f"weights=uniform@cross.1 zero={head} skip=decoder.1.ff",
         [(softmax, "uniform"), (values, "→0"), (outer, "x+0")]),
        (f"weights=argmax@cross.1 resample=text.ti@{head} neurons=decoder.1.5",
         [(softmax, "argmax"), (values, "→…"), (activation, "")]),
    ):  # fmt: skip
        panel = Panel(page, pretrained(), text)
        for state, sign in cells:
            assert cell(panel, **state) == "", (text, state)
            assert sign in (page.get_by_test_id("tell-equation").text_content() or ""), (text, state)
    assert cell(panel, **activation, col=5), "its neighbour is at work"


def test_the_legend_has_the_numbers_of_all_heads_and_names_a_scale_that_they_share(page: Page) -> None:
    panel, legend = Panel(page, pretrained()), page.get_by_test_id("tell-legend")
    dots = panel.tensor("encoder.self", "dot")
    for step, shared in (("dot", True), ("project", False)):
        panel.go(zoom="sub", place="encoder.self", step=step, matrix="queries")
        ends = [float(legend.get_attribute(f"data-{name}") or "nan") for name in ("low", "high", "top")]
        page.locator(".hs-an-scale").hover()
        tip = page.locator(".hs-tip:visible").inner_text()
        own_top = float(dots[HEAD].abs().quantile(0.999))
        assert ("share one scale" in tip) == (shared and ends[2] > own_top * 1.01), (tip, ends, own_top)
        if shared:
            assert ends[:2] == pytest.approx([float(dots.min()), float(dots.max())], rel=1e-6)
    assert panel.part("shape").replace("\n", " ") == f"queries [1, {dots.shape[1]}, {D_MODEL}] = [batch, query, h · dk]"
    panel.go(zoom="sub", place="decoder.self", step="mask")
    expect(legend.locator(".hs-an-hatch")).to_have_count(1)
    panel.go(zoom="sub", place="decoder.self", step="softmax")
    assert (legend.get_attribute("data-low"), legend.get_attribute("data-high")) == ("0", "1")


def test_the_controls_lead_to_the_state_they_name(page: Page) -> None:
    panel = Panel(page, pretrained())
    panel.go(zoom="sub", place="encoder.self", step="dot")
    expect(page.get_by_test_id("anatomy-position")).to_have_text("step 4 of 12")
    for control, state in (
        ("chip-softmax", {"step": "softmax"}), ("anatomy-next", {"step": "values"}), ("heads-1", {"head": 0}),
        ("layers-encoder-2", {"encoder": 1}), ("zoom-head", {"zoom": "head"}), ("zoom-model", {"zoom": "model"}),
        ("chip-decoder.ff", {"place": "decoder.ff"}),
    ):  # fmt: skip
        button = page.get_by_test_id(control)
        button.click()
        assert {name: page.evaluate("view.state")[name] for name in state} == state
        if not control.startswith(("anatomy-next", "heads", "layers")):
            expect(button).to_have_attribute("aria-current", re.compile("step|location"))
        assert page.locator("[aria-current=step]").count() == 1
    for control in ("zoom-head", "heads"):  # feed-forward has no heads
        expect(page.get_by_test_id(control)).to_be_hidden()
    slider = page.get_by_test_id("anatomy-t")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("view.state.t") == STEP + 1
    expect(page.get_by_test_id("anatomy-t-text")).to_have_text(slider.get_attribute("aria-valuetext") or "")
    play = page.get_by_test_id("anatomy-play")
    play.click()
    expect(play).to_have_attribute("aria-label", "Pause (space)")
    play.click()
    page.get_by_test_id("anatomy-speed").select_option("fast")
    assert page.evaluate("view.state.tempo") == "fast"
    panel.go(zoom="model", place="source", t=0)
    assert page.get_by_test_id("anatomy-previous").get_attribute("aria-disabled") == "true"


@pytest.mark.parametrize(("width", "height", "big"), [(1280, 720, True), (390, 844, False)])
def test_no_part_of_the_page_moves_from_step_to_step(page: Page, width: int, height: int, big: bool) -> None:
    page.set_viewport_size({"width": width, "height": height})
    panel = Panel(page, pretrained())
    page.evaluate("view.reveal = () => {}")  # where the bar sticks depends on what is scrolled
    seen: dict[str, set[str]] = {}
    for zoom in ("sub", "head", "model"):
        for place in ("encoder.self", "decoder.cross", "encoder.ff", "source", "output"):
            state = panel.go(zoom=zoom, place=place, big=big)
            for _ in range(13 if zoom == "sub" else 1):
                boxes: dict[str, list[int]] = page.evaluate(
                    """() => { const boxes = {};
                      const beside = innerWidth > 900 ? ["top", "work", "layers", "heads"] : ["crumbs", "stage"];
                      for (const part of ["moves", ...beside]) {
                        const name = ".hs-an-" + part;
                        const { left, top, width } = document.querySelector(name).getBoundingClientRect();
                        boxes[name] = [left, top + scrollY, width].map(Math.round);
                      }
                      const bar = document.querySelector(".hs-an-steps").getBoundingClientRect();
                      const work = document.querySelector(".hs-an-work").getBoundingClientRect();
                      boxes.bar = [bar.left, bar.height, innerWidth > 900 ? bar.top - work.bottom : 0].map(Math.round);
                      return boxes; }"""
                )
                for name, box in boxes.items():
                    seen.setdefault(name, set()).add(str(box))
                page.get_by_test_id("anatomy-next").click()
                if page.evaluate("view.state.place") != state["place"]:
                    break
    assert {name: boxes for name, boxes in seen.items() if len(boxes) > 1} == {}
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_controls_on_a_phone_are_large_enough_to_touch(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    panel = Panel(page, pretrained())
    for zoom, place in (("sub", "encoder.self"), ("model", "output"), ("number", "decoder.cross")):
        panel.go(zoom=zoom, place=place)
        small = page.evaluate(
            """() => [...document.querySelectorAll(":is(.hs-an-top, .hs-an-steps) :is(button, select, input, summary)")]
              .map((element) => [element.dataset.testid, element.getBoundingClientRect()])
              .filter(([, { width, height }]) => width && (width < 32 || height < 32)).map(([name]) => name)"""
        )
        assert small == []
    assert page.get_by_test_id("heads-list").is_visible() and not page.get_by_test_id("heads-1").is_visible()
    page.get_by_test_id("heads-list").select_option(index=1)
    assert page.evaluate("view.state.head") == 1
