"""The part Alignment: error rates of every head, bounds, and a second model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import transformer
from pages.roles import alignment
from tests.support.app import ROOT, address, app_test, components, messages, page_text, started_task
from tests.support.build import tiny_pretrained
from transformer.analysis.alignment import Gold, Score, read_gold
from transformer.checkpoints.folder import save_checkpoint
from transformer.probing.alignment import Source, gold_pairs, measure_alignment, symmetric


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
    assert "picked on the same 9 pairs that they are scored on" in text
    for bound in (found.diagonal, found.best, found.scores[found.winner()]):
        assert f"{100 * bound.aer:.1f}%" in text
    assert {"measure": "norm", "reading": "predicted"}.items() <= address(app).items()


@pytest.mark.slow
def test_the_shipped_error_rates_are_what_is_measured(bundled: Callable[..., AppTest]) -> None:
    """By weights, every head in both readings, again. The published numbers stand beside them."""
    model = transformer.load("en-de")
    stored = alignment.shipped(model)
    assert stored is not None and stored.pairs == len(gold_pairs())
    found = measure_alignment(model, gold_pairs(), ["weights"])
    for source, one in found.scores.items():
        again = stored.scores[source]
        assert (again.aer, again.precision, again.recall) == pytest.approx(
            (one.aer, one.precision, one.recall), abs=5e-3
        ), source
    assert (stored.diagonal.aer, stored.best.aer) == pytest.approx((found.diagonal.aer, found.best.aer), abs=1e-4)
    best = stored.winner()
    assert best == Source("weights", "fed", 0, 6) and stored.best.aer < stored.scores[best].aer < stored.diagonal.aer
    app = bundled(checkpoint="en-de")
    text = page_text(app)
    assert f"{stored.pairs} sentence pairs with an error rate of {100 * stored.scores[best].aer:.1f}%" in text
    for measure, reading, published in (
        ("Weights", "the token predicted", "47.7"),
        ("Weights", "the token fed in", "29.8"),
        ("Norm of the weighted vectors", "the token fed in", "25.0"),
    ):
        assert re.search(rf"{measure}: {reading}\W+{published}%", text)


def test_a_model_of_other_languages(bundled: Callable[..., AppTest]) -> None:
    app = bundled(checkpoint="reverse")
    assert not app.exception and "aligned by hand are English and German" in page_text(app)


def test_only_models_that_translate_back_are_listed(
    bundled: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The menu, the progress of the work behind its button, and the sentence where there is no such model."""
    found = measure_alignment(transformer.load("en-de"), gold_pairs()[:3])
    monkeypatch.setattr(alignment, "shipped", lambda model: found)
    app = bundled(checkpoint="en-de", **{"with": "sort"})
    label = "Symmetrise with a model from German to English"
    assert not app.exception and all(menu.label != label for menu in app.selectbox)
    assert "load a model from German to English on the Training page; none is here" in page_text(app)

    for name in ("en-de", "sort"):
        (tmp_path / name).symlink_to(ROOT / "checkpoints" / name)
    tiny = tiny_pretrained()
    save_checkpoint(tmp_path / "back", tiny.model, tiny.tokenizer, ("German", "English"))
    save_checkpoint(tmp_path / "other", tiny.model, tiny.tokenizer, ("German", "French"))
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(tmp_path))

    def symmetric(*given: Any) -> Score:
        assert given[5](3, 10)
        return Score(0.125, 0.9, 0.8, 7)

    monkeypatch.setattr(alignment, "symmetric", symmetric)
    app = app_test("roles", part="alignment", checkpoint="en-de", **{"with": "back"}).run()
    (menu,) = [one for one in app.selectbox if one.label == label]
    assert menu.options == ["no other model", "back"] and menu.value == "back" and not messages(app)
    app.button(key="hs-task-start").click().run()
    task = started_task(app)
    task.thread.join(60)
    assert (task.done, task.total) == (3, 10)
    app.run()
    assert not app.exception and "symmetrised with back" in page_text(app) and "12.5%" in page_text(app)


def symmetrised_page(folder: Path, monkeypatch: pytest.MonkeyPatch, golds: tuple[Gold, ...]) -> AppTest:
    """The part with a tiny model of random weights from German to English, and these pairs, after its button."""
    found = measure_alignment(transformer.load("en-de"), gold_pairs()[:3])
    monkeypatch.setattr(alignment, "shipped", lambda model: found)
    monkeypatch.setattr(alignment, "gold_pairs", lambda: golds)
    (folder / "en-de").symlink_to(ROOT / "checkpoints" / "en-de")
    tiny = tiny_pretrained()
    save_checkpoint(folder / "back", tiny.model, tiny.tokenizer, ("German", "English"))
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(folder))
    app = app_test("roles", part="alignment", checkpoint="en-de", **{"with": "back"}).run()
    app.button(key="hs-task-start").click().run()
    started_task(app).thread.join(60)
    return app.run()


def test_links_are_symmetrised_with_a_model_of_the_other_direction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    golds = tuple(read_gold("I see a dog\tIch sehe einen Hund\t0-0 1-1 2-2 3-3\nHe sleeps\tEr schläft\t0-0 1-1\n"))
    app = symmetrised_page(tmp_path, monkeypatch, golds)
    assert not app.exception and not messages(app)
    source = measure_alignment(transformer.load("en-de"), gold_pairs()[:3]).winner(single=False)
    score = symmetric(
        transformer.load("en-de"), source, transformer.load("back"), Source("weights", "predicted"), golds
    )
    assert "symmetrised with back" in page_text(app) and f"{100 * score.aer:.1f}%" in page_text(app)


def test_pairs_that_fit_no_reverse_model_get_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = symmetrised_page(tmp_path, monkeypatch, tuple(read_gold("a\t" + "ä " * 900 + "\t0-0\n")))
    assert not app.exception
    assert "None of the 1 pairs has a sure link and fits both models; choose another model" in messages(app)
