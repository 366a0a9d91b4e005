"""Position-wise (section 3.3): which tokens' results change when the vector of one token changes."""

from __future__ import annotations

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
    """How far each token's result moved: the absolute difference of the sub-layer's update, [token, d_model]."""

    attention: Tensor
    feed_forward: Tensor


@torch.inference_mode()
def update_of(model: Pretrained, trace: Trace, stack: str, layer: int, name: str, x: Tensor) -> Tensor:
    """The result of one sub-layer, Sublayer(x), for other inputs x, [token, d_model]; name: "self" or "ff"."""
    block = cast(
        EncoderLayer | DecoderLayer, (model.model.encoder if stack == "encoder" else model.model.decoder)[layer]
    )
    wrapper = block.self_residual if name == "self" else block.feed_forward_residual
    y = (wrapper.norm(x) if wrapper.pre else x)[None].to(model.model.device)
    if name == "ff":
        return block.feed_forward(y)[0].cpu()
    mask = trace.attention(f"{stack}_self").mask[layer][None].to(model.model.device)
    return block.self_attention(y, y, mask)[0].cpu()


def moved(model: Pretrained, trace: Trace, stack: str, layer: int, token: int, by: int) -> Moved:
    """The vector of `token` is replaced by that of the token `by`, where the sub-layer reads it; all others stay.

    stack: "encoder" or "decoder"; layer, token, by: indices from 0. The trace must be one without switches.
    """
    found = []
    for name in ("self", "ff"):
        x = kinds_of(trace, stack)[name].enters[layer]
        other = x.clone()
        other[token] = x[by]
        before, after = (update_of(model, trace, stack, layer, name, vectors) for vectors in (x, other))
        found.append((after - before).abs())
    return Moved(*found)
