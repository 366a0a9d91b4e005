"""Prepare a model for fast decoding steps, with the same results up to rounding.

A step multiplies every matrix of the decoder by a single row. Most of its time goes into reading the matrices from
memory, then into Python calls: of 0.48 ms for the calls of a step, `nn.Module` spent 0.15 looking up hooks and
attributes.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.attention import MultiHeadAttention
from transformer.model.cache import AttentionCache
from transformer.model.layers import DecoderLayer
from transformer.model.tap import OFF, AnyTap
from transformer.model.transformer import Transformer


class JointSelfAttention(MultiHeadAttention):
    """Self-attention that computes Q, K and V in one product if attention is fused: the same up to rounding.

    It falls back to three products if a projection or the memory of its weights has changed since `join`.
    """

    def join(self, weight: Tensor) -> None:
        """weight: one matrix of W^Q, W^K and W^V, which share its memory."""
        self.projections = self.query, self.key, self.value
        self.addresses = tuple(projection.weight.data_ptr() for projection in self.projections)
        self.widths = [projection.out_features for projection in self.projections]
        self.joint_weight = weight
        biases = [projection.bias.data for projection in self.projections if projection.bias is not None]
        self.joint_bias = torch.cat(biases) if biases else None
        if self.joint_bias is not None:
            for projection, bias in zip(self.projections, self.joint_bias.split(self.widths), strict=True):
                projection.bias.data = bias

    def project(
        self, x: Tensor, memory: Tensor, tap: AnyTap = OFF, cache: AttentionCache | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = projections = self.query, self.key, self.value
        if (
            tap.fused and x is memory and projections == self.projections
            and (query.weight.data_ptr(), key.weight.data_ptr(), value.weight.data_ptr()) == self.addresses
        ):  # fmt: skip
            queries, keys, values = map(
                self._split, F.linear(x, self.joint_weight, self.joint_bias).split(self.widths, -1)
            )
            return (queries, keys, values) if cache is None else (queries, *cache.append(keys, values))
        return super().project(x, memory, tap, cache)


def _lay_out(model: Transformer) -> None:
    """Arrange the decoder's matrices in memory for products with a single row; values and shapes stay the same.

    The matrices follow each other in the order of their use. Matrices at least as high as wide are stored column by
    column, and the three projections of self-attention as one matrix. Measured on one core of a server, with matrices
    outside its caches: 1,024 x 256 in 49 us instead of 113, 4,000 x 256 in 107 instead of 344, three of 256 x 256 in 41
    instead of 105.
    """
    groups: list[tuple[nn.Linear | nn.Embedding, ...]] = []  # modules whose matrices become one
    for layer in model.decoder:
        assert isinstance(layer, DecoderLayer)
        attention, cross, ff = layer.self_attention, layer.cross_attention, layer.feed_forward
        groups.append((attention.query, attention.key, attention.value))
        groups += [
            (module,) for module in (attention.output, cross.query, cross.output, ff.inner, ff.gate, ff.outer) if module
        ]
    if model.output_matrix is None:
        groups.append((model.embedding if model.target_embedding is None else model.target_embedding,))
    memory = model.embedding.weight.new_empty(sum(module.weight.numel() for group in groups for module in group))
    joint: dict[nn.Module, Tensor] = {}
    for group in reversed(groups):  # the table is largest: it is twice in memory while nothing else is
        matrix = group[0].weight.data if len(group) == 1 else torch.cat([module.weight.data for module in group])
        (high, wide), (memory, part) = matrix.shape, memory.split([len(memory) - matrix.numel(), matrix.numel()])
        matrix = (part.view(wide, high).t() if high >= wide else part.view(high, wide)).copy_(matrix)
        for module, weight in zip(group, matrix.split([len(module.weight) for module in group]), strict=True):
            module.weight.data = weight
        joint[group[0]] = matrix
    for layer in model.decoder:
        assert isinstance(layer, DecoderLayer)
        attention = layer.self_attention
        if type(attention) is MultiHeadAttention:
            attention.__class__ = JointSelfAttention
            cast(JointSelfAttention, attention).join(joint[attention.query])


@functools.cache
def _direct(kind: type[nn.Module]) -> type[nn.Module]:
    """A subclass whose `__call__` is `forward`, until someone registers a hook."""

    def with_hooks(name: str) -> Callable[..., Any]:
        def register(self: nn.Module, *arguments: Any, **named: Any) -> Any:
            self.__class__ = kind
            return getattr(self, name)(*arguments, **named)

        return register

    hooks = {name: with_hooks(name) for name in ("register_forward_hook", "register_forward_pre_hook")}
    return type(kind.__name__, (kind,), {"__module__": kind.__module__, "__call__": kind.forward, **hooks})


def prepare_for_decoding(model: Transformer) -> None:
    """Make decoding steps of a model faster. Values, shapes and names stay the same, and modules that are replaced
    later still work."""
    _lay_out(model)
    for module in model.decoder.modules():
        module.__class__ = _direct(type(module))  # type: ignore[arg-type]  # a class can be hashed
        vars(module).update(module._modules, **module._parameters)  # avoids the slow lookup of `nn.Module`


def with_parameters(model: Transformer, changed: Mapping[str, Tensor]) -> Transformer:
    """The same model, prepared or not, with these parameters instead, by the names of its state dict. It shares every
    other tensor with the model: nothing is copied but the modules that hold them."""
    held = [vars(module) | module._parameters | module._buffers for module in model.modules()]
    shared = [value for values in held for value in values.values() if isinstance(value, Tensor)]
    network = copy.deepcopy(model, {id(value): value for value in (model.config, *shared)})
    for name, value in changed.items():
        place, _, parameter = name.rpartition(".")
        module = network.get_submodule(place)
        prepared = parameter in vars(module)
        setattr(module, parameter, nn.Parameter(value, requires_grad=False))
        if prepared:
            vars(module)[parameter] = module._parameters[parameter]
    return network
