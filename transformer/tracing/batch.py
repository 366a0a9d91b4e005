"""Chosen tensors of many sentence pairs, traced in padded batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from transformer.interventions.sets import layers_of
from transformer.model.config import ModelConfig
from transformer.model.tap import KINDS, STACKS, EditingTap, scope
from transformer.model.transformer import Transformer
from transformer.text.batching import make_batch
from transformer.texts import UserError, any_of
from transformer.tracing.finite import check_numbers
from transformer.tracing.trace import MADE, AttentionTrace, FeedForwardTrace

WHOLE = {
    "source_embedding": "source.embedding", "target_embedding": "target.embedding", "encoder_output": "encoder.output",
    "decoder_output": "decoder.output", "logits": "logits",
}  # fmt: skip


class KeepError(UserError):
    """A tensor that a trace does not have."""


def names(config: ModelConfig) -> tuple[str, ...]:
    """Every name that can be kept, as the fields of a Trace: "cross.weights", "encoder_ff.activation", "logits", .."""
    lacking = {"cross.bias"}
    if config.positions != "relative":
        lacking |= {"encoder_self.bias", "decoder_self.bias"}
    if not config.gated:
        lacking |= {"encoder_ff.gate", "decoder_ff.gate"}
    kinds = {**dict.fromkeys(KINDS, AttentionTrace), **{f"{stack}_ff": FeedForwardTrace for stack in STACKS}}
    inner = [f"{kind}.{field.name}" for kind, of in kinds.items() for field in fields(of) if field.name not in MADE]
    return (*(name for name in inner if name not in lacking), *WHOLE)


def _tensors(name: str, config: ModelConfig) -> list[str]:
    """The names in `transformer.model.tap` of a field, one for each layer. Raises KeepError."""
    if name in WHOLE:
        return [WHOLE[name]]
    if name not in (known := names(config)):
        raise KeepError("there is no tensor {name!r} to keep; choose {names}", name=name, names=any_of(known, name))
    kind, _, field = name.partition(".")
    if kind in KINDS:
        return [f"{scope(kind, layer)}{field}" for layer in range(layers_of(config, kind))]
    stack = kind.removesuffix("_ff")
    layers = config.encoder_layers if stack == "encoder" else config.decoder_layers
    return [f"{stack}.{layer}.ff.{field}" for layer in range(layers)]


class KeepingTap(EditingTap):
    """Records the tensors of these names, and no others."""

    def __init__(self, wanted: frozenset[str]) -> None:
        super().__init__({})
        self.wanted = wanted

    def at(self, scope: str) -> KeepingTap:
        inner = object.__new__(KeepingTap)
        inner.edits, inner.replays, inner.names, inner.wanted = self.edits, self.replays, self.names, self.wanted
        inner.explain = self.explain
        inner.records, inner._prefix = self.records, f"{self._prefix}{scope}."
        return inner

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        name = self._prefix + name
        if name in self.wanted:
            self.records[name] = tensor
        return tensor


@dataclass(frozen=True)
class Kept:
    """The tensors of one pair. tensors: name -> as in `Trace`, without the batch; source_ids, target_in_ids,
    target_out_ids: as there."""

    source_ids: tuple[int, ...]
    target_in_ids: tuple[int, ...]
    target_out_ids: tuple[int, ...]
    tensors: Mapping[str, Tensor]

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]


def _unpadded(name: str, tensor: Tensor, source: int, target: int) -> Tensor:
    """Without the rows, and for what has keys the columns, of padding. tensor: [..., row, column]."""
    kind, _, field = name.partition(".")
    of_source = kind in ("encoder_self", "encoder_ff") or name in ("source_embedding", "encoder_output")
    rows, keys = source if of_source else target, source if of_source or kind == "cross" else target
    if field in ("bias", "mask", "scores", "weights"):
        return tensor[..., :rows, :keys]
    return tensor[..., : keys if field in ("keys", "values") else rows, :]


@torch.inference_mode()
def trace_batch(
    model: Transformer, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], keep: Sequence[str]
) -> Iterator[Kept]:
    """One pass over pairs of ids (source and target, both without </s>), padded to the longest, as far as what is kept
    needs it. Raises KeepError, NotFiniteError."""
    config = model.config
    wanted = {name: _tensors(name, config) for name in keep}
    tap = KeepingTap(frozenset(one for tensors in wanted.values() for one in tensors))
    batch = make_batch([source for source, _ in pairs], [target for _, target in pairs], config)
    source, fed = batch.source.to(model.device), batch.target_in.to(model.device)
    memory = model.encode(source, tap)
    if any(not name.startswith(("source", "encoder")) for name in keep):
        outputs = model.decode(fed, memory, source, tap)
        if "logits" in keep:
            model.project(outputs, tap)
    check_numbers(*tap.records.values())
    for row, (source_ids, target_ids) in enumerate(pairs):
        lengths = (len(source_ids) + 1, len(target_ids) + 1)
        tensors = {}
        for name, parts in wanted.items():
            found = [tap.records[part][row] for part in parts]
            tensors[name] = _unpadded(name, found[0] if name in WHOLE else torch.stack(found), *lengths).cpu()
        yield Kept(
            tuple(batch.source[row, : lengths[0]].tolist()),
            tuple(batch.target_in[row, : lengths[1]].tolist()),
            tuple(batch.target_out[row, : lengths[1]].tolist()),
            tensors,
        )
