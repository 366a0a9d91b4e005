"""The bias of relative positions, switched off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from transformer.interventions.switch import (
    EVERYWHERE,
    HeadSwitch,
    InterventionError,
    SubLayer,
    Where,
    only_off,
    per_head,
)
from transformer.model.config import ModelConfig
from transformer.model.tap import Edit

BIASED = ("encoder_self", "decoder_self")  # kinds of attention that have a bias in a model with relative positions


@dataclass(frozen=True)
class Unbias(HeadSwitch):
    """Heads whose scores are q.k alone, without the bias of relative positions (Raffel et al. 2020)."""

    where: Where = EVERYWHERE

    PARAMS = ("bias",)
    EXAMPLES = ("bias=off", "bias=off@encoder_self.2.1")

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

    @property
    def setting(self) -> str:
        return "off"

    @classmethod
    def read(cls, setting: str, where: Where, param: str) -> Unbias:
        only_off(param, setting)
        return cls(where)

    def check(self, config: ModelConfig) -> None:
        super().check(config)
        if config.positions != "relative":
            raise InterventionError("this model has no relative positions, so no bias is added to its scores")

    @classmethod
    def edit_heads(cls, heads: Sequence[Sequence[Unbias]], sub_layer: SubLayer) -> dict[str, Edit]:
        def bias(tensor: Tensor) -> Tensor:
            return tensor.masked_fill(per_head([bool(reaching) for reaching in heads], tensor), 0.0)

        return {"bias": bias}
