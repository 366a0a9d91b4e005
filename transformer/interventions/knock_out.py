"""Zero ablation of heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from transformer.interventions.switch import HeadSwitch, SubLayer, Switch, Where, layers_of, per_head
from transformer.model.config import ModelConfig
from transformer.model.tap import KINDS, Edit


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


def silent_layers(switches: Sequence[Switch], config: ModelConfig) -> tuple[tuple[str, int], ...]:
    """Sub-layers, as (kind, layer), with all heads knocked out: they return only the bias of W^O."""
    sub_layers = [(kind, layer) for kind in KINDS for layer in range(layers_of(config, kind))]
    return tuple(
        kind_and_layer
        for kind_and_layer in sub_layers
        if all(KnockOut.zeros(switches, SubLayer(*kind_and_layer, config)))
    )
