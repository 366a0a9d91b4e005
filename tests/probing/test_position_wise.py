"""One token of the text is exchanged: attention carries that on, the feed-forward network does not."""

import pytest
import torch

from tests.support.build import tiny_pretrained
from transformer.analysis.residual import kinds_of
from transformer.probing.position_wise import feed_forward, moved
from transformer.tracing.trace import Trace

MODEL = tiny_pretrained()
TRACE = MODEL.trace("ka lo minu", "re sta vu")
READ = MODEL.retrace(TRACE, read={1: MODEL.encode("sta")[0]})
FED = MODEL.retrace(TRACE, fed={2: MODEL.encode("ka")[0]})


@pytest.mark.parametrize(("stack", "other"), [("encoder", READ), ("decoder", FED)])
@pytest.mark.parametrize("layer", [0, 1])
def test_the_network_gives_each_token_what_it_gives_in_the_pass(stack: str, other: Trace, layer: int) -> None:
    """In the pass of the exchanged token many vectors are new at once; each result is as if its own were alone."""
    old, new = kinds_of(TRACE, stack)["ff"], kinds_of(other, stack)["ff"]
    assert torch.allclose(feed_forward(MODEL, stack, layer, old.enters[layer]), old.update[layer], atol=1e-6)
    for token, vector in enumerate(new.enters[layer]):
        alone = old.enters[layer].clone()
        alone[token] = vector
        assert torch.allclose(feed_forward(MODEL, stack, layer, alone)[token], new.update[layer][token], atol=1e-6)


def test_before_the_first_layer_only_the_exchanged_source_token_differs_and_attention_carries_it_on() -> None:
    found = moved(MODEL, TRACE, READ, "encoder", 0, 1)
    others = [0, *range(2, len(TRACE.source_ids))]
    for still in (found.enters, found.feed_forward):
        assert torch.equal(still[others], torch.zeros_like(still[others])) and still[1].max() > 1e-3
    assert (found.attention.amax(-1) > 1e-6).all()
    assert torch.equal(found.attention, (READ.encoder_self.update[0] - TRACE.encoder_self.update[0]).abs())


def test_before_the_second_layer_every_token_differs_and_the_network_still_moves_one() -> None:
    found = moved(MODEL, TRACE, READ, "encoder", 1, 1)
    assert (found.enters.amax(-1) > 1e-6).all()
    assert (found.feed_forward.amax(-1) > 0).tolist() == [index == 1 for index in range(len(TRACE.source_ids))]


@pytest.mark.parametrize("layer", [0, 1])
def test_the_mask_keeps_earlier_tokens_where_they_are(layer: int) -> None:
    found = moved(MODEL, TRACE, FED, "decoder", layer, 2)
    for part in (found.enters, found.attention):
        assert torch.equal(part[:2], torch.zeros_like(part[:2]))
    assert (found.attention.amax(-1)[2:] > 1e-7).all()
