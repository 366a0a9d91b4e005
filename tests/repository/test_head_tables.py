"""The tables of docs/heads.md, and the files beside the bundled weights that they come from."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import transformer
from tests.support import head_tables
from transformer.checkpoints.folder import ALIGNMENT, IMPORTANCE
from transformer.interventions.sets import layers_of
from transformer.probing import importance
from transformer.probing.alignment import from_json, measure_alignment
from transformer.probing.importance import Curve, Effect, Survey
from transformer.probing.probes import gold_pairs, probe_pairs


def test_signs_shares_and_pruning_by_hand() -> None:
    assert [head_tables.signed(value, 1) for value in (-0.04, 0.0, 0.06, -2.35)] == ["0.0", "0.0", "+0.1", "-2.4"]
    effect = Effect(-0.00001, -7.25, -12.4, -2.8)
    assert head_tables.effect_cells(effect) == ("0.0000", "-7.2", "-12.4 to -2.8")
    assert head_tables.below_zero(effect) and not head_tables.below_zero(replace(effect, high=0.0))
    left = (4, 2, 0)
    curves = {
        "least": [Curve(left, (50.0, 46.0, 0.0))],
        "most": [Curve(left, (50.0, 10.0, 0.0))],
        "random": [Curve(left, (50.0, 45.0, 0.0)), Curve(left, (50.0, 15.0, 0.0))],
    }
    table = head_tables.pruning_table(Survey(1, "bleu", 1.0, 50.0, {}, {}, {}, {}, curves, ()))
    assert table.rows[1].cells == ("2", "46.0", "30.0 (15.0 to 45.0)", "10.0")
    assert "down to 2 heads with" in table.notes[0] and "2 to 4 heads in random" in table.notes[0]
    assert table.notes[1].startswith("The order comes from the same 1 pairs as the BLEU")


def test_files_of_another_model_are_refused(tmp_path: Path) -> None:
    bundled = transformer.load("en-de").path
    shutil.copytree(bundled, tmp_path / "mine")
    shutil.copy(bundled.parent / "reverse" / IMPORTANCE, tmp_path / "mine" / IMPORTANCE)
    with pytest.raises(ValueError, match="is of another model; measure it again"):
        head_tables.tables(str(tmp_path / "mine"))


@pytest.mark.slow
def test_alignment_and_loss_of_en_de_are_measured_again() -> None:
    """alignment.json and the loss in importance.json are what the weights give."""
    model = transformer.load("en-de")
    stored = from_json(
        (model.path / ALIGNMENT).read_text(encoding="utf-8"), layers_of(model.config, "cross"), model.config.heads
    )
    survey = importance.from_json((model.path / IMPORTANCE).read_text(encoding="utf-8"), model.config)
    assert stored is not None and survey is not None
    golds = gold_pairs()
    assert len(golds) == stored.pairs
    measured = measure_alignment(model, golds)
    for source, score in measured.scores.items():
        assert score.aer == pytest.approx(stored.scores[source].aer, abs=0.004), source
    for name in ("diagonal", "best"):
        assert getattr(measured, name).aer == pytest.approx(getattr(stored, name).aer, abs=1e-4)
    pairs = (probe_pairs(model) or [])[: survey.sentences]
    assert importance.measurable_loss(model, pairs) == pytest.approx(survey.loss, abs=1e-4)
