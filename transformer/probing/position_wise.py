"""Position-wise (section 3.3): one token of the text is exchanged; which other tokens' results change."""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from transformer.analysis.residual import kinds_of
from transformer.inference.pretrained import Pretrained
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.tracing.trace import Trace


@dataclass(frozen=True)
class Moved:
    """Absolute differences between two passes whose texts differ in one token, [token, d_model] each.

    enters: of the vectors that the layer reads. attention: of what its self-attention returns.
    feed_forward: of what its feed-forward network returns if it reads the exchanged token's new vector, and the old
    vectors of all others.
    """

    enters: Tensor
    attention: Tensor
    feed_forward: Tensor


@torch.inference_mode()
def feed_forward(model: Pretrained, stack: str, layer: int, x: Tensor) -> Tensor:
    """What the feed-forward sub-layer returns for these vectors, [token, d_model]."""
    block = cast(
        EncoderLayer | DecoderLayer, (model.model.encoder if stack == "encoder" else model.model.decoder)[layer]
    )
    wrapper = block.feed_forward_residual
    y = (wrapper.norm(x) if wrapper.pre else x)[None].to(model.model.device)
    return block.feed_forward(y)[0].cpu()


def moved(model: Pretrained, before: Trace, after: Trace, stack: str, layer: int, token: int) -> Moved:
    """before, after: traces without switches that differ at `token`, in the source for the stack "encoder", in what is
    fed for the "decoder"; layer, token: indices from 0."""
    old, new = (kinds_of(trace, stack) for trace in (before, after))
    x = old["ff"].enters[layer]
    exchanged = x.clone()
    exchanged[token] = new["ff"].enters[layer][token]
    network = [feed_forward(model, stack, layer, vectors) for vectors in (x, exchanged)]
    return Moved(
        (new["self"].enters[layer] - old["self"].enters[layer]).abs(),
        (new["self"].update[layer] - old["self"].update[layer]).abs(),
        (network[1] - network[0]).abs(),
    )
