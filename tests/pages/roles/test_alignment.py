"""The part Alignment: error rates of every head, bounds, and a second model."""

import functools
import json
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import transformer
from pages.roles import alignment
from tests.support.app import address, components, finish_task, messages, open_link, page_text, started_task
from tests.support.build import tiny_pretrained
from transformer.analysis.alignment import read_gold
from transformer.checkpoints.folder import save_checkpoint
from transformer.probing.alignment import Source, measure_alignment, symmetric
from transformer.probing.probes import gold_pairs

pytestmark = pytest.mark.usefixtures("bundled")
open_alignment = functools.partial(open_link, "roles", part="alignment")


def test_the_grid_shows_error_rates_and_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measure_alignment(transformer.load("en-de"), gold_pairs()[:9])
    monkeypatch.setattr(alignment, "shipped", lambda model: found)
    app = open_alignment(checkpoint="en-de", measure="norm", reading="predicted", link_head="3.2")
    assert not messages(app)
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


def test_the_shipped_error_rates_stand_beside_published_ones() -> None:
    """tests/repository/test_head_tables.py measures them again."""
    stored = alignment.shipped(transformer.load("en-de"))
    assert stored is not None
    best = stored.winner()
    assert best == Source("weights", "fed", 0, 6) and stored.best.aer < stored.scores[best].aer < stored.diagonal.aer
    text = page_text(open_alignment(checkpoint="en-de"))
    assert f"{stored.pairs} sentence pairs with an error rate of {100 * stored.scores[best].aer:.1f}%" in text
    for row, published in (
        ("Weights: the token predicted", "47.7"),
        ("Weights: the token fed in", "29.8"),
        ("Norm of the weighted vectors: the token fed in", "25.0"),
    ):
        assert re.search(rf"{row}\W+{published}%", text)


@pytest.fixture
def back(bundled: None, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny models of random weights, one of them from German to English, and links of three pairs."""
    found = measure_alignment(transformer.load("en-de"), gold_pairs()[:3])
    monkeypatch.setattr(alignment, "shipped", lambda model: found)
    tiny = tiny_pretrained()
    save_checkpoint(folder / "back", tiny.model, tiny.tokenizer, ("German", "English"))
    save_checkpoint(folder / "other", tiny.model, tiny.tokenizer, ("German", "French"))


def symmetrised() -> AppTest:
    return finish_task(open_alignment(checkpoint="en-de", **{"with": "back"}))


@pytest.mark.usefixtures("back")
def test_only_models_that_translate_back_are_listed(folder: Path) -> None:
    label = "Symmetrise with a model of the opposite direction"
    (menu,) = [one for one in open_alignment(checkpoint="en-de").selectbox if one.label == label]
    assert menu.options == ["no other model", "back"]
    (folder / "back").rename(folder / ".back")
    app = open_alignment(checkpoint="en-de", **{"with": "sort"})
    assert all(menu.label != label for menu in app.selectbox)
    assert "load a model of the opposite direction on the Training page; none is here" in page_text(app)


@pytest.mark.usefixtures("back")
def test_links_are_symmetrised_with_a_model_of_the_other_direction(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = measure_alignment(transformer.load("en-de"), gold_pairs()[:3]).winner(single=False)
    golds = tuple(read_gold("I see a dog\tIch sehe einen Hund\t0-0 1-1 2-2 3-3\nHe sleeps\tEr schläft\t0-0 1-1\n"))
    monkeypatch.setattr(alignment, "gold_pairs", lambda _of: golds)
    app = symmetrised()
    model, other = transformer.load("en-de"), transformer.load(folder / "back")
    score = symmetric(model, source, other, Source("weights", "predicted"), golds)
    assert not messages(app) and f"{100 * score.aer:.1f}%" in page_text(app)
    assert "symmetrised with back" in page_text(app)
    job = started_task(app)
    assert job.done == job.total > 0


@pytest.mark.usefixtures("back")
def test_pairs_that_fit_no_reverse_model_get_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "gold_pairs", lambda _of: tuple(read_gold("a\t" + "ä " * 900 + "\t0-0\n")))
    said = "None of the 1 pairs has a sure link and fits both models; choose another model"
    assert said in messages(symmetrised())
