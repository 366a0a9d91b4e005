"""Queries, switched off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transformer.interventions.switch import EVERYWHERE, OffSwitch, OffTexts, SubLayer, Where, per_head
from transformer.model.tap import Edit
from transformer.texts import N_


@dataclass(frozen=True)
class Unquery(OffSwitch):
    """Heads that look for nothing: their queries are 0, so that all visible keys get the same weight."""

    where: Where = EVERYWHERE

    PARAMS = ("queries",)
    EXAMPLES = ("queries=off", "queries=off@cross.2.1")
    TEXTS = (
        OffTexts(N_("queries off"), N_("queries off in {heads}"), N_("Queries"), N_("What each token looks for.")),
    )

    @classmethod
    def edit_heads(cls, heads: Sequence[Sequence[Unquery]], sub_layer: SubLayer) -> dict[str, Edit]:
        off = [bool(reaching) for reaching in heads]
        return {"queries": lambda tensor: tensor.masked_fill(per_head(off, tensor), 0.0)}
