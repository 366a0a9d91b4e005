"""Activation patching: run sentence A with parts of sentence B, and see how far the output moves towards B's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.inference.pretrained import Pretrained
from transformer.interventions.edits import edits_of, joined
from transformer.interventions.sets import layers_of
from transformer.model.tap import KINDS, STACKS, Edit, EditingTap, scope
from transformer.texts import UserError
from transformer.tracing.trace import Trace

PARTS = ("head_outputs", "update", "leaves")


class PatchError(UserError):
    """Two traces that cannot be patched into each other."""


@dataclass(frozen=True)
class Place:
    """A part of a pass. part: of PARTS, by the names of `transformer.model.tap`; sub_layer: its name there, for example
    "decoder.0.cross"; head: only of head_outputs, from 0, None: all; token: a row, from 0, None: all."""

    part: str
    sub_layer: str
    head: int | None = None
    token: int | None = None

    @property
    def name(self) -> str:
        return f"{self.sub_layer}.{self.part}"


def check_pair(first: Trace, second: Trace) -> None:
    """Raises PatchError unless both have as many source tokens and as many target tokens."""
    lengths = [(len(one.source_ids), len(one.target_in_ids)) for one in (first, second)]
    if lengths[0] != lengths[1]:
        raise PatchError(
            "the sentences have {source_a} and {source_b} source tokens, {target_a} and {target_b} target tokens; "
            "patching needs two pairs of equal length",
            source_a=lengths[0][0], source_b=lengths[1][0], target_a=lengths[0][1], target_b=lengths[1][1],
        )  # fmt: skip


def tensor_of(trace: Trace, place: Place) -> Tensor:
    """The part of a trace: [head, row, d_head] or [row, d_model]."""
    stack, layer, sub = place.sub_layer.split(".")
    if sub == "ff":
        return getattr(getattr(trace, f"{stack}_ff"), place.part)[int(layer)]
    kind = "cross" if sub == "cross" else f"{stack}_self"
    return getattr(trace.attention(kind), place.part)[int(layer)]


def _patch(places: Sequence[Place], rows: Sequence[int | None], other: Trace) -> Edit:
    """Puts the other trace's numbers at places of one tensor. rows: the row of the batch for each place, None: all."""

    def edit(tensor: Tensor) -> Tensor:
        changed = tensor.clone()
        for place, row in zip(places, rows, strict=True):
            values = tensor_of(other, place).to(changed)
            batch = slice(None) if row is None else row
            token = slice(None) if place.token is None else place.token
            if place.part == "head_outputs":
                head = slice(None) if place.head is None else place.head
                changed[batch, head, token] = values[head, token]
            else:
                changed[batch, token] = values[token]
        return changed

    return edit


def patched(model: Pretrained, trace: Trace, other: Trace, places: Sequence[Place]) -> Trace:
    """The first trace's tokens, traced again with the other trace's numbers at all of these places.

    Raises PatchError; TapError for a place that the model lacks.
    """
    check_pair(trace, other)
    named: dict[str, list[Place]] = {}
    for place in places:
        named.setdefault(place.name, []).append(place)
    edits = {name: _patch(same, [None] * len(same), other) for name, same in named.items()}
    return model.retrace(trace, trace.interventions, edits=edits)


@dataclass(frozen=True)
class Recovery:
    """How far the log-probability of one token at one step moves from the first trace's to the other's: 0 not at all, 1
    the whole way, for every place alone. first, other: ln p in each; values: as many as places."""

    first: float
    other: float
    values: tuple[float, ...]


@torch.inference_mode()
def recovery(model: Pretrained, trace: Trace, other: Trace, places: Sequence[Place], step: int, token: int) -> Recovery:
    """Patch each place alone, all places of one tensor in one batch.

    step: row of the decoder, from 0; token: id whose ln p is watched there, usually the other's output.
    Denoising: `trace` is the broken sentence, `other` the good one; noising: the other way round.
    Raises PatchError, also if ln p is the same in both.
    """
    check_pair(trace, other)
    network = model.model
    ends = [float(one.logits[step].double().log_softmax(-1)[token]) for one in (trace, other)]
    if abs(ends[1] - ends[0]) < 1e-6:
        raise PatchError("the token is as probable in both sentences, so there is nothing to recover; choose another")
    switches = edits_of(trace.interventions, model.config)
    found: dict[int, float] = {}
    named: dict[str, list[int]] = {}
    for index, place in enumerate(places):
        named.setdefault(place.name, []).append(index)
    for name, indices in named.items():
        edit = _patch([places[index] for index in indices], list(range(len(indices))), other)
        ids = (
            torch.tensor([one] * len(indices), device=network.device) for one in (trace.source_ids, trace.target_in_ids)
        )
        tap = EditingTap(joined(switches, {name: edit}))
        log_probs = network(*ids, tap)[:, step].double().log_softmax(-1)[:, token]
        tap.check_names()
        found |= dict(zip(indices, log_probs.tolist(), strict=True))
    values = tuple((found[index] - ends[0]) / (ends[1] - ends[0]) for index in range(len(places)))
    return Recovery(ends[0], ends[1], values)


def head_places(model: Pretrained) -> dict[str, list[Place]]:
    """Kind of attention -> every head of it, layer by layer."""
    config = model.config
    return {
        kind: [
            Place("head_outputs", scope(kind, layer).rstrip("."), head)
            for layer in range(layers_of(config, kind))
            for head in range(config.heads)
        ]
        for kind in KINDS
    }


def stream_places(model: Pretrained, trace: Trace) -> Mapping[str, list[Place]]:
    """ "encoder" or "decoder" -> the residual stream after every layer at every token, layer by layer."""
    tokens = dict(zip(STACKS, (len(trace.source_ids), len(trace.target_in_ids)), strict=True))
    layers = dict(zip(STACKS, (model.config.encoder_layers, model.config.decoder_layers), strict=True))
    return {
        stack: [
            Place("leaves", f"{stack}.{layer}.ff", token=token)
            for layer in range(layers[stack])
            for token in range(tokens[stack])
        ]
        for stack in STACKS
    }
