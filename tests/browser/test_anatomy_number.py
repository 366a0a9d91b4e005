"""The number zoom of the anatomy in Chromium: every number of a trace is computed again from its operands."""

from __future__ import annotations

import base64
import functools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.build import D_MODEL, HEADS, tiny_model, tiny_tokenizer
from transformer.analysis import anatomy
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.tracing.trace import Trace
from transformer.view.anatomy_pack import place_pack, trace_pack, weights_pack

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page

from tests.browser.modules import open_modules

MARKUP = "<b>ka {n}"
TARGET = "nu re <i>"
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre": {"norm": "pre", "activation": "gelu", "positions": "learned"},
    "wide": {"d_k": 13, "scaling": False, "positions": "none"},
    "alone": {"residual": False},
    "alone pre": {"residual": False, "norm": "pre", "causal": False},
    "no norm": {"norm": "none", "positions": "none"},
    "bare": {"residual": False, "norm": "none", "causal": False, "scaling": False, "heads": 1},
    "marian": {"activation": "swish", "layout": "halves", "output_bias": True},
    "apart": {
        "activation": "swish", "layout": "halves", "output_bias": True, "embedding_scale": False, "tied_output": False,
        "target_vocab_size": 67,
    },
}  # fmt: skip
DEPTHS: dict[str, dict[str, Any]] = {f"d_k {depth}": {"d_k": depth} for depth in (10, 22, 25)}
SWITCHES = [  # each reaches what the others leave alone
    "skip=encoder.1.self,decoder.2.ff zero=cross.1.2,encoder_self.2 neurons=decoder.1.5,encoder.2.1",
    "weights=uniform@cross.1,argmax@encoder_self.1 scaling=0.7@decoder_self,off@cross.2 causal=off@decoder_self.1",
    "pad=2 hide=source.2@cross padding=off@encoder_self positions=scale.2@source,shift.3@target "
    "resample=text.ti@encoder_self.1.1",
]  # fmt: skip


def encoded(pack: bytes) -> str:
    return base64.b64encode(pack).decode("ascii")


@functools.cache
def pretrained(variant: str) -> Pretrained:
    tokenizer = tiny_tokenizer()
    model = tiny_model(vocab_size=len(tokenizer), spread=0.25, **{**VARIANTS, **DEPTHS}[variant])
    return Pretrained("tiny", Path("tiny"), model, tokenizer, ("Invented", "Imagined"), {})


@functools.cache
def traced(variant: str, switches: str = "") -> Trace:
    return pretrained(variant).trace(MARKUP, TARGET, interventions=Interventions.parse(switches))


@functools.cache
def given(variant: str, switches: str = "") -> dict[str, Any]:
    """The packs of a sentence, as a server sends them."""
    trace, model = traced(variant, switches), pretrained(variant)
    names = anatomy.places((model.config.encoder_layers, model.config.decoder_layers))[:-1]
    steps = range(len(trace.target_in))
    attention, feed = ("project", "output"), ("inner", "outer")
    weights = [(name, step) for name in names if "." in name for step in (feed if name.endswith("ff") else attention)]
    return {
        "name": f"{variant} {switches}",
        "trace": encoded(trace_pack(model, trace)),
        "places": {
            **{name: encoded(place_pack(model, trace, name)) for name in names},
            **{f"output.{t}": encoded(place_pack(model, trace, "output", t)) for t in steps},
        },
        "weights": {f"{name}/{step}": encoded(weights_pack(model, name, step)) for name, step in weights},
    }


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    names = (
        "stage/scene",
        "number/number",
        "number/operands",
        "number/equation",
        "number/texts",
        "data",
        "walk",
        "arithmetic",
    )
    open_modules(page, "core/pack.js", *(f"anatomy/{name}.js" for name in names))
    page.add_script_tag(path=Path(__file__).parent / "anatomy_number_page.js")
    yield page
    page.close()


def hold(page: Page, data: dict[str, Any]) -> None:
    """Keep the packs in the page."""
    if page.evaluate("window.given && window.given.name") != data["name"]:
        page.evaluate("(given) => window.hold(given)", data)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_number_of_every_step_equals_the_trace(page: Page, variant: str) -> None:
    hold(page, given(variant))
    rows = page.evaluate("window.numbersOfAll()")
    seen = set()
    for place, step, made, value, stored, checked, agrees, tolerance, row, col in rows:
        where = f"{place} {step} [{row}, {col}]: {value} and {stored}"
        assert value == stored or abs(value - stored) <= 1e-5 * max(1, abs(stored)), where
        assert checked == (made not in ("given", "lookup")) and agrees == checked, where
        assert tolerance is None or tolerance <= 1e-4 * max(1, abs(stored)) or math.isinf(stored), where
        seen.add((place, step))
    attention = {"x", "project", "split", "dot", "scale", "mask", "softmax", "values", "concat", "output"}
    config = pretrained(variant).config
    attention |= {name for name, there in (("add", config.residual), ("norm", config.norm != "none")) if there}
    assert {step for place, step in seen if place == "decoder.1.cross"} == attention
    assert {place for place, _ in seen} == set(anatomy.places((2, 2)))
    ends = {"hidden", "logits", "probabilities", "choose", "back"}
    assert {step for place, step in seen if place == "output"} == ends


@pytest.mark.parametrize("variant", DEPTHS)
@pytest.mark.parametrize("switches", ["", "scaling=3@encoder_self,off@cross"])
def test_every_score_equals_the_trace_in_any_order_of_summation(page: Page, variant: str, switches: str) -> None:
    hold(page, given(variant, switches))
    scores = page.evaluate('window.cellsOf(["dot", "scale", "mask"])')
    n, m = len(traced(variant).source_ids), len(traced(variant).target_in)
    assert scores["count"] == 3 * HEADS * 2 * (n * n + m * m + m * n)
    assert scores["differ"] == []


def test_the_origin_of_a_number_is_right_without_residual_connections_or_norm(page: Page) -> None:
    """The input of a sub-layer comes from the last step of the sub-layer before. In a model without a mask, no
    number is explained by a mask."""
    at = {"encoder": 1, "decoder": 1, "row": 2, "col": 1}
    last = {"paper": "norm", "pre": "add", "no norm": "add", "alone": "norm", "alone pre": "output", "bare": "output"}
    for variant, step in last.items():
        back = ask(page, variant, place="encoder.ff", step="x", **at)["back"]
        assert (back["place"], back["step"]) == ("encoder.self", step), variant
        back = ask(page, variant, place="decoder.cross", step="x", **{**at, "matrix": "memory"})["back"]
        assert (back["place"], back["step"]) == ("encoder.ff", {"output": "outer"}.get(step, step)), variant
    for variant, read, step in (("paper", "sum", "add"), ("alone", "update", "output"), ("alone pre", "x", "x")):
        number = ask(page, variant, place="encoder.self", step="norm", **at)
        assert (number["input"], number["back"]["step"]) == (read, step) and number["agrees"]
    for variant, why in (("paper", "future"), ("bare", "bare_future"), ("alone pre", "bare_future")):
        number = ask(page, variant, place="decoder.self", step="mask", **{**at, "row": 1, "col": 3})
        assert number["why"] == why and (number["value"] == -math.inf) == (why == "future") and number["agrees"]
    number = ask(page, "bare", "hide=target.4@decoder_self", place="decoder.self", step="mask", **{**at, "col": 3})
    assert number["why"] == "switch" and number["value"] == -math.inf


STATE = {"zoom": "number", "encoder": 0, "decoder": 0, "matrix": "queries", "head": 0, "t": 0, "row": 0, "col": 0}


def ask(page: Page, variant: str, switches: str = "", **state: Any) -> dict[str, Any]:
    """numberOf of one state."""
    hold(page, given(variant, switches))
    return page.evaluate(
        """(state) => {
          const number = numberOf({ state, data: window.dataOf(state) });
          const back = number.from && number.from(number.col);
          const { matrix, from, ...rest } = number;
          return { ...rest, back };
        }""",
        {**STATE, **state},
    )


def test_chosen_cells_equal_the_tensors_of_the_trace(page: Page) -> None:
    """Layer 1, head 2, row 3, column 1, where a case names no other."""
    trace = traced("paper")
    cross, self_ = trace.cross, trace.decoder_self
    weights, keys = cross.weights[1, 2, 3], {"step": "x", "matrix": "memory", "row": 2, "col": 45}
    cases: list[tuple[dict[str, Any], Any, dict[str, Any]]] = [
        ({"place": "decoder.cross", "step": "softmax"}, weights[1],
         {"key": "m:decoder.1.cross.weights.h2", "back": {"step": "mask", "row": 3, "col": 1}}),
        ({"place": "decoder.cross", "step": "values"}, weights @ cross.values[1, 2, :, 1],
         {"key": "m:decoder.1.cross.head_outputs.h2"}),
        ({"place": "decoder.self", "step": "dot"}, self_.queries[1, 2, 3] @ self_.keys[1, 2, 1],
         {"key": "m:decoder.1.self.scores.h2"}),
        ({"place": "decoder.self", "step": "project", "matrix": "values", "col": 45}, self_.values[1, 2, 3, 1],
         {"key": "m:decoder.1.self.values", "back": {"step": "x", "matrix": "queries", "row": 3, "col": 45}}),
        ({"place": "decoder.cross", "step": "project", "matrix": "keys", "row": 2, "col": 45}, cross.keys[1, 2, 2, 1],
         {"back": keys}),
        ({"place": "decoder.self", "step": "scale", "row": 1}, self_.scores[1, 2, 1, 1], {"made": "divide"}),
        ({"place": "decoder.self", "step": "mask", "row": 1, "col": 3}, -math.inf, {"why": "future", "agrees": True}),
        ({"place": "encoder.ff", "step": "outer", "row": 2, "col": 40}, trace.encoder_ff.update[1, 2, 40], {}),
        ({"place": "output", "step": "probabilities", "t": 2, "row": 4}, trace.logits[2].softmax(-1).sort()[0][-5], {}),
        ({"place": "output", "step": "choose", "t": 2, "row": 4}, trace.probabilities[2], {}),
        ({"place": "source", "step": "plus", "row": 1, "col": 9}, trace.encoder_self.enters[0, 1, 9], {}),
    ]  # fmt: skip
    for state, value, says in cases:
        number = ask(page, "paper", **{"encoder": 1, "decoder": 1, "head": 2, "row": 3, "col": 1, **state})
        assert number["value"] == pytest.approx(float(value), abs=1e-5), state
        assert {name: number[name] for name in says} == says, state
    wave = number  # of the last case
    assert wave["wave"]["sort"] == "cos" and wave["b"] == pytest.approx(math.cos(10000 ** (-8 / D_MODEL)), abs=1e-6)


@pytest.mark.parametrize("switches", SWITCHES)
def test_every_number_equals_the_trace_under_switches(page: Page, switches: str) -> None:
    hold(page, given("paper", switches))
    assert [row for row in page.evaluate("window.numbersOfAll()") if row[5] and not row[6]] == []


def test_a_number_that_a_switch_replaces_is_explained(page: Page) -> None:
    out, rules, masks = SWITCHES
    skip = ask(page, "paper", out, place="encoder.self", step="output", row=1, col=5)
    assert skip["value"] == 0 == skip["stored"] and skip["skipped"] and abs(skip["free"]) > 0
    zero = ask(page, "paper", out, place="decoder.cross", step="values", head=1, row=1, col=5)
    assert zero["value"] == 0 and zero["skipped"] and zero["free"] != 0
    silent = ask(page, "paper", out, place="decoder.ff", step="activation", row=1, col=4)
    assert silent["silenced"] and silent["value"] == 0
    level = ask(page, "paper", rules, place="decoder.cross", step="softmax", row=1, col=2)
    assert level["rule"] == 1 and level["value"] == pytest.approx(1 / len(traced("paper").source_ids))
    best = ask(page, "paper", rules, place="encoder.self", step="softmax", row=1, col=2)
    assert best["rule"] == 2 and best["value"] in (0, 1) and best["agrees"]
    scale = ask(page, "paper", rules, place="decoder.self", step="scale", row=1)
    assert (scale["made"], scale["factor"]) == ("times", 0.7)
    opened = ask(page, "paper", rules, place="decoder.self", step="mask", row=1, col=3)
    assert opened["why"] == "open_future" and math.isfinite(opened["value"])
    last = len(traced("paper", masks).source_ids) - 1
    assert ask(page, "paper", masks, place="decoder.cross", step="mask", row=1, col=1)["why"] == "switch"
    assert ask(page, "paper", masks, place="decoder.cross", step="mask", row=1, col=last)["why"] == "padding"
    assert ask(page, "paper", masks, place="encoder.self", step="mask", row=1, col=last)["why"] == "open_padding"


def test_a_word_outside_the_likeliest_has_no_link_to_its_logit(page: Page) -> None:
    hold(page, {**given("paper"), "name": "ranked"})
    set_rank = "(rank) => (window.given.trace.header.outputs.chosen_rank[1] = rank)"
    back = "(state) => { const number = numberOf({ state, data: window.dataOf(state) }); return number.from(0); }"
    for rank in (0, 4, anatomy.LIKELIEST - 1, anatomy.LIKELIEST, 50):
        page.evaluate(set_rank, rank)
        for step in ("choose", "back"):
            origin = page.evaluate(back, {**STATE, "place": "output", "step": step, "t": 1})
            assert origin == (None if rank >= anatomy.LIKELIEST else {"step": "logits", "row": rank, "col": 0})


@pytest.mark.parametrize(
    ("variant", "switches", "source", "target"),
    [
        ("pre", "", "from a table of positions", "from a table of positions"),
        ("pre", "positions=remove@source", "changed by a switch", "from a table of positions"),
        ("pre", "positions=shift.3", "from a table of positions", "from a table of positions"),
        ("paper", "positions=scale.2.5@target", "sin of 1 ÷ 10000^(8/66)", "changed by a switch"),
        ("paper", "positions=remove", "changed by a switch", "changed by a switch"),
        ("wide", "", None, None),
    ],
)
def test_the_origin_of_a_position_is_named(page: Page, variant: str, switches: str, source: str, target: str) -> None:
    hold(page, given(variant, switches))
    for place, expected in (("source", source), ("target", target)):
        state = {**STATE, "place": place, "step": "plus", "row": 1, "col": 8}
        note = "(state) => (window.boardOf(state).find((item) => item.key === 'number:card.1.note') || {}).text"
        assert page.evaluate(note, state) == expected


def test_the_default_cell_is_the_largest_weight_of_the_decoding_step(page: Page) -> None:
    hold(page, given("paper"))

    def cell(**state: Any) -> dict[str, int]:
        state = {**STATE, "head": 1, "t": 3, "col": -1, **state}
        return page.evaluate("(state) => cellOf(state, window.dataOf(state))", state)

    best = {"row": 3, "col": int(traced("paper").cross.weights[0, 1, 3].argmax())}
    for step in ("dot", "scale", "mask", "softmax"):
        assert cell(place="decoder.cross", step=step) == best, "one cell from products to weights"
    assert cell(place="decoder.self", step="dot")["col"] <= 3, "what is masked is no default"
    assert cell(place="encoder.self", step="dot", row=2)["row"] == 2, "the encoder has no step of decoding"


def test_the_cell_grows_out_of_its_matrix_and_text_stays_text(page: Page) -> None:
    hold(page, given("paper"))
    state = {**STATE, "place": "encoder.self", "encoder": 1, "step": "softmax", "head": 1, "col": 2}
    items = page.evaluate(
        """(state) => window.boardOf(state)
             .map(({ matrix, pick, says, ...item }) => ({ ...item, value: matrix ? matrix.at(0, 0) : null }))""",
        state,
    )
    key = "m:encoder.1.self.weights.h1"
    cell = next(item for item in items if item["key"] == key + ":cell")
    assert cell["parent"] == key and cell["parentCell"] == {"key": key, "row": 0, "col": 2}
    assert cell["value"] == pytest.approx(traced("paper").encoder_self.weights[1, 1, 0, 2].item())
    assert next(item for item in items if item["key"] == key)["chosen"] == [0, 2]
    texts = {item.get("text") for item in items}
    assert set(traced("paper").source_labels) <= texts, "every key of the row, as it was typed"
    check = next(item for item in items if item["key"] == "number:check.0")
    assert check["colour"] == "good" and check["text"].startswith("computed here ")


def test_a_number_that_differs_from_the_trace_is_reported(page: Page) -> None:
    hold(page, {**given("paper"), "name": "broken"})
    page.evaluate('window.breakOne("encoder.0.self", "update", 5, 1e-4)')
    state = {**STATE, "place": "encoder.self", "step": "output", "col": 5}
    for col, agrees in ((5, False), (6, True)):
        texts = page.evaluate(
            """(state) => window.boardOf(state).filter((item) => item.key.startsWith("number:check"))
                 .map((item) => [item.text, item.colour])""",
            {**state, "col": col},
        )
        assert texts[0][1] == ("good" if agrees else "ink") and ("they differ" in texts[0][0]) != agrees


@pytest.mark.parametrize("missing", [["W_q"], ["place.queries"], ["place.b_q"]])
def test_missing_numbers_show_a_loading_text(page: Page, missing: list[str]) -> None:
    hold(page, given("paper"))
    state = {**STATE, "place": "encoder.self", "step": "project", "col": 2}
    texts = "([state, missing]) => window.boardOf(state, undefined, missing).map((item) => item.text || '')"
    assert "Loading the exact numbers …" in page.evaluate(texts, [state, missing])
