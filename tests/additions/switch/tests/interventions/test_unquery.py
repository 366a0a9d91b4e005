"""Queries, switched off."""

import torch

from tests.support.build import tiny_pretrained
from transformer.interventions.sets import Interventions


def test_a_head_without_queries_gives_all_keys_the_same_weight() -> None:
    switched = Interventions.parse("queries=off@cross.2.1")
    weights = tiny_pretrained().trace("ka lo mi", "re sta", interventions=switched).cross.weights
    equal = torch.full_like(weights[1, 0], 1 / weights.shape[-1])
    torch.testing.assert_close(weights[1, 0], equal)
    assert not torch.allclose(weights[1, 1], equal)
