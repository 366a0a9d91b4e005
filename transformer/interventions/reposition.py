"""Changed position encodings (section 3.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.interventions.switch import (
    WHOLE,
    InterventionError,
    Reference,
    Switch,
    brief,
    is_number,
    layers_of,
    parse_number,
    unknown,
)
from transformer.model.config import LIMITS, ModelConfig
from transformer.model.tap import SIDES, Edit, scope
from transformer.texts import N_

RULES = ("remove", "shuffle", "reverse", "shift", "scale")
SHIFTS = (1, LIMITS["max_positions"][1] - 1)
SEEDS = (0, 9999)
FACTORS = (0.0, 100.0)
_WRONG_AMOUNT = {
    "shift": N_("positions cannot be shifted by {value}; give a whole number from {low} to {high:,}"),
    "shuffle": N_("positions cannot be shuffled with the seed {value}; give a whole number from {low} to {high:,}"),
}


@dataclass(frozen=True)
class Reposition(Switch):
    """Changed position encodings (section 3.5) of one side, or of both if side is None.

    "remove": nothing is added to the embeddings; "scale": the encodings times `amount`; "shift": token p gets the
    encoding of position p + amount; "reverse": the first token gets the encoding of the last, and so on; "shuffle": a
    permutation drawn with the seed `amount`. Reverse and shuffle use the positions of all tokens, <pad> included; while
    decoding, of those fed so far. Each change applies to the result of the one before.

    Relative positions are not added to embeddings: here the rules change the bias of that side's self-attention, which
    "shift" leaves as it is, because every distance stays.
    """

    rule: str
    side: str | None = None
    amount: float = 0

    PARAMS = ("positions",)
    EXAMPLES = (
        "positions=remove", "positions=reverse@target", "positions=shift.5@source", "positions=shuffle.7",
        "positions=scale.0.5@source",
    )  # fmt: skip
    ORDERED = True

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise unknown(N_("unknown change of positions {value}; choose {names}"), self.rule, RULES)
        if self.side is not None and self.side not in SIDES:
            raise unknown(N_("unknown side {value}; choose {names}"), self.side, SIDES)
        numeric = is_number(self.amount)
        if self.rule == "scale":
            low, high = FACTORS
            if not numeric or not low <= self.amount <= high:
                raise InterventionError(
                    "positions cannot be multiplied by {value}; give a number from {low:.0f} to {high:.0f}",
                    value=brief(self.amount),
                    low=low,
                    high=high,
                )
            return
        low, high = {"shift": SHIFTS, "shuffle": SEEDS}.get(self.rule, (0, 0))
        if not numeric or not low <= self.amount <= high or self.amount != int(self.amount):
            text = _WRONG_AMOUNT.get(self.rule, N_("{rule} takes no number; leave out {value}"))
            raise InterventionError(text, rule=self.rule, value=brief(self.amount), low=low, high=high)
        object.__setattr__(self, "amount", int(self.amount))

    def covers(self, side: str) -> bool:
        return self.side in (None, side)

    @property
    def value(self) -> str:
        amount = {"scale": f".{float(self.amount)!r}", "shift": f".{self.amount}", "shuffle": f".{self.amount}"}
        return self.rule + amount.get(self.rule, "") + (f"@{self.side}" if self.side else "")

    @classmethod
    def parse(cls, text: str, param: str = "") -> Reposition:
        value, has_side, side = text.partition("@")
        rule, _, amount = value.partition(".")
        if rule in ("shift", "shuffle") and not WHOLE.fullmatch(amount):
            raise InterventionError(
                "{value} has no whole number; write {rule}.N, for example {rule}.5", value=brief(text), rule=rule
            )
        if rule not in RULES:
            raise unknown(N_("unknown change of positions {value}; choose {names}"), rule, RULES)
        if rule not in ("shift", "shuffle", "scale") and amount:
            raise InterventionError(
                "{value} is not allowed, because {rule} takes no number; write {rule}", value=brief(text), rule=rule
            )
        return cls(rule, side if has_side else None, parse_number(amount) if amount else 0)

    @property
    def replays(self) -> bool:
        return self.rule in ("reverse", "shuffle") and self.covers("target")

    @property
    def sentence_group(self) -> tuple[int, ...]:
        return (2, (*SIDES, None).index(self.side))

    @classmethod
    def shift(cls, switches: Sequence[Switch], side: str) -> int:
        """How many positions the encodings of a side are shifted by."""
        moves = (switch for switch in switches if isinstance(switch, cls) and switch.covers(side))
        return sum(int(switch.amount) for switch in moves if switch.rule == "shift")

    @classmethod
    def check_all(cls, switches: Sequence[Reposition], config: ModelConfig) -> None:
        for side in SIDES:
            if cls.shift(switches, side) >= config.max_positions:
                raise InterventionError(
                    "the positions of the {side} cannot be shifted by {shift:,}; this model has {most:,} positions",
                    side=side,
                    shift=cls.shift(switches, side),
                    most=config.max_positions,
                )

    @classmethod
    def edits(cls, switches: Sequence[Reposition], config: ModelConfig, reference: Reference) -> dict[str, Edit]:
        edits: dict[str, Edit] = {}
        for side in SIDES:
            moves = [switch for switch in switches if switch.covers(side)]
            if config.positions == "relative":
                kind = "encoder_self" if side == "source" else "decoder_self"
                edits |= {f"{scope(kind, layer)}bias": cls._bias(moves) for layer in range(layers_of(config, kind))}
            rules = {switch.rule for switch in moves}
            if rules & {"reverse", "shuffle", "shift"}:
                edits[f"{side}.position_ids"] = cls._order(moves, config, side)
            if rules & {"remove", "scale"}:
                edits[f"{side}.positions"] = cls._encoding(moves)
        return edits

    @classmethod
    def _order(cls, moves: Sequence[Reposition], config: ModelConfig, side: str) -> Edit:
        def order(tensor: Tensor) -> Tensor:
            for move in moves:
                if move.rule == "reverse":
                    tensor = tensor.flip(0)
                elif move.rule == "shuffle":
                    tensor = tensor[_permutation(len(tensor), int(move.amount)).to(tensor.device)]
                elif move.rule == "shift":
                    tensor = tensor + int(move.amount)
            if len(tensor) and int(tensor.max()) >= config.max_positions:
                raise InterventionError(
                    "shifted by {shift:,}, the last of {count:,} tokens of the {side} would be at position {last:,}, "
                    "but this model has {most:,}; shift less or shorten the text",
                    shift=cls.shift(moves, side),
                    count=len(tensor),
                    side=side,
                    last=int(tensor.max()) + 1,
                    most=config.max_positions,
                )
            return tensor

        return order

    @classmethod
    def _bias(cls, moves: Sequence[Reposition]) -> Edit:
        def bias(tensor: Tensor) -> Tensor:
            for move in moves:
                if move.rule in ("reverse", "shuffle"):
                    order = torch.arange(tensor.shape[-1], device=tensor.device)
                    order = order.flip(0) if move.rule == "reverse" else _permutation(len(order), int(move.amount))
                    tensor = tensor[..., order[:, None], order]  # [batch, head, query, key]: without a cache
            return cls._encoding(moves)(tensor)

        return bias

    @staticmethod
    def _encoding(moves: Sequence[Reposition]) -> Edit:
        def encoding(tensor: Tensor) -> Tensor:
            for move in moves:
                if move.rule in ("remove", "scale"):
                    tensor = tensor * float(move.amount if move.rule == "scale" else 0)
            return tensor

        return encoding


def _permutation(length: int, seed: int) -> Tensor:
    """Positions 0 .. length - 1 in an order drawn with the seed: [length]. The same on every machine."""
    return torch.randperm(length, generator=torch.Generator().manual_seed(seed))
