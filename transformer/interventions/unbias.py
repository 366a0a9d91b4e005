"""The bias of relative positions, switched off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from transformer.interventions.switch import (
    EVERYWHERE,
    InterventionError,
    OffSwitch,
    OffTexts,
    SubLayer,
    Where,
    per_head,
)
from transformer.model.config import ModelConfig
from transformer.model.tap import Edit
from transformer.texts import N_

BIASED = ("encoder_self", "decoder_self")  # kinds of attention that have a bias in a model with relative positions


@dataclass(frozen=True)
class Unbias(OffSwitch):
    """Heads whose scores are q.k alone, without the bias of relative positions (Raffel et al. 2020)."""

    where: Where = EVERYWHERE

    PARAMS = ("bias",)
    EXAMPLES = ("bias=off", "bias=off@encoder_self.2.1")
    TEXTS = (
        OffTexts(N_("position bias off"), N_("position bias off in {heads}"), N_("Position bias"), N_(
            "Self-attention adds a learned number to each score, by head and distance (Raffel et al. 2020). It is all "
            "that this model knows of positions: without it, only the causal mask tells tokens apart by place.")),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.where.kind not in (None, *BIASED):
            raise InterventionError(
                "relative positions belong to {kinds}, not to {kind}; leave the kind out",
                kinds=" and ".join(BIASED),
                kind=self.where.kind,
            )

    @classmethod
    def kinds_of(cls, param: str) -> tuple[str, ...]:
        return BIASED

    def check(self, config: ModelConfig) -> None:
        super().check(config)
        if config.positions != "relative":
            raise InterventionError("this model has no relative positions, so no bias is added to its scores")

    @classmethod
    def edit_heads(cls, heads: Sequence[Sequence[Unbias]], sub_layer: SubLayer) -> dict[str, Edit]:
        def bias(tensor: Tensor) -> Tensor:
            return tensor.masked_fill(per_head([bool(reaching) for reaching in heads], tensor), 0.0)

        return {"bias": bias}
