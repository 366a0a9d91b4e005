"""The recorded runs as the Training page shows them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from transformer.live_training import presets
from transformer.live_training.presets import PRESETS, partner
from transformer.live_training.recorded import RecordedRun, recorded, recorded_reference, recorded_runs
from transformer.view.training_pack import training_pack

BASE = PRESETS["reverse"]


def of(name: str) -> RecordedRun:
    found = recorded(name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", presets.names())
def test_every_preset_plays_beside_its_reference(name: str) -> None:
    wanted = [] if name == presets.OWN else [*filter(None, [partner(name)]), name]
    assert [run.id for run in recorded_runs(name)] == [f"recorded-{one}" for one in wanted]
    assert training_pack(recorded_runs(name), {}, {})


def test_it_begins_with_the_head_that_shows_most() -> None:
    kind, layer, head = of("reverse").look_at
    weights = of("reverse").frames[-1].attention(of("reverse").opening)["cross"].max(-1).mean(-1)
    assert kind == "cross" and weights[layer, head] == weights.max()
    kind, layer, head = of("no-mask").look_at
    attention = of("no-mask").frames[-1].attention(of("no-mask").opening)[kind][layer, head]
    ahead = np.diagonal(attention, 1)  # row q at the token that it must predict
    assert kind == "decoder_self" and ahead.mean() > 200


@pytest.mark.parametrize(
    ("name", "changes", "reference"),
    [
        ("no-mask", {"seed": 7}, "reverse"), ("no-norm", {"seed": 7}, "pre-norm"), ("pre-norm", {}, "deep"),
        ("one-head", {}, "shallow"), ("reverse", {}, None), ("reverse", {"d_ff": 64}, "reverse"),
        ("reverse", {"d_ff": 64, "causal": False}, None), ("wide-unscaled", {"steps": 9}, None),
    ],
)  # fmt: skip
def test_a_live_run_is_compared_with_a_recorded_one(name: str, changes: dict[str, Any], reference: str | None) -> None:
    found = recorded_reference(replace(PRESETS[name], **changes))
    assert (found and found.id) == (reference and f"recorded-{reference}")
