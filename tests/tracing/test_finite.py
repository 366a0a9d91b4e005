"""A model that overflows: every measurement says so in one sentence instead of giving NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.support.build import pretrained_variant
from transformer.attribution import METHODS, attribute
from transformer.inference.pretrained import Pretrained
from transformer.probing.importance import effects
from transformer.probing.patching import head_places, recovery
from transformer.probing.roles import sentences_of
from transformer.tracing.finite import NotFiniteError, check_numbers

PAIRS = (("ka lo", "lo ka"), ("mi vu", "vu mi"))
TEXT = ("ka lo mi vu", "lo mi ka")


@pytest.fixture
def broken() -> Pretrained:
    """Finite weights, but the queries' products overflow."""
    model = pretrained_variant()
    with torch.no_grad():
        attention: Any = model.model.decoder[0]
        for matrix in (attention.self_attention.query.weight, attention.self_attention.key.weight):
            matrix.fill_(3e38)
    return model


MEASUREMENTS: dict[str, Callable[[Pretrained], object]] = {
    **{name: lambda model, name=name: attribute(model, model.trace(*TEXT), name) for name in METHODS},
    "roles": lambda model: sentences_of(model, PAIRS),
    "importance": lambda model: effects(model, PAIRS, {"one": []}, score=False),
    "patching": lambda model: recovery(
        model, model.trace(*TEXT), model.trace("vu lo mi ka", TEXT[1]), head_places(model)["cross"], 0, 5
    ),
}


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_a_measurement_of_nan_is_one_sentence(broken: Pretrained, name: str) -> None:
    assert broken.trace(*TEXT).logits.isnan().any() and all(p.isfinite().all() for p in broken.model.parameters())
    with pytest.raises(NotFiniteError, match="computes NaN"):
        MEASUREMENTS[name](broken)


def test_masked_scores_are_fine() -> None:
    check_numbers(torch.tensor([1.0, float("-inf")]))
