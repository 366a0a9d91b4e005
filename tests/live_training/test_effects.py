"""The headline effects of the playground, trained for real with three seeds each: two minutes of one core in all.

What the other presets do is measured by `python -m benchmarks.playground_effects` and stands in docs/playground.md.
"""

from __future__ import annotations

import dataclasses
from functools import cache

import pytest

from transformer.live_training.findings import Numbers, judged, numbers, prediction
from transformer.live_training.presets import PRESETS, partner
from transformer.live_training.recorder import Recorder
from transformer.live_training.session import trainer_of

pytestmark = pytest.mark.long
SEEDS = (1, 2, 3)


@cache
def _trained(name: str, seed: int) -> Numbers:
    """A preset after its last step, as its frames before the first and after the last say."""
    experiment = dataclasses.replace(PRESETS[name], seed=seed)
    trainer = trainer_of(experiment)
    recorder = Recorder(trainer, experiment.recorded)
    before = recorder.frame(whole=True)
    trainer.run()
    return numbers(recorder.opening, [before, recorder.frame(whole=True)])


# name of a preset -> its numbers, from lowest to highest
EFFECTS = {
    # The paper's model in small reverses letters that it has not seen.
    "reverse": {"exact": (0.97, 1.0), "forced": (0.97, 1.0), "validation_loss": (0.0, 0.02)},
    # Without the causal mask the loss vanishes, and writing fails.
    "no-mask": {"exact": (0.0, 0.05), "forced": (0.99, 1.0), "validation_loss": (0.0, 0.02)},
    # Without positions reversing is not learned.
    "no-positions": {"exact": (0.0, 0.1), "validation_loss": (0.5, 99.0)},
    # Without scaling a wide head is stuck: before the first step the softmax is saturated already (section 3.2.1).
    "wide": {"exact": (0.97, 1.0), "largest_first": (0.0, 0.5)},
    "wide-unscaled": {"exact": (0.0, 0.1), "largest_first": (0.7, 1.0)},
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", EFFECTS)
def test_a_preset_has_its_effect(name: str, seed: int) -> None:
    found = _trained(name, seed)
    for number, (low, high) in EFFECTS[name].items():
        assert low <= getattr(found, number) <= high, number
    if name == "reverse":
        assert found.entropy < found.entropy_first - 0.2  # its heads have found what to look at
    if other := partner(name):
        assert judged(*prediction(PRESETS[other], PRESETS[name]), _trained(other, seed), found) is True
