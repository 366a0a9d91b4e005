"""Zero ablation of heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from transformer.interventions.switch import HeadSwitch, SubLayer, Switch, Where, per_head
from transformer.model.tap import Edit


@dataclass(frozen=True)
class KnockOut(HeadSwitch):
    """Heads whose output, weights times V, is set to zero before W^O."""

    where: Where

    PARAMS = ("zero",)
    EXAMPLES = ("zero=cross.2.1", "zero=all.*.2")
    BARE = True

    @classmethod
    def read(cls, setting: str, where: Where, param: str) -> KnockOut:
        return cls(where)

    @classmethod
    def zeros(cls, switches: Sequence[Switch], sub_layer: SubLayer) -> list[bool]:
        """Which heads of a sub-layer are knocked out."""
        return [bool(reaching) for reaching in cls.by_head(switches, sub_layer)]

    @classmethod
    def edit_heads(cls, heads: Sequence[Sequence[KnockOut]], sub_layer: SubLayer) -> dict[str, Edit]:
        def head_outputs(tensor: Tensor) -> Tensor:
            return tensor.masked_fill(per_head([bool(reaching) for reaching in heads], tensor), 0.0)

        return {"head_outputs": head_outputs}
