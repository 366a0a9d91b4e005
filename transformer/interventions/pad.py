"""Padding after the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transformer.interventions.switch import WHOLE, InterventionError, Reference, Switch, brief
from transformer.model.config import ModelConfig
from transformer.model.tap import Edit

PADS = (1, 64)


@dataclass(frozen=True)
class Pad(Switch):
    """This many <pad> after the source, so that the padding mask has something to hide."""

    tokens: int

    PARAMS = ("pad",)
    EXAMPLES = ("pad=4",)
    ATTENTION = True
    SINGLE = True

    def __post_init__(self) -> None:
        low, high = PADS
        if type(self.tokens) is not int or not low <= self.tokens <= high:
            raise InterventionError(
                "{value} pad tokens are not allowed; give a whole number from {low} to {high}",
                value=brief(self.tokens),
                low=low,
                high=high,
            )

    @property
    def value(self) -> str:
        return str(self.tokens)

    @classmethod
    def parse(cls, text: str, param: str = "") -> Pad:
        if not WHOLE.fullmatch(text):
            raise InterventionError(
                "pad cannot be {value}; give a whole number from {low} to {high}",
                value=brief(text),
                low=PADS[0],
                high=PADS[1],
            )
        return cls(int(text))

    @property
    def sentence_group(self) -> tuple[int, ...]:
        return (1,)

    @classmethod
    def edits(cls, switches: Sequence[Pad], config: ModelConfig, reference: Reference) -> dict[str, Edit]:
        return {}  # the input is longer; see `Interventions.pads`
