"""Interventions as edits of a pass: what each switch does to masks, scores, weights and outputs of the heads, to
positions, sub-layers and neurons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.interventions.sets import (
    KEYS,
    RULES,
    Hide,
    InterventionError,
    Interventions,
    KnockOut,
    Pad,
    Reposition,
    Scale,
    Silence,
    Skip,
    Unmask,
    layers_of,
)
from transformer.model.config import ModelConfig
from transformer.model.tap import KINDS, SIDES, Edit, scope


@dataclass(frozen=True)
class HeadPlan:
    """What is switched in the heads of one attention sub-layer; every tuple has one entry a head.

    factor: of q.k, None as the model has it; causal, padding: the mask is off; hidden: key positions taken out; zero:
    knocked out; rule: index into RULES.
    """

    factor: tuple[float | None, ...]
    causal: tuple[bool, ...]
    padding: tuple[bool, ...]
    hidden: tuple[frozenset[int], ...]
    zero: tuple[bool, ...]
    rule: tuple[int, ...]


def plan(interventions: Interventions, config: ModelConfig, kind: str, layer: int) -> HeadPlan:
    """The switches that reach one sub-layer."""
    heads = range(config.heads)
    factor: list[float | None] = [None for _ in heads]
    causal, padding, zero = ([False for _ in heads] for _ in range(3))
    hidden: list[set[int]] = [set() for _ in heads]
    rule = [0 for _ in heads]
    for one in interventions.switches:
        if isinstance(one, Pad | Reposition | Skip | Silence):
            continue
        for head in heads:
            if not one.where.covers(kind, layer, head):
                continue
            if isinstance(one, Scale):
                factor[head] = one.factor
            elif isinstance(one, Unmask):
                if one.mask == "padding":
                    padding[head] = True
                elif kind == "decoder_self":
                    causal[head] = True
            elif isinstance(one, Hide):
                if one.side == KEYS[kind]:
                    hidden[head].add(one.token)
            elif isinstance(one, KnockOut):
                zero[head] = True
            else:
                rule[head] = RULES.index(one.rule)
    return HeadPlan(
        tuple(factor), tuple(causal), tuple(padding), tuple(map(frozenset, hidden)), tuple(zero), tuple(rule)
    )  # fmt: skip


def silent_layers(interventions: Interventions, config: ModelConfig) -> tuple[tuple[str, int], ...]:
    """Sub-layers, as (kind, layer), all of whose heads are knocked out: what they return is the bias of W^O alone."""
    places = [(kind, layer) for kind in KINDS for layer in range(layers_of(config, kind))]
    return tuple(place for place in places if all(plan(interventions, config, *place).zero))


def _column(values: Sequence[object], like: Tensor) -> Tensor:
    """One entry a head -> [head, 1, 1], on the device of `like`."""
    return torch.tensor(values, device=like.device)[:, None, None]


def _edit_sub_layer(edits: dict[str, Edit], found: HeadPlan, config: ModelConfig, kind: str, layer: int) -> None:
    """Add the edits of one sub-layer; they share what they must know of each other through `seen`."""
    at = scope(kind, layer)
    seen: dict[str, Tensor] = {}
    opened, hides = any(found.padding) or any(found.causal), any(found.hidden)
    scaled = any(one is not None for one in found.factor)
    level, best = (RULES.index(rule) in found.rule for rule in ("uniform", "argmax"))

    def mask(tensor: Tensor) -> Tensor:
        if opened and kind == "decoder_self":
            queries, keys = tensor.shape[-2:]  # one query, the last, while decoding with what came before kept
            past = torch.ones_like(tensor[0, 0])
            if config.causal:
                past = past.tril(keys - queries)
            real = tensor[..., -1:, :]  # the last row hides no future
            tensor = (past | _column(found.causal, tensor)) & (real | _column(found.padding, tensor))
        elif opened:
            tensor = tensor | _column(found.padding, tensor)
        if hides:
            shown = torch.ones(len(found.hidden), 1, tensor.shape[-1], dtype=torch.bool, device=tensor.device)
            for head, positions in enumerate(found.hidden):
                shown[head, :, [one for one in positions if one < shown.shape[-1]]] = False
            tensor = tensor & shown
            blind = (~tensor.any(-1)).nonzero()
            if len(blind):
                _, head, query = blind[0].tolist()
                raise InterventionError(
                    f"with these tokens hidden, row {query + 1} of {kind.replace('_', '-')} attention (layer "
                    f"{layer + 1}, head {head + 1}) has nothing to attend to, and a softmax over nothing has no value; "
                    "leave it one key at least"
                )
        seen["mask"] = tensor
        return tensor

    def scores(tensor: Tensor) -> Tensor:
        if scaled:
            ratio = [1.0 if one is None else one / config.scale for one in found.factor]
            tensor = tensor * _column(ratio, tensor).to(tensor.dtype)
        if best:
            seen["best"] = tensor.argmax(-1, keepdim=True)  # weights may tie by rounding where scores do not
        return tensor

    def weights(tensor: Tensor) -> Tensor:
        rule = _column(found.rule, tensor)
        if best:
            tensor = torch.where(rule == 2, torch.zeros_like(tensor).scatter_(-1, seen["best"], 1.0), tensor)
        if level:
            visible = seen["mask"]
            tensor = torch.where(rule == 1, visible / visible.sum(-1, keepdim=True), tensor)
        return tensor

    def head_outputs(tensor: Tensor) -> Tensor:
        return tensor.masked_fill(_column(found.zero, tensor), 0.0)

    if opened or hides or level:
        edits[at + "mask"] = mask
    if scaled or best:
        edits[at + "scores"] = scores
    if any(found.rule):
        edits[at + "weights"] = weights
    if any(found.zero):
        edits[at + "head_outputs"] = head_outputs


def _permutation(length: int, seed: int) -> Tensor:
    """Places 0 .. length - 1 in an order drawn with the seed: [length]. The same on every machine."""
    return torch.randperm(length, generator=torch.Generator().manual_seed(seed))


def _edit_positions(edits: dict[str, Edit], moves: Sequence[Reposition], config: ModelConfig, side: str) -> None:
    """Add the edits of one side's positions; each move changes what the one before left."""

    def order(tensor: Tensor) -> Tensor:
        for move in moves:
            if move.rule == "reverse":
                tensor = tensor.flip(0)
            elif move.rule == "shuffle":
                tensor = tensor[_permutation(len(tensor), int(move.amount)).to(tensor.device)]
            elif move.rule == "shift":
                tensor = tensor + int(move.amount)
        if len(tensor) and int(tensor.max()) >= config.max_positions:
            shift = sum(int(move.amount) for move in moves if move.rule == "shift")
            raise InterventionError(
                f"shifted by {shift:,}, the last of {len(tensor):,} tokens of the {side} would be at position "
                f"{int(tensor.max()) + 1:,}; this model has {config.max_positions:,}, so shift less or shorten the text"
            )
        return tensor

    def encoding(tensor: Tensor) -> Tensor:
        for move in moves:
            if move.rule in ("remove", "scale"):
                tensor = tensor * float(move.amount if move.rule == "scale" else 0)
        return tensor

    if any(move.rule in ("reverse", "shuffle", "shift") for move in moves):
        edits[f"{side}.position_ids"] = order
    if any(move.rule in ("remove", "scale") for move in moves):
        edits[f"{side}.positions"] = encoding


def _edit_rest(edits: dict[str, Edit], interventions: Interventions) -> None:
    """Add the edits of sub-layers and neurons."""
    silenced: dict[str, list[int]] = {}
    for one in interventions.switches:
        if isinstance(one, Skip):
            edits[f"{one.stack}.{one.layer}.{one.part}.update"] = torch.zeros_like
        elif isinstance(one, Silence):
            silenced.setdefault(f"{one.stack}.{one.layer}.ff.activation", []).append(one.neuron)
    for name, neurons in silenced.items():

        def silence(tensor: Tensor, neurons: list[int] = neurons) -> Tensor:
            return tensor.index_fill(-1, torch.tensor(neurons, device=tensor.device), 0.0)

        edits[name] = silence


def edits_of(interventions: Interventions, config: ModelConfig) -> dict[str, Edit]:
    """The edits of one pass, by the names of `transformer.model.tap`: made anew for each, for they remember its masks.

    Nothing that is not switched is edited. Raises InterventionError for a place the model has not; the edit of a mask
    raises it when a row would have nothing left.
    """
    interventions.check(config)
    edits: dict[str, Edit] = {}
    if interventions:
        for kind in KINDS:
            for layer in range(layers_of(config, kind)):
                _edit_sub_layer(edits, plan(interventions, config, kind, layer), config, kind, layer)
        for side in SIDES:
            moves = [one for one in interventions.switches if isinstance(one, Reposition) and one.covers(side)]
            _edit_positions(edits, moves, config, side)
        _edit_rest(edits, interventions)
    return edits
