"""BertViz, given the same weights: the numbers and labels of its page are the numbers and labels we send.

BertViz 1.4.1 rounds nothing: its page holds every weight as JSON, a float32 written out as the double it is, and draws
lines whose opacity is that number.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import transformer
from benchmarks.peer import html
from tests.support.payloads import array, unpack
from transformer.interventions.sets import Interventions
from transformer.tracing.trace import KINDS, Trace
from transformer.view.pack import COLUMNS, ROWS, feed_pack, full_pack
from transformer.view.state import View

NAMES = {"encoder_self": "Encoder", "decoder_self": "Decoder", "cross": "Cross"}  # BertViz's menu
SENTENCE = "The old man next door sold his red car yesterday, didn't he?"
SWITCHES = ("none", "scaling=off causal=off@decoder_self.2 zero=cross.2.5", "pad=3 weights=argmax@cross.1")
PICTURE = 0.5 / 255 + 1e-7  # of all heads round(255 w) travels, one byte a cell: half a step, and float32's rounding


@dataclass(frozen=True)
class Shown:
    """weights: [layer, head, query, key], float64; left, right: labels of queries and keys, as BertViz draws them."""

    weights: np.ndarray
    left: list[str]
    right: list[str]


def bertviz(trace: Trace) -> dict[str, Shown]:
    """What the page of BertViz's `model_view` says, read out of its script, by kind of attention."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # BertViz leaves its script to be closed by the interpreter
        page = html(trace)
    params, _ = json.JSONDecoder().raw_decode(page, page.index("const params = ") + len("const params = "))
    found = {part["name"]: part for part in params["attention"]}
    return {
        kind: Shown(np.array(found[name]["attn"]), found[name]["left_text"], found[name]["right_text"])
        for kind, name in NAMES.items()
    }


def as_read(labels: list[str]) -> list[str]:
    """BertViz writes a blank for the piece mark; we leave it away, and draw an open box where nothing else is left."""
    return [label.strip() or "␣" for label in labels]


@pytest.fixture(scope="module", params=SWITCHES, ids=lambda text: text.replace(" ", "+"))
def trace(request: pytest.FixtureRequest) -> Trace:
    switches = Interventions.parse(request.param)
    return transformer.load("en-de").trace(SENTENCE, interventions=switches)


@pytest.fixture(scope="module")
def shown(trace: Trace) -> dict[str, Shown]:
    return bertviz(trace)


@pytest.mark.parametrize("kind", KINDS)
def test_its_numbers_are_those_of_the_trace(trace: Trace, shown: dict[str, Shown], kind: str) -> None:
    weights = trace.attention(kind).weights
    assert shown[kind].weights.shape == weights.shape
    assert weights.shape[2] != weights.shape[3] or kind != "cross"
    assert np.array_equal(shown[kind].weights, weights.double().numpy())  # to the last bit


@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_we_send_are_its_numbers(trace: Trace, shown: dict[str, Shown], kind: str) -> None:
    header, data = unpack(full_pack(trace, View(), exact=True))
    picture = array(header["kinds"][kind]["picture"], data)
    assert np.abs(picture / 255 - shown[kind].weights).max() <= PICTURE
    entries = [entry for entry in header["exact"] if entry["kind"] == kind]
    assert len(entries) == shown[kind].weights.shape[0] * shown[kind].weights.shape[1]
    for entry in entries:
        layer, head = entry["layer"], entry["head"]
        assert np.array_equal(array(entry["weights"], data).astype(float), shown[kind].weights[layer, head])
    header, data = unpack(feed_pack(trace, View(kind, 1, 4)))
    assert np.array_equal(array(header["exact"][0]["weights"], data).astype(float), shown[kind].weights[1, 4])


@pytest.mark.parametrize("kind", KINDS)
def test_its_labels_are_ours(trace: Trace, shown: dict[str, Shown], kind: str) -> None:
    header, _ = unpack(full_pack(trace, View()))
    # BertViz is told the tokens fed in; ours label a decoder row by those or by what the step predicts (`View.rows`).
    rows = "target_in" if ROWS[kind] == "target" else ROWS[kind]
    assert as_read(shown[kind].left) == header["labels"][rows]
    assert as_read(shown[kind].right) == header["labels"][COLUMNS[kind]]
    if ROWS[kind] == "target":
        assert header["labels"]["target_out"][:-1] == header["labels"]["target_in"][1:]


def test_rows_and_columns_are_not_exchanged(shown: dict[str, Shown]) -> None:
    """Rows sum to 1 and columns do not: an axis exchanged on either side would pass wherever a picture is square."""
    for kind in KINDS:
        assert np.abs(shown[kind].weights.sum(-1) - 1).max() < 1e-6
        assert np.abs(shown[kind].weights.sum(-2) - 1).max() > 0.5
