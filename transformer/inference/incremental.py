"""The decoder one token at a time: `Transformer.decode` with what it computed before kept, nothing around it.

A step multiplies every matrix of the decoder with a single row, so reading the matrices from memory is what takes
time, then calling the operations. Hence the three projections of self-attention are one product, and matrices lie as
`Transformer.arrange` lays them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.attention import MultiHeadAttention, attend
from transformer.model.feedforward import ACTIVATION
from transformer.model.layers import DecoderLayer, SubLayer
from transformer.model.masks import padding_mask
from transformer.model.tap import FUSED, OFF, AnyTap
from transformer.model.transformer import Transformer

Affine = tuple[Tensor, Tensor]
Norm = tuple[tuple[int], Tensor, Tensor, float]  # what F.layer_norm takes after x


def _of(module: nn.Linear) -> Affine:
    return module.weight, module.bias


@dataclass
class _Layer:
    """Weights and biases of one decoder layer, and what it has cached: keys and values [batch, head, token, width]."""

    own: Affine
    own_output: Affine
    cross_query: Affine
    cross_output: Affine
    inner: Affine
    outer: Affine
    norms: list[Norm | None]
    widths: list[int]
    cross_keys: Tensor
    cross_values: Tensor
    keys: Tensor | None = None
    values: Tensor | None = None


class Stepper:
    """Decodes a batch step by step, without dropout.

    memory: [batch, source, d_model], from `encode`; source: the ids it came from, for its padding mask; tap: edits
    positions, attention, activations and what sub-layers return, one token at a time, so none that lets the future in.
    Equal to `Transformer.decode` of all tokens fed so far, up to rounding. Raises ValueError for a model without the
    causal mask: a token that is fed changes what all those before it are, keys and values of later layers too.
    """

    def __init__(self, model: Transformer, memory: Tensor, source: Tensor, tap: AnyTap = FUSED) -> None:
        config = model.config
        if not config.causal:
            raise ValueError("this model has no causal mask, so nothing of a step can be kept for the next; use Replay")
        self.model, self.heads = model, config.heads
        self.pre, self.post, self.residual = config.norm == "pre", config.norm == "post", config.residual
        self.tap, self.tap_input = tap.at("decoder"), tap.at("target")
        self.scale = None if config.scaling else 1.0
        self.activation = ACTIVATION[config.activation]
        mask = padding_mask(source, config.pad_id)
        self.mask = None if tap.off and bool(mask.all()) else mask
        self.length = 0
        self.layers = [self._layer(layer, memory) for layer in model.decoder]

    def _layer(self, layer: nn.Module, memory: Tensor) -> _Layer:
        assert isinstance(layer, DecoderLayer)
        own, cross = layer.self_attention, layer.cross_attention
        return _Layer(
            own.joined(), _of(own.output), _of(cross.query), _of(cross.output),
            _of(layer.feed_forward.inner), _of(layer.feed_forward.outer),
            [self._norm(one) for one in (layer.self_residual, layer.cross_residual, layer.feed_forward_residual)],
            [one.out_features for one in (own.query, own.key, own.value)],
            *self._cross(cross, memory),
        )  # fmt: skip

    def _cross(self, attention: MultiHeadAttention, memory: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = attention.key(memory), attention.value(memory)
        return self._split(keys).contiguous(), self._split(values).contiguous()

    @staticmethod
    def _norm(around: SubLayer) -> Norm | None:
        norm = around.norm
        if not isinstance(norm, nn.LayerNorm):
            return None
        return (norm.weight.shape[0],), norm.weight, norm.bias, norm.eps

    def _split(self, x: Tensor) -> Tensor:
        """[batch, token, head * width] -> [batch, head, token, width]"""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _heads(self, x: Tensor) -> Tensor:
        """[batch, head * width] -> [batch, head, 1, width]"""
        return x.view(len(x), self.heads, 1, -1)

    def _read(self, x: Tensor, norm: Norm | None) -> Tensor:
        """What a sub-layer reads of x, [batch, d_model]."""
        return F.layer_norm(x, *norm) if self.pre and norm else x

    def _leaves(self, x: Tensor, update: Tensor, norm: Norm | None) -> Tensor:
        """What leaves a sub-layer that x entered and that returned the update, [batch, d_model] each."""
        total = x + update if self.residual else update
        return F.layer_norm(total, *norm) if self.post and norm else total

    def __call__(self, newest: Tensor) -> Tensor:
        """newest: the id each row is fed, [batch, 1]. Returns what predicts the next, [batch, 1, d_model]."""
        x = self.model.embed(newest, self.length, self.tap_input, "target")[:, 0]
        self.length += 1
        rows = len(x)
        seen = None if self.tap.off else newest.new_ones(1, 1, 1, self.length, dtype=torch.bool)
        for number, layer in enumerate(self.layers):
            at = self.tap.at(str(number))
            first, second, third = layer.norms
            y = self._read(x, first)
            queries, keys, values = map(self._heads, F.linear(y, *layer.own).split(layer.widths, -1))
            if layer.keys is not None and layer.values is not None:
                keys, values = torch.cat((layer.keys, keys), 2), torch.cat((layer.values, values), 2)
            layer.keys, layer.values = keys, values
            here = at.at("self")
            heads = attend(queries, keys, values, seen, scale=self.scale, tap=here)
            x = self._leaves(x, here("update", F.linear(heads.reshape(rows, -1), *layer.own_output)), first)

            y = self._read(x, second)
            queries = self._heads(F.linear(y, *layer.cross_query))
            keys, values = layer.cross_keys, layer.cross_values
            here = at.at("cross")
            heads = attend(queries, keys, values, self.mask, scale=self.scale, tap=here)
            x = self._leaves(x, here("update", F.linear(heads.reshape(rows, -1), *layer.cross_output)), second)

            y = self._read(x, third)
            here = at.at("ff")
            inner = here("activation", self.activation(F.linear(y, *layer.inner)))
            x = self._leaves(x, here("update", F.linear(inner, *layer.outer)), third)
        return self.model.decoder_norm(x)[:, None]

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order. rows: [kept], integers."""
        if self.mask is not None:
            self.mask = self.mask[rows]
        for layer in self.layers:
            layer.cross_keys, layer.cross_values = layer.cross_keys[rows], layer.cross_values[rows]
            if layer.keys is not None and layer.values is not None:
                layer.keys, layer.values = layer.keys[rows], layer.values[rows]


class Replay:
    """The plain twin of `Stepper`: every step runs the whole prefix through `Transformer.decode`, past a tap.

    For models without the causal mask, and for switches that a tap makes: with the future in sight, what a step
    computed before is not what it computes now.
    """

    def __init__(self, model: Transformer, memory: Tensor, source: Tensor, tap: AnyTap = OFF) -> None:
        self.model, self.memory, self.source, self.tap = model, memory, source, tap
        self.fed = source.new_empty(len(source), 0)

    def __call__(self, newest: Tensor) -> Tensor:
        """newest: the id each row is fed, [batch, 1]. Returns what predicts the next, [batch, 1, d_model]."""
        self.fed = torch.cat((self.fed, newest), 1)
        return self.model.decode(self.fed, self.memory, self.source, self.tap)[:, -1:]

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order. rows: [kept], integers."""
        self.fed, self.memory, self.source = self.fed[rows], self.memory[rows], self.source[rows]
