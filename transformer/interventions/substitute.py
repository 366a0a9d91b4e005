"""Head outputs taken from elsewhere: what mean ablation and resample ablation share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.interventions.switch import HeadSwitch, Reference, SubLayer, Switch, Wanted, per_head
from transformer.model.config import ModelConfig
from transformer.model.tap import Edit, scope


class Substitute(HeadSwitch):
    """Heads whose output, weights times V, is replaced with outputs of the same head elsewhere, before W^O.

    Row r gets row r of these outputs; if they have fewer rows, they are repeated from their first row on. So a row's
    output depends on its index only, and decoding with a cache gives the same as a pass over all rows.
    """

    @property
    @abstractmethod
    def wanted(self) -> Wanted:
        """What to ask the `Reference` for."""

    @property
    def sentence_group(self) -> tuple[int, ...]:
        return (3,)

    @classmethod
    def edits(cls, switches: Sequence[Substitute], config: ModelConfig, reference: Reference) -> dict[str, Edit]:
        first_row = {"decoder": 0}  # of this pass; a step with a cache has only the newest row

        def mask(tensor: Tensor) -> Tensor:
            queries, keys = tensor.shape[-2:]
            first_row["decoder"] = keys - queries
            return tensor

        edits: dict[str, Edit] = {}
        for sub_layer, heads in cls.reached(switches, config):
            name = f"{scope(sub_layer.kind, sub_layer.layer)}head_outputs"
            edits[name] = _replacing([reaching[-1:] for reaching in heads], sub_layer, reference, first_row)
        return {f"{scope('decoder_self', 0)}mask": mask, **edits} if edits else {}


def _replacing(
    heads: Sequence[Sequence[Substitute]], sub_layer: SubLayer, reference: Reference, first_row: dict[str, int]
) -> Edit:
    """The edit of one sub-layer. heads: for every head the switch that decides, or none."""
    kind, layer, _ = sub_layer
    outputs = {
        head: reference(switch.wanted)[kind, layer][head] for head, switches in enumerate(heads) for switch in switches
    }
    changed = [head in outputs for head in range(len(heads))]

    def head_outputs(tensor: Tensor) -> Tensor:
        first = 0 if kind == "encoder_self" else first_row["decoder"]
        rows = torch.arange(first, first + tensor.shape[-2])
        put = torch.zeros_like(tensor)
        for head, values in outputs.items():  # [row, d_head]
            put[:, head] = values[rows % len(values)].to(tensor)
        return torch.where(per_head(changed, tensor), put, tensor)

    return head_outputs


def replaced(switches: Sequence[Switch], sub_layer: SubLayer) -> list[bool]:
    """Which heads of a sub-layer have outputs from elsewhere, if no other switch changes them."""
    return [bool(reaching) for reaching in Substitute.by_head(switches, sub_layer)]
