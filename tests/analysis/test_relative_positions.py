"""Tables of relative positions by distance."""

import itertools

import torch

from tests.support.build import T5, tiny_model
from transformer.analysis.relative_positions import by_distance


def test_every_distance_has_the_number_that_the_model_adds() -> None:
    model = tiny_model(**T5)
    for positions in (model.encoder_bias, model.decoder_bias):
        assert positions is not None
        found, added = by_distance(positions), positions(30, 30)[0]  # [head, query, key]
        ends = [(-99 if low is None else low, 99 if high is None else high) for low, high in found.ranges]
        assert all(high + 1 == low for (_, high), (low, _) in itertools.pairwise(ends)) and (0, 0) in ends
        for column, (low, high) in enumerate(ends):
            for distance in range(max(low, -29), min(high, 29) + 1):
                query = max(0, -distance)
                assert torch.equal(found.bias[:, column], added[:, query, query + distance])
        assert ends[-1][1] == (99 if positions.both_ways else 0) and ends[0][0] == -99
