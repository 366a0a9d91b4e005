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


def _agrees(name: str, seed: int) -> bool | None:
    other = partner(name)
    assert other is not None
    return judged(*prediction(PRESETS[other], PRESETS[name]), _trained(other, seed), _trained(name, seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_papers_model_in_small_reverses_unseen_letters(seed: int) -> None:
    found = _trained("reverse", seed)
    assert found.exact is not None and found.forced is not None and found.validation_loss is not None
    assert found.exact >= 0.97 and found.forced >= 0.97 and found.validation_loss < 0.02
    assert found.entropy < found.entropy_first - 0.2  # its heads have found what to look at


@pytest.mark.parametrize("seed", SEEDS)
def test_without_the_causal_mask_the_loss_vanishes_and_writing_fails(seed: int) -> None:
    found = _trained("no-mask", seed)
    assert found.exact is not None and found.forced is not None and found.validation_loss is not None
    assert found.forced >= 0.99 and found.validation_loss < 0.02 and found.exact <= 0.05
    assert _agrees("no-mask", seed) is True


@pytest.mark.parametrize("seed", SEEDS)
def test_without_positions_reversing_is_not_learned(seed: int) -> None:
    found = _trained("no-positions", seed)
    assert found.exact is not None and found.validation_loss is not None
    assert found.exact <= 0.1 and found.validation_loss > 0.5
    assert _agrees("no-positions", seed) is True


@pytest.mark.parametrize("seed", SEEDS)
def test_without_scaling_a_wide_head_is_stuck(seed: int) -> None:
    scaled, plain = _trained("wide", seed), _trained("wide-unscaled", seed)
    assert scaled.exact is not None and plain.exact is not None
    assert scaled.exact >= 0.97 and plain.exact <= 0.1
    # Section 3.2.1's reason: before the first step the softmax is saturated already.
    assert plain.largest_first > 0.7 and scaled.largest_first < 0.5
    assert _agrees("wide-unscaled", seed) is True
