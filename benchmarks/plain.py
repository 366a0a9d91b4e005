"""The model's forward pass with every tap call taken out: what `OFF` is compared to.

The same modules and the same operations in the same order, for one teacher-forced pass without dropout and pre-norm,
on the very same weights; a test holds its logits to the model's, bit for bit.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.attention import MultiHeadAttention
from transformer.model.feedforward import FeedForward
from transformer.model.layers import DecoderLayer, EncoderLayer, SubLayer
from transformer.model.masks import causal_mask, padding_mask
from transformer.model.transformer import Transformer


class PlainAttention(MultiHeadAttention):
    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        queries = self._split(self.query(x))
        keys, values = self._split(self.key(memory)), self._split(self.value(memory))
        with torch.autocast(x.device.type, enabled=False):
            queries, keys, values = queries.float(), keys.float(), values.float()
            scores = queries @ keys.transpose(-2, -1)
            scores = scores / math.sqrt(queries.shape[-1]) if self.scale is None else scores * self.scale
            heads = torch.where(mask, scores, -math.inf).softmax(dim=-1) @ values
        return self.output(heads.transpose(1, 2).flatten(-2))


class PlainFeedForward(FeedForward):
    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return self.outer(self.activation(self.inner(x)))


class PlainSubLayer(SubLayer):
    def forward(self, x: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:  # type: ignore[override]
        return self.norm(x + compute(x))


class PlainEncoderLayer(EncoderLayer):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        x = self.self_residual(x, lambda y: self.self_attention(y, y, mask))
        return self.feed_forward_residual(x, lambda y: self.feed_forward(y))


class PlainDecoderLayer(DecoderLayer):
    def forward(self, x: Tensor, memory: Tensor, self_mask: Tensor, cross_mask: Tensor) -> Tensor:  # type: ignore[override]
        x = self.self_residual(x, lambda y: self.self_attention(y, y, self_mask))
        x = self.cross_residual(x, lambda y: self.cross_attention(y, memory, cross_mask))
        return self.feed_forward_residual(x, lambda y: self.feed_forward(y))


class PlainTransformer(Transformer):
    def embed(self, ids: Tensor) -> Tensor:  # type: ignore[override]
        positions = torch.arange(ids.shape[1], device=ids.device)
        return self.embedding(ids) * math.sqrt(self.config.d_model) + self.positions(positions)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        mask = padding_mask(source, self.config.pad_id)
        memory = self.embed(source)
        for layer in self.encoder:
            memory = layer(memory, mask)
        memory = self.encoder_norm(memory)
        cross_mask = padding_mask(source, self.config.pad_id)
        self_mask = causal_mask(target.shape[1], target.device) & padding_mask(target, self.config.pad_id)
        x = self.embed(target)
        for layer in self.decoder:
            x = layer(x, memory, self_mask, cross_mask)
        return F.linear(self.decoder_norm(x), self.embedding.weight)


PLAIN: dict[type[nn.Module], type[nn.Module]] = {
    MultiHeadAttention: PlainAttention,
    FeedForward: PlainFeedForward,
    SubLayer: PlainSubLayer,
    EncoderLayer: PlainEncoderLayer,
    DecoderLayer: PlainDecoderLayer,
    Transformer: PlainTransformer,
}


def plain_copy(model: Transformer) -> PlainTransformer:
    """The same weights under forward passes that know no tap. Raises ValueError for what those leave out."""
    config = model.config
    if config.norm != "post" or not (config.residual and config.causal) or model.training:
        raise ValueError(
            f"norm={config.norm!r}, residual={config.residual}, causal={config.causal}, training={model.training}; "
            "only a post-norm model with both, in eval mode, is copied"
        )
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    found = copy.deepcopy(model, shared)  # type: ignore[arg-type]
    for module in found.modules():
        module.__class__ = PLAIN.get(type(module), type(module))
    return found  # type: ignore[return-value]
