"""One token's vector changes: attention carries it on, the feed-forward network does not."""

from __future__ import annotations

import pytest
import torch

from tests.support.build import tiny_pretrained
from transformer.analysis.residual import kinds_of
from transformer.probing.position_wise import moved, update_of

MODEL = tiny_pretrained()
TRACE = MODEL.trace("ka lo minu", "re sta vu")


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@pytest.mark.parametrize("name", ["self", "ff"])
@pytest.mark.parametrize("layer", [0, 1])
def test_with_its_own_inputs_a_sub_layer_gives_what_was_recorded(stack: str, name: str, layer: int) -> None:
    part = kinds_of(TRACE, stack)[name]
    found = update_of(MODEL, TRACE, stack, layer, name, part.enters[layer])
    assert torch.allclose(found, part.update[layer], atol=1e-6)


def test_only_its_own_column_moves_after_the_feed_forward_network() -> None:
    found = moved(MODEL, TRACE, "encoder", 0, 1, 2)
    columns = found.feed_forward.amax(-1)
    assert columns[1] > 1e-3 and torch.equal(columns[[0, *range(2, len(columns))]], torch.zeros(len(columns) - 1))
    assert (found.attention.amax(-1) > 1e-6).all()


def test_the_mask_keeps_earlier_tokens_where_they_are() -> None:
    found = moved(MODEL, TRACE, "decoder", 1, 2, 0)
    columns = found.attention.amax(-1)
    assert torch.equal(columns[:2], torch.zeros(2)) and (columns[2:] > 1e-7).all()
