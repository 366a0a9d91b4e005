"""docs/playground.json, from which the table of docs/playground.md comes, by the rules that the page judges with."""

import json

import pytest

from benchmarks import playground_effects as effects
from benchmarks.report import spread
from transformer.live_training.findings import PREDICTIONS
from transformer.live_training.presets import PARTNERS, PRESETS


def test_every_preset_was_measured_with_every_seed() -> None:
    found = effects.stored()
    assert list(found) == list(PRESETS) and all(len(runs) == len(effects.SEEDS) for runs in found.values())
    assert tuple(json.loads(effects.TABLE.read_text(encoding="utf-8"))["seeds"]) == effects.SEEDS


def test_every_expectation_is_worded() -> None:
    assert effects.SAYS.keys() == {*PREDICTIONS, ""}


def test_mean_and_spread() -> None:
    assert spread([0.5, 1.0, 0.9], ".1f", 100) == "80.0 (50.0 to 100.0)"
    assert spread([1.0, 1.0, 1.0], ".1f", 100) == "100.0"
    assert spread([300, None, 200]) == "250 (200 to 300), 1 never"
    assert spread([None, None]) == "never"


def test_only_changed_presets_are_measured_again(tmp_path, monkeypatch) -> None:
    runs = []
    numbers = next(iter(effects.stored().values()))[0]

    def measure(experiment):
        runs.append(experiment)
        return numbers

    monkeypatch.setattr(effects, "measure", measure)
    first = effects.load(tmp_path, "reverse", 1)
    assert effects.load(tmp_path, "reverse", 1) == first == numbers and len(runs) == 1
    monkeypatch.setitem(PRESETS, "reverse", PRESETS["copy"])
    effects.load(tmp_path, "reverse", 1)
    assert [one.task for one in runs] == ["reverse", "copy"] and {one.seed for one in runs} == {1}


@pytest.mark.parametrize("name", PARTNERS)
def test_the_effect_of_every_preset_came_as_expected_with_every_seed(name: str) -> None:
    assert effects.agreement(name, effects.stored())[2] == "3 of 3 as expected"
