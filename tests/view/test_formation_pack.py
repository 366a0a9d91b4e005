"""The states of a training on their way to the browser."""

import dataclasses

import numpy as np
import pytest
import torch

from tests.support.build import tiny_pretrained
from tests.support.payloads import unpack
from tests.support.recordings import PAIRS, made_recording
from transformer.analysis.heads import SHARES, HeadStatistics, head_statistics
from transformer.tracing.trace import KINDS, Trace
from transformer.view.formation_pack import SHOWN, formation_pack
from transformer.view.page import html_page
from transformer.view.state import View, view_from_browser, view_from_params

STATISTICS = head_statistics([tiny_pretrained().trace("ka", "nu")], {"ka": frozenset({"nu"})})
LAYERS = {"encoder_self": 2, "decoder_self": 2, "cross": 2}


@pytest.fixture(scope="module")
def trace() -> Trace:
    return tiny_pretrained().trace(*PAIRS[1])


def test_the_states_of_a_sentence_are_sent_byte_for_byte(trace: Trace) -> None:
    recording = made_recording()
    header, data = unpack(
        formation_pack(recording, ["x", "x"], STATISTICS, (), trace, 1, View(training=3, big=True), 7)
    )
    assert header["id"] == trace.id and header["steps"] == [0, 3, 20] and header["revision"] == 7
    assert header["step"] == 3 and header["big"] is True
    assert header["writes"] == ["state 0 of mi", "state 3 of mi", "state 20 of mi"]
    assert header["scores"][2] == {"loss": 7.0, "score": 4.0} and header["measure"] == "bleu"
    assert header["heads"] == {kind: 6 for kind in KINDS}
    for kind, reference in header["kinds"].items():
        wanted = recording.weights[kind][1]
        assert reference["dtype"] == "uint8" and reference["shape"] == list(wanted.shape)
        sent = data[reference["offset"] : reference["offset"] + wanted.size]
        assert sent == wanted.tobytes()


def test_habits_of_heads_are_sent_in_whole_percent(trace: Trace) -> None:
    nan, shape = float("nan"), (3, 2, 3)
    shares = {name: torch.full(shape, nan) for name in (*SHARES, "entropy")}
    shares["previous"][1, 0, 2], shares["same"][2, 1, 0] = 0.614, 0.996
    found = {"encoder_self": HeadStatistics("encoder_self", **shares, rows=161, links=0)}
    pack = formation_pack(made_recording(), ["x", "x"], found, (), trace, 1, View(training=3), 0)
    header, data = unpack(pack)
    reference = header["habits"]["encoder_self"]
    sent = np.frombuffer(data, np.uint8, 90, reference["offset"]).reshape(reference["shape"])
    wanted = np.full((3, 2, 3, 5), 255)
    wanted[1, 0, 2, 0], wanted[2, 1, 0, 1] = 61, 100
    assert np.array_equal(sent, wanted) and header["rows"] == {"encoder_self": [161, 0]}


def test_of_a_sentence_that_was_not_recorded_no_weights_travel(trace: Trace) -> None:
    pack = formation_pack(made_recording(), [None, "x"], STATISTICS, (), trace, None, View(training=0), 0)
    header, data = unpack(pack)
    assert header["kinds"] == {} and header["writes"] == [] and not data
    assert header["sentences"] == [{"number": 1, "source": "mi", "same": True}]  # the other one cannot be opened


def test_long_translations_of_untrained_states_are_cut(trace: Trace) -> None:
    long = dataclasses.replace(made_recording(), translations=(("a" * 999,) * 2,) * 3)
    header, _ = unpack(formation_pack(long, ["x", "x"], STATISTICS, (), trace, 0, View(training=0), 0))
    assert header["writes"] == ["a" * SHOWN + "…"] * 3


def test_a_step_is_in_the_link_and_unknown_to_the_picture() -> None:
    view = View(training=1219)
    assert view.to_params()["training"] == "1219" and "training" not in View().to_params()
    assert view_from_params(view.to_params(), LAYERS, 3) == (view, [])
    assert "training" not in view.to_browser()
    # What the browser reports neither moves nor closes the slider.
    assert view_from_browser({"layer": 1, "training": 5}, LAYERS, 3, view) == dataclasses.replace(view, layer=1)


def test_the_page_taken_home_knows_nothing_of_it(trace: Trace) -> None:
    assert html_page(trace, View(training=3)) == html_page(trace, View())
