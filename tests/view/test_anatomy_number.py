"""Every number of the anatomy's number zoom is computed again from its operands by the browser's code, in Node."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import node
from tests.support.build import HEADS, tiny_model, tiny_tokenizer
from transformer.analysis import anatomy
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.tracing.trace import Trace
from transformer.view.anatomy_pack import place_pack, trace_pack, weights_pack

VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre": {"norm": "pre", "activation": "gelu", "positions": "learned"},
    "wide": {"d_k": 13, "scaling": False, "positions": "none"},
    "alone": {"residual": False},
    "alone pre": {"residual": False, "norm": "pre", "causal": False},
    "no norm": {"norm": "none", "positions": "none"},
    "bare": {"residual": False, "norm": "none", "causal": False, "scaling": False, "heads": 1},
    "apart": {
        "activation": "swish", "layout": "halves", "output_bias": True, "embedding_scale": False, "tied_output": False,
        "target_vocab_size": 67,
    },
}  # fmt: skip
DEPTHS = (10, 22, 25)  # of heads: products of so many terms, which are summed in another order
# Each reaches what the others leave alone.
OUTPUTS = "skip=encoder.1.self,decoder.2.ff zero=cross.1.2,encoder_self.2 neurons=decoder.1.5,encoder.2.1"
RULES = (
    "weights=uniform@cross.1,argmax@encoder_self.1 scaling=0.7@decoder_self,off@cross.2 causal=off@decoder_self.1 "
    "hide=target.4@decoder_self.2"
)
MASKS = (
    "pad=2 hide=source.2@cross padding=off@encoder_self positions=scale.2@source,shift.3@target "
    "resample=text.ti@encoder_self.1.1"
)
ASKS: dict[tuple[str, str], list[tuple[dict[str, Any], dict[str, Any]]]] = {  # variant, switches -> state, what it says
    ("paper", ""): [
        ({"place": "decoder.self", "step": "mask", "row": 1, "col": 3}, {"why": "future", "value": "-Infinity"}),
        ({"place": "decoder.self", "step": "scale", "row": 1}, {"kind": "divide"}),
        ({"place": "encoder.self", "step": "norm"}, {"input": "sum"}),
    ],
    ("alone", ""): [({"place": "encoder.self", "step": "norm"}, {"input": "update"})],
    ("bare", ""): [({"place": "decoder.self", "step": "mask", "row": 1, "col": 3}, {"why": "bare_future"})],
    ("paper", OUTPUTS): [
        ({"place": "encoder.self", "step": "output", "row": 1, "col": 5}, {"value": 0, "stored": 0, "skipped": True}),
        ({"place": "decoder.cross", "step": "values", "head": 1, "col": 5}, {"value": 0, "skipped": True}),
        ({"place": "decoder.ff", "step": "activation", "row": 1, "col": 4}, {"value": 0, "silenced": True}),
    ],
    ("paper", RULES): [
        ({"place": "decoder.cross", "step": "softmax", "row": 1, "col": 2}, {"rule": 1}),
        ({"place": "encoder.self", "step": "softmax", "row": 1, "col": 2}, {"rule": 2}),
        ({"place": "decoder.self", "step": "scale", "row": 1}, {"kind": "times", "factor": 0.7}),
        ({"place": "decoder.self", "step": "mask", "row": 1, "col": 3}, {"why": "open_future"}),
        ({"place": "decoder.self", "decoder": 1, "step": "mask", "row": 4, "col": 3}, {"why": "switch"}),
    ],
    ("paper", MASKS): [
        ({"place": "decoder.cross", "step": "mask", "row": 1, "col": 1}, {"why": "switch", "value": "-Infinity"}),
        ({"place": "decoder.cross", "step": "mask", "row": 1, "col": -1}, {"why": "padding"}),
        ({"place": "encoder.self", "step": "mask", "row": 1, "col": -1}, {"why": "open_padding"}),
    ],
}  # fmt: skip
# Switches of the positions -> what the board says of a position of the source and of the target.
POSITIONS = {
    ("pre", ""): ("from a table of positions", "from a table of positions"),
    ("pre", "positions=remove@source"): ("changed by a switch", "from a table of positions"),
    ("paper", "positions=scale.2.5@target"): ("sin of 1 ÷ 10000^(8/66)", "changed by a switch"),
    ("wide", ""): (None, None),
}
POSITION_STATES = [{"place": place, "step": "plus", "row": 1, "col": 8} for place in ("source", "target")]
# The last step of a sub-layer, from which the next one takes its input.
LAST = {"paper": "norm", "pre": "add", "no norm": "add", "alone": "norm", "alone pre": "output", "bare": "output"}
LAST_STATES = [
    {"place": "encoder.ff", "step": "x", "encoder": 1, "row": 2},
    {"place": "decoder.cross", "step": "x", "decoder": 1, "row": 2, "matrix": "memory"},
]


def pretrained(**changes: Any) -> Pretrained:
    model = tiny_model(vocab_size=len(tiny_tokenizer()), spread=0.25, **changes)
    return Pretrained("tiny", Path("tiny"), model, tiny_tokenizer(), ("Invented", "Imagined"), {})


def traced(model: Pretrained, switches: str) -> Trace:
    return model.trace("<b>ka {n}", "nu re <i>", interventions=Interventions.parse(switches))


def encoded(pack: bytes) -> str:
    return base64.b64encode(pack).decode("ascii")


def given(model: Pretrained, switches: str, asks: list[dict[str, Any]], cells: tuple[str, ...] = ()) -> dict[str, Any]:
    """The packs of a sentence, as a server sends them, and what is asked of them. Column -1: the last of the source."""
    trace = traced(model, switches)
    names = anatomy.places((model.config.encoder_layers, model.config.decoder_layers))[:-1]
    inside = [(name, step) for name in names if "." in name
              for step in (("inner", "outer") if name.endswith("ff") else ("project", "output"))]  # fmt: skip
    places = {name: place_pack(model, trace, name) for name in names}
    places |= {f"output.{t}": place_pack(model, trace, "output", t) for t in range(len(trace.target_in))}
    last = len(trace.source_ids) - 1
    return {
        "trace": encoded(trace_pack(model, trace)),
        "places": {name: encoded(pack) for name, pack in places.items()},
        "weights": {f"{name}/{step}": encoded(weights_pack(model, name, step)) for name, step in inside},
        "cells": cells,
        "asks": [{**state, "col": last} if state.get("col") == -1 else state for state in asks],
    }


def computed(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(node.written("anatomy/testing/numbers.js", given=jobs))
    return found


def test_every_number_of_every_step_is_the_traces() -> None:
    asks = {variant: LAST_STATES if variant in LAST else [] for variant in VARIANTS}
    models = {variant: pretrained(**changes) for variant, changes in VARIANTS.items()}
    found = computed([given(models[variant], "", asks[variant]) for variant in VARIANTS])
    for (variant, model), job in zip(models.items(), found, strict=True):
        for one in job["numbers"]:
            where = (variant, one)
            value, stored = float(one["value"]), float(one["stored"])
            assert value == stored or abs(value - stored) <= 1e-5 * max(1, abs(stored)), where
            assert one["checked"] == (one["kind"] not in ("given", "lookup")) and one["agrees"] == one["checked"], where
            assert one["shown"] == one["stored"], where  # the panel is about the same number
            assert one.get("tolerance", 0) <= 1e-4 * max(1, abs(stored)), where
            assert not any(word in one["texts"] for word in ("undefined", "NaN", "null", "they differ")), where
            assert "e-" not in one["equation"], where
        seen = {(one["place"], one["step"]) for one in job["numbers"]}
        attention = {"x", "project", "split", "dot", "scale", "mask", "softmax", "values", "concat", "output"}
        there = (("add", model.config.residual), ("norm", model.config.norm != "none"))
        attention |= {name for name, is_there in there if is_there}
        assert {step for place, step in seen if place == "decoder.1.cross"} == attention
        assert {place for place, _ in seen} == set(anatomy.places((2, 2)))
        ends = {"hidden", "logits", "probabilities", "choose", "back"}
        assert {step for place, step in seen if place == "output"} == ends
        if variant in LAST:
            step = LAST[variant]
            back = [(answer["back"]["place"], answer["back"]["step"]) for answer in job["answers"]]
            last_of_feed_forward = {"output": "outer"}.get(step, step)
            assert back == [("encoder.self", step), ("encoder.ff", last_of_feed_forward)], variant


@pytest.mark.parametrize("depth", DEPTHS)
def test_every_score_is_the_traces_in_any_order_of_summation(depth: int) -> None:
    model = pretrained(d_k=depth)
    cells = ("dot", "scale", "mask")
    for job in computed([given(model, text, [], cells) for text in ("", "scaling=3@encoder_self,off@cross")]):
        trace = traced(model, "")
        n, m = len(trace.source_ids), len(trace.target_in)
        assert job["every"] == {"count": 3 * HEADS * 2 * (n * n + m * m + m * n), "differ": []}


def test_a_number_that_a_switch_or_a_mask_makes_is_explained() -> None:
    asks = {case: [state for state, _ in rows] for case, rows in ASKS.items()}
    asks |= {case: POSITION_STATES for case in POSITIONS if case not in asks}
    found = computed([given(pretrained(**VARIANTS[case[0]]), case[1], states) for case, states in asks.items()])
    for case, job in zip(asks, found, strict=True):
        assert [one for one in job["numbers"] if one["checked"] and not one["agrees"]] == [], case
        for answer, (state, says) in zip(job["answers"], ASKS.get(case, []), strict=False):
            assert {name: answer.get(name) for name in says} == says, (case, state)
        if case in POSITIONS:
            assert tuple(one["texts"].get("number:card.1.note") for one in job["answers"]) == POSITIONS[case]
            assert all(one["texts"]["number:check.0"].startswith("computed here ") for one in job["answers"])


def test_the_default_cell_is_the_largest_weight_of_the_decoding_step() -> None:
    model, chosen = pretrained(), {"head": 1, "t": 3, "col": None}
    asks = [{**chosen, "place": "decoder.cross", "step": step} for step in ("dot", "scale", "mask", "softmax")]
    (job,) = computed([given(model, "", [*asks, {**chosen, "place": "decoder.self", "step": "dot"}])])
    *cross, own = (answer["cell"] for answer in job["answers"])
    assert cross == [{"row": 3, "col": int(traced(model, "").cross.weights[0, 1, 3].argmax())}] * 4
    assert own["col"] <= 3, "what is masked is no default"
