"""Measures before and after: what the browser is sent beside them, and its reports.

tests/web/test_lab_packs.py compares the measures with what the engine finds in its own traces."""

import json
import math
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.comparison import Compared
from pages.lab import measures
from tests.support.app import components, without_error
from tests.support.build import tiny_pretrained
from transformer.interventions.sets import Interventions
from transformer.view.state import View


def compared(text: str, source: str = "ka lo mi nu", target: str = "re sta ti") -> Compared:
    """A sentence pair before and after these switches, as `compare` makes it."""
    model, value = tiny_pretrained(), Interventions.parse(text)
    first = model.trace(source, target)
    pads = f"pad={value.pads}" if value.pads else ""
    before = model.retrace(first, Interventions.parse(pads)) if pads else first
    after = model.retrace(before, value) if value != before.interventions else before
    return Compared(model, before, after, value, 64)


def test_without_switches_one_trace_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = measures.saturation
    monkeypatch.setattr(measures, "saturation", lambda *given: calls.append(1) or real(*given))
    data = measures.payload(compared(""), View("all", 0, 0))
    assert not data["switched"] and data["before"] == data["after"] and len(calls) == 3  # one for each kind
    switched = measures.payload(compared("scaling=off"), View("cross", 1, 2))
    assert switched["switched"] and switched["chosen"] == {"kind": "cross", "layer": 1, "head": 2}
    for view in (View("all", 0, 0), View("cross", None, 0), View("cross", 0, None), View("cross", 9, 0)):
        assert measures.payload(compared(""), view)["chosen"] is None, view  # no head of the model


def test_a_decoder_fed_one_token_has_nothing_to_measure() -> None:
    model = tiny_pretrained()
    trace = model.trace("ka lo", "ka lo", limit=40)
    single = model.retrace(trace)
    lone = single.decoder_self
    cut = {name: getattr(lone, name)[..., :1, :1] for name in ("mask", "scores", "weights")}
    single = type(single)(**{**vars(single), "decoder_self": type(lone)(**{**vars(lone), **cut})})
    data = measures.payload(Compared(model, single, single, Interventions(), 64), View())
    assert data["before"]["decoder_self"]["entropy"] == [[None] * 3] * 2
    assert data["before"]["decoder_self"]["rows"] == [[0] * 3] * 2
    json.dumps(data, allow_nan=False)


@pytest.mark.parametrize(
    ("pick", "wanted"),
    [
        (["cross", 1, 2], ["cross", 1, 2]),
        (("encoder_self", 0.0, 1.0), ["encoder_self", 0, 1]),
        (["cross", 2, 0], None),
        (["cross", 0, 3], None),
        (["cross", 0.5, 0], None),
        (["cross", True, 0], None),
        (["cross", math.nan, 0], None),
        (["self", 0, 0], None),
        ([["cross"], 0, 0], None),
        (["cross", 0], None),
        (None, None),
    ],
    ids=repr,
)
def test_a_pick_is_a_head_of_the_model_or_nothing(pick: Any, wanted: Any) -> None:
    assert measures._checked(pick, compared("").after) == wanted


SCRIPT = """
import streamlit as st
from pages.frame.options import Options
from pages.frame.state import State, current_state, store_state
from pages.lab import measures
from tests.pages.lab.test_measures import compared
from transformer.view.state import View

if current_state() is None:
    store_state(State("tiny"))
view, options = View("cross", 0, 1), Options("lab", False)
st.session_state["picked"] = measures.draw(compared(st.session_state.get("switches", "")), view, options)
st.session_state["chosen"] = options.for_address()
"""


def drawn(switches: str) -> AppTest:
    app = AppTest.from_string(SCRIPT, default_timeout=30)
    app.session_state["switches"] = switches
    return without_error(app.run())


def test_the_component_is_drawn_with_its_numbers() -> None:
    for text in ("", "scaling=off", "pad=2 padding=off zero=cross"):
        app = drawn(text)
        (proto,) = components(app, "measures")
        data = json.loads(proto.json)
        assert data.pop("measure") == "saturated"
        assert data == json.loads(json.dumps(measures.payload(compared(text), View("cross", 0, 1))))
        assert len(proto.json) < 12_000 and app.session_state["picked"] is None


def test_the_chosen_measure_is_in_the_link() -> None:
    app = drawn("scaling=off")
    for name, wanted in (("entropy", {"measure": "entropy"}), ("nonsense", {"measure": "entropy"}), ("saturated", {})):
        app.session_state["lab_measures"] = {"measure": name}
        app.run()
        assert not app.exception and app.session_state["chosen"] == wanted
