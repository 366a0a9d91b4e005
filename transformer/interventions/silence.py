"""Zero ablation of neurons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.interventions.switch import InterventionError, LayerSwitch, Reference, brief
from transformer.model.config import LIMITS, ModelConfig
from transformer.model.tap import Edit, by_stack


@dataclass(frozen=True)
class Silence(LayerSwitch):
    """A neuron with activation 0 for every token (section 3.3), so that its row of W_2 adds nothing.

    stack: "encoder" or "decoder"; layer, neuron: indices from 0.
    """

    stack: str
    layer: int
    neuron: int

    PARAMS = ("neurons",)
    EXAMPLES = ("neurons=decoder.1.17",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.neuron) is not int or not 0 <= self.neuron < LIMITS["d_ff"][1]:
            raise InterventionError(
                "neuron {value} cannot be silenced; give its index, from 0", value=brief(self.neuron)
            )

    def check(self, config: ModelConfig) -> None:
        super().check(config)
        if self.neuron >= config.d_ff:
            raise InterventionError(
                "{switch} asks for neuron {neuron:,}, but this model has {d_ff:,} per layer",
                switch=self,
                neuron=self.neuron + 1,
                d_ff=config.d_ff,
            )

    @property
    def value(self) -> str:
        return f"{self.stack}.{self.layer + 1}.{self.neuron + 1}"

    @classmethod
    def parse(cls, text: str, param: str = "") -> Silence:
        form = r"(encoder|decoder)\.([1-9]\d{0,2})(?:\.ff)?\.([1-9]\d{0,5})"
        match = re.fullmatch(form, by_stack(text), re.ASCII)
        if not match:
            raise InterventionError(
                "{value} is not a neuron; write encoder.LAYER.NEURON or decoder.LAYER.NEURON, counted from 1",
                value=brief(text),
            )
        return cls(match[1], int(match[2]) - 1, int(match[3]) - 1)

    @classmethod
    def edits(cls, switches: Sequence[Silence], config: ModelConfig, reference: Reference) -> dict[str, Edit]:
        neurons: dict[str, list[int]] = {}
        for switch in switches:
            neurons.setdefault(f"{switch.stack}.{switch.layer}.ff.activation", []).append(switch.neuron)
        return {name: cls._silence(indices) for name, indices in neurons.items()}

    @staticmethod
    def _silence(neurons: list[int]) -> Edit:
        def activation(tensor: Tensor) -> Tensor:
            return tensor.index_fill(-1, torch.tensor(neurons, device=tensor.device), 0.0)

        return activation
