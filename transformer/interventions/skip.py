"""Zero ablation of sub-layers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from transformer.interventions.switch import InterventionError, LayerSwitch, Reference, brief, unknown
from transformer.model.config import ModelConfig
from transformer.model.tap import Edit, by_stack
from transformer.texts import N_

SUB_LAYERS = {"encoder": ("self", "ff"), "decoder": ("self", "cross", "ff")}


_PARTS = {
    "encoder": N_("unknown sub-layer of the encoder {value}; choose {names}"),
    "decoder": N_("unknown sub-layer of the decoder {value}; choose {names}"),
}


@dataclass(frozen=True)
class Skip(LayerSwitch):
    """A whole sub-layer that returns 0: only the residual connection carries x on (section 3.1).

    stack: "encoder" or "decoder"; layer: index from 0; part: "self", "cross" (decoder only) or "ff".
    """

    stack: str
    layer: int
    part: str

    PARAMS = ("skip",)
    EXAMPLES = ("skip=encoder.2.ff", "skip=decoder.1.cross")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.part not in SUB_LAYERS[self.stack]:
            raise unknown(_PARTS[self.stack], self.part, SUB_LAYERS[self.stack])

    @property
    def value(self) -> str:
        return f"{self.stack}.{self.layer + 1}.{self.part}"

    @classmethod
    def parse(cls, text: str, param: str = "") -> Skip:
        match = re.fullmatch(r"(encoder|decoder)\.([1-9]\d{0,2})\.(self|cross|ff)", by_stack(text), re.ASCII)
        if not match:
            raise InterventionError(
                "{value} is not a sub-layer; write encoder.LAYER.PART or decoder.LAYER.PART, counted from 1; PART is "
                "self, cross or ff",
                value=brief(text),
            )
        return cls(match[1], int(match[2]) - 1, match[3])

    @classmethod
    def edits(cls, switches: Sequence[Skip], config: ModelConfig, reference: Reference) -> dict[str, Edit]:
        return {f"{switch.stack}.{switch.layer}.{switch.part}.update": torch.zeros_like for switch in switches}
