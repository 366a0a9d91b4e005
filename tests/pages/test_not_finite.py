"""The pages with a model that overflows: a part that measures or draws says so in one sentence, and keeps what was
typed; the others show the trace."""

import math
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import transformer
from pages.runtime import cache
from tests.support.app import finish_task, linked, messages, open_page
from tests.support.build import saved_overflowing
from transformer.interventions.sets import Interventions

SAID = (
    "This model computes NaN, not a number, so there is nothing to measure or to draw from; its weights are probably "
    "too large or damaged: check how they were trained or converted."
)
SOURCE, TARGET = "ka lo minu", "zen pol"
MEASURE = [
    ("roles", "roles"), ("roles", "alignment"), ("roles", "importance"), ("roles", "search"),
    ("attribution", "token"), ("attribution", "source"), ("attribution", "patching"), ("attribution", "compare"),
    ("decoding", "step"), ("decoding", "beam"), ("decoding", "sampling"), ("decoding", "paint"), ("decoding", "given"),
]  # fmt: skip


@pytest.fixture(scope="module")
def overflowing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_overflowing(tmp_path_factory.mktemp("overflowing")).parent


@pytest.fixture(autouse=True)
def used(overflowing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(overflowing))


def opened(page: str, part: str, **params: str) -> AppTest:
    app = open_page(page, **linked(part, source=SOURCE, target=TARGET, checkpoint="tiny", **params))
    return finish_task(app) if any(button.key == "hs-task-start" for button in app.button) else app


@pytest.mark.parametrize("page, part", MEASURE)
def test_a_part_that_measures_nan_says_so(page: str, part: str) -> None:
    other = {"compare": {"second": "mi lo minu"}, "patching": {"other": "mi lo minu"}}.get(part, {})
    app = opened(page, part, **other)
    said = re.findall(r'role="status">(.*?)</div>', messages(app))
    assert SAID in said, said
    if page != "roles":
        assert (app.text_input(key="source").value, app.text_input(key="target").value) == (SOURCE, TARGET)
    if part == "patching":
        assert app.text_input(key="attribution_other").value == "mi lo minu"


def test_the_maps_of_a_model_that_overflows_are_drawn() -> None:
    app = opened("heads", "")
    assert SAID not in messages(app)


def test_the_translation_of_nan_is_that_of_the_trace(overflowing: Path) -> None:
    """For pages that compare two translations."""
    model = transformer.load(str(overflowing / "tiny"))
    switches = Interventions.parse("zero=cross.1.1")
    found, trace = cache.translate(model, SOURCE, switches, 40), model.trace(SOURCE, limit=40, interventions=switches)
    assert (found.text, found.tokens, found.complete) == (trace.target_text, trace.target_out, trace.complete)
    assert len(found.probabilities) == len(found.tokens) and any(map(math.isnan, found.probabilities))
