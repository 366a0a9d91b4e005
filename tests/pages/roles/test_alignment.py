"""The part Alignment: error rates of every head, bounds, and a second model."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

import transformer
from pages.roles import alignment
from tests.support.app import ROOT, address, app_test, components, messages, page_text
from transformer.probing.alignment import Source, gold_pairs, measure_alignment


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(ROOT / "checkpoints"))
    return lambda **params: app_test("roles", part="alignment", **params).run()


def test_the_grid_shows_error_rates_and_the_bounds(
    bundled: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = measure_alignment(transformer.load("en-de"), gold_pairs()[:9])
    monkeypatch.setattr(alignment, "shipped", lambda model: found)
    app = bundled(checkpoint="en-de", measure="norm", reading="predicted", link_head="3.2")
    assert not app.exception and not messages(app)
    grid = json.loads(components(app, "headgrid")[0].json)
    (panel,) = grid["panels"]
    assert grid["chosen"] == [0, 2, 1]
    for layer, row in enumerate(panel["cells"]):
        for head, cell in enumerate(row):
            source = Source("norm", "predicted", layer, head if head < 8 else None)
            assert cell["text"] == f"{100 * found.scores[source].aer:.0f}"
    text = page_text(app)
    for bound in (found.diagonal, found.best, found.scores[found.winner()]):
        assert f"{100 * bound.aer:.1f} %" in text
    assert {"measure": "norm", "reading": "predicted"}.items() <= address(app).items()


def test_the_error_rates_of_the_bundled_model_are_measured_again(bundled: Callable[..., AppTest]) -> None:
    """Either they ship, or the page measures them on demand."""
    app = bundled(checkpoint="en-de")
    if not components(app, "headgrid"):
        app.button(key="hs-task-start").click().run()
        app.session_state["headscope_task"].thread.join(120)
        app.run()
    found = measure_alignment(transformer.load("en-de"), gold_pairs(), ["weights"])
    best = found.winner()
    assert best.head is not None and best.layer is not None and found.scores[best].aer < 0.2 < found.diagonal.aer
    grid = json.loads(components(app, "headgrid")[0].json)
    assert abs(float(grid["panels"][0]["cells"][best.layer][best.head]["text"]) - 100 * found.scores[best].aer) < 1
    assert f"{len(gold_pairs())} sentence pairs" in page_text(app)


def test_a_model_of_other_languages(bundled: Callable[..., AppTest]) -> None:
    app = bundled(checkpoint="reverse")
    assert not app.exception and "aligned by hand are English and German" in page_text(app)


def test_a_second_model_must_translate_back(bundled: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    found = measure_alignment(transformer.load("en-de"), gold_pairs()[:3])
    monkeypatch.setattr(alignment, "shipped", lambda model: found)
    app = bundled(checkpoint="en-de", **{"with": "sort"})
    assert not app.exception and "Choose a model from German to English" in messages(app)
