"""Attention weights replaced after the softmax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.interventions.switch import EVERYWHERE, HeadSwitch, SubLayer, Switch, Where, per_head, unknown
from transformer.model.tap import Edit
from transformer.texts import N_

# `AttentionTrace.rule` holds indices of these; "painted": at least one row was set by hand (`Paint`).
RULES = ("softmax", "uniform", "argmax", "painted")
REPLACED = RULES[1:3]


@dataclass(frozen=True)
class Replace(HeadSwitch):
    """Weights replaced after the softmax: "uniform", 1/n over the n visible keys, or "argmax", 1 on the best one.

    If two apply to a head, the later one wins.
    """

    rule: str
    where: Where = EVERYWHERE

    PARAMS = ("weights",)
    EXAMPLES = ("weights=uniform@cross.*.1", "weights=argmax")
    SETTINGS = REPLACED
    ORDERED = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule not in REPLACED:
            raise unknown(N_("unknown rule for weights {value}; choose {names}"), self.rule, REPLACED)

    @property
    def setting(self) -> str:
        return self.rule

    @classmethod
    def read(cls, setting: str, where: Where, param: str) -> Replace:
        return cls(setting, where)

    @classmethod
    def rules(cls, switches: Sequence[Switch], sub_layer: SubLayer) -> list[int]:
        """For every head of a sub-layer, what makes its weights: an index into RULES."""
        return cls._rules(cls.by_head(switches, sub_layer))

    @staticmethod
    def _rules(heads: Sequence[Sequence[Replace]]) -> list[int]:
        return [RULES.index(switches[-1].rule) if switches else 0 for switches in heads]

    @classmethod
    def edit_heads(cls, heads: Sequence[Sequence[Replace]], sub_layer: SubLayer) -> dict[str, Edit]:
        rules = cls._rules(heads)
        uniform, argmax = (RULES.index(rule) in rules for rule in REPLACED)
        before: dict[str, Tensor] = {}  # mask and best key of this pass, after all other switches

        def mask(tensor: Tensor) -> Tensor:
            before["mask"] = tensor
            return tensor

        def scores(tensor: Tensor) -> Tensor:
            before["best"] = tensor.argmax(-1, keepdim=True)  # weights may tie by rounding where scores do not
            return tensor

        def weights(tensor: Tensor) -> Tensor:
            return ruled(tensor, per_head(rules, tensor), before.get("mask"), before.get("best"))

        return {**({"mask": mask} if uniform else {}), **({"scores": scores} if argmax else {}), "weights": weights}


def ruled(weights: Tensor, rule: Tensor, mask: Tensor | None, best: Tensor | None) -> Tensor:
    """The weights of heads whose rule is not the softmax; the others unchanged.

    weights: [batch, head, query, key]; rule: index of RULES for every head, [head, 1, 1]; mask: [batch, head, query,
    key], None if no head is uniform; best: the key with the largest score, [batch, head, query, 1], None if no head is
    argmax.
    """
    if best is not None:
        weights = torch.where(rule == 2, torch.zeros_like(weights).scatter(-1, best, 1.0), weights)
    if mask is not None:
        weights = torch.where(rule == 1, mask / mask.sum(-1, keepdim=True), weights)
    return weights
