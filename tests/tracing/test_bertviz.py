"""BertViz, given the same weights: the numbers and labels of its page are the numbers and labels we send.

BertViz 1.4.1 rounds nothing: its page holds every weight as JSON, a float32 written out as the double it is, and draws
lines whose opacity is that number.
"""

from __future__ import annotations

import numpy as np
import pytest

import transformer
from tests.support.bertviz import SENTENCE, Shown, as_read, bertviz
from tests.support.payloads import array, unpack
from transformer.interventions.sets import Interventions
from transformer.tracing.trace import KINDS, Trace
from transformer.view.pack import COLUMNS, ROWS, feed_pack, full_pack
from transformer.view.state import View

SWITCHES = ("none", "scaling=off causal=off@decoder_self.2 zero=cross.2.5", "pad=3 weights=argmax@cross.1")
PICTURE = 0.5 / 255 + 1e-7  # of all heads round(255 w) travels, one byte a cell: half a step, and float32's rounding


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
