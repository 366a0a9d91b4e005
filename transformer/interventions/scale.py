"""The factor of the scores (equation 1)."""

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
    brief,
    is_number,
    parse_number,
    per_head,
)
from transformer.model.tap import Edit

FACTORS = (1e-4, 1e3)  # 1 / sqrt(d_k) is 0.011 at the largest d_k a configuration allows


@dataclass(frozen=True)
class Scale(HeadSwitch):
    """Scores are q.k times factor, instead of 1 / sqrt(d_k) (equation 1). Factor 1: no scaling.

    If two apply to a head, the later one wins.
    """

    factor: float
    where: Where = EVERYWHERE

    PARAMS = ("scaling",)
    EXAMPLES = ("scaling=off", "scaling=0.5@cross.2")
    ORDERED = True

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = FACTORS
        if not is_number(self.factor) or not low <= self.factor <= high:  # a comparison with NaN is False
            raise InterventionError(
                "scaling cannot have the factor {value}; give a number from {low} to {high:,.0f}, where 1 switches "
                "scaling off",
                value=brief(self.factor),
                low=low,
                high=high,
            )

    @property
    def setting(self) -> str:
        return "off" if self.factor == 1 else repr(float(self.factor))

    @classmethod
    def read(cls, setting: str, where: Where, param: str) -> Scale:
        return cls(1.0 if setting == "off" else parse_number(setting), where)

    @classmethod
    def scales(cls, heads: Sequence[Sequence[Scale]], before: Sequence[float]) -> list[float]:
        return [switches[-1].factor if switches else usual for switches, usual in zip(heads, before, strict=True)]

    @classmethod
    def edit_heads(cls, heads: Sequence[Sequence[Scale]], sub_layer: SubLayer) -> dict[str, Edit]:
        ratios = [switches[-1].factor / sub_layer.config.scale if switches else 1.0 for switches in heads]

        def scores(tensor: Tensor) -> Tensor:
            return tensor * per_head(ratios, tensor).to(tensor.dtype)

        relative = sub_layer.config.positions == "relative" and sub_layer.kind != "cross"
        return {"products" if relative else "scores": scores}  # the bias of relative positions keeps its size
