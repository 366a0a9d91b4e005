"""Prepare a model for fast decoding steps, with the same results up to rounding.

A step multiplies every matrix of the decoder by a single row. Most of its time goes into reading the matrices from
memory, then into Python calls: of 0.48 ms for the calls of a step, `nn.Module` spent 0.15 looking up hooks and
attributes.
"""

from __future__ import annotations

import copy
import functools
import math
import platform
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

# Parameters from which on a model's matrices stay where they are, perhaps in a file that is mapped into memory
# (`checkpoints.weights`). To arrange 615 million takes 8 s of CPU and a second copy; a step then takes 0.9 of the time.
LARGE = 100_000_000
# A sentence has 2 to 64 tokens, and a product of so few rows takes about as long as reading its matrix, which torch
# puts into another order every time. With a copy in that order 4 to 24 rows take 0.4 to 0.7 of the time, 48 rows 0.75;
# above 64 there is no gain worth its memory.
MOST_REORDERED = 64_000_000  # parameters of a model: the copy takes at most a quarter of a gigabyte
# oneDNN compiles code for each number of rows, 2 ms and half a megabyte of each shape: rows of zeros fill up to these.
FILLED = (4, 8, 16, 24, 32, 48, 64)
_FILLED = {rows: min(full for full in FILLED if full >= rows) for rows in range(2, FILLED[-1] + 1)}


class JointSelfAttention(MultiHeadAttention):
    """Self-attention that computes Q, K and V in one product if attention is fused: the same up to rounding.

    It falls back to three products if a projection or the memory of its weights has changed since `join`.
    """

    most_joint = math.inf  # rows, from which three products are faster

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
            tap.fused and x is memory and projections == self.projections and len(x) * x.shape[1] <= self.most_joint
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
    if model.parameter_count() < LARGE:
        _lay_out(model)
    for module in model.decoder.modules():
        module.__class__ = _direct(type(module))  # type: ignore[arg-type]  # a class can be hashed
        vars(module).update(module._modules, **module._parameters)  # avoids the slow lookup of `nn.Module`


class Matrix:
    """A matrix in that order, shared by copies of its module: one with another matrix does not use it."""

    def __init__(self, weight: Tensor) -> None:
        self.address = weight.data_ptr()
        self.reordered = torch.ops.mkldnn._reorder_linear_weight(weight, FILLED[2])

    def __deepcopy__(self, memo: object) -> Matrix:
        return self

    def product(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """`torch.nn.functional.linear`: [..., in] -> [..., out]. weight: the matrix, in its own order."""
        rows, plain = x.numel() // weight.shape[1], type(x) is Tensor and not x.requires_grad
        full = _FILLED.get(rows)
        fits = x.dtype == weight.dtype and x.shape[-1] == weight.shape[1]
        if full is None or not plain or not fits or weight.data_ptr() != self.address:
            return F.linear(x, weight, bias)
        filled = x if full == rows else F.pad(x.reshape(rows, -1), (0, 0, 0, full - rows))
        found = torch.ops.mkldnn._linear_pointwise(filled, self.reordered, bias, "none", [], "")
        return found if full == rows else found[:rows].view(*x.shape[:-1], -1)


class ReorderedLinear(nn.Linear):
    matrix: Matrix

    def forward(self, x: Tensor) -> Tensor:
        return self.matrix.product(x, self.weight, self.bias)


class ReorderedTransformer(Transformer):
    matrix: Matrix

    def project(self, hidden: Tensor, tap: AnyTap = OFF) -> Tensor:
        return tap("logits", self.matrix.product(hidden, self.output_table, self.output_bias))


def pays_to_reorder(model: Transformer) -> bool:
    """Measured on x86 processors only."""
    table = model.embedding.weight
    return (
        platform.machine() in ("x86_64", "AMD64")
        and torch.backends.mkldnn.is_available()
        and table.dtype == torch.float32
        and table.device.type == "cpu"
        and model.parameter_count() <= MOST_REORDERED
    )


def reorder(model: Transformer) -> None:
    """Make passes over a sentence and steps of a few rows faster, where it pays. Takes 0.03 s and 85 MB with en-de.

    For a model whose matrices nobody changes in place: that would go unnoticed. Modules that are replaced, and weights
    that are replaced, still count.
    """
    if not pays_to_reorder(model):
        return
    for module in [*model.modules()]:
        if isinstance(module, nn.Linear):
            module.matrix = Matrix(module.weight)  # type: ignore[assignment]
            kind: Any = ReorderedLinear if type(module) is nn.Linear else _direct(ReorderedLinear)
            module.__class__ = kind
        elif isinstance(module, JointSelfAttention):
            module.most_joint = 1
    model.__class__ = ReorderedTransformer
    assert isinstance(model, ReorderedTransformer)
    model.matrix = Matrix(model.output_table)


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
        if isinstance(module, ReorderedLinear):
            module.matrix = Matrix(module.weight)
        if prepared:
            vars(module)[parameter] = module._parameters[parameter]
    return network
