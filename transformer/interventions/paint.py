"""Rows of attention weights set by hand."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.interventions.hide import KEYS
from transformer.interventions.switch import (
    EVERYWHERE,
    HeadSwitch,
    InterventionError,
    SubLayer,
    Where,
    brief,
    is_number,
)
from transformer.model.tap import Edit

MOST = 1_024  # weights of a row
LARGEST = sys.float_info.max
_TEXT = re.compile(r"([1-9][0-9]{0,5})(\+?):([0-9._e+-]{1,12000})")


@dataclass(frozen=True)
class Paint(HeadSwitch):
    """One row of attention, what the query `row` gives each key, replaced after the softmax; it stays a distribution.

    row: index of the query from 0. weights: of the keys from the first one on, not negative; they are divided by their
    sum, and keys behind them get 0. Masked keys keep 0. later: all later rows get the same weights too. where: a kind
    of attention, with or without layer and head. Where two apply to a row, the later one wins.
    """

    row: int
    weights: tuple[float, ...]
    later: bool = False
    where: Where = EVERYWHERE

    PARAMS = ("paint",)
    EXAMPLES = ("paint=2:1_3@cross.1.2", "paint=1+:0.5@decoder_self")
    ATTENTION = False  # painted on the Decoding page, not in the lab
    ORDERED = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.where.kind is None:
            raise InterventionError("painted weights need a kind of attention; write for example paint=2:1_3@cross.1.2")
        if type(self.row) is not int or not 0 <= self.row < 100_000:
            raise InterventionError("row {value} cannot be painted; give its index, from 0", value=brief(self.row))
        given: object = self.weights
        fits = isinstance(given, tuple) and 0 < len(given) <= MOST
        if not fits or not all(is_number(one) and 0 <= one <= LARGEST for one in self.weights):
            raise InterventionError(
                "{value} are not the weights of a row; give 1 to {most} numbers of at least 0",
                value=brief(given),
                most=MOST,
            )
        if not any(self.weights):
            raise InterventionError("the painted row sums to 0; give at least one key a weight")

    @property
    def setting(self) -> str:
        weights = "_".join(f"{weight:.6g}".replace("e+", "e") for weight in self.weights)
        return f"{self.row + 1}{'+' if self.later else ''}:{weights}"

    @classmethod
    def read(cls, setting: str, where: Where, param: str) -> Paint:
        match = _TEXT.fullmatch(setting)
        try:
            weights = tuple(float(part) for part in match[3].split("_")) if match else ()
        except ValueError:
            match = None
        if not match:
            raise InterventionError(
                "{value} is not a painted row; write ROW:WEIGHT_WEIGHT_..., for example 2:1_3, and 2+:1_3 for all "
                "later rows too",
                value=brief(setting),
            )
        return cls(int(match[1]) - 1, weights, bool(match[2]), where)

    def check_lengths(self, lengths: Mapping[str, int]) -> None:
        keys, queries = KEYS[str(self.where.kind)], "source" if self.where.kind == "encoder_self" else "target"
        if len(self.weights) > lengths.get(keys, len(self.weights)):
            raise InterventionError(
                "the painted row has {weights} weights, but the {side} has {count} tokens",
                weights=len(self.weights), side=keys, count=lengths[keys],
            )  # fmt: skip
        if self.row >= lengths.get(queries, self.row + 1):
            raise InterventionError(
                "row {row} cannot be painted; the {side} has {count} tokens",
                row=self.row + 1, side=queries, count=lengths[queries],
            )  # fmt: skip

    @property
    def sentence_group(self) -> tuple[int, ...]:
        return (0,)

    @property
    def replays(self) -> bool:
        """A cached step has only the newest row, so it does not know which one that is."""
        return True

    @classmethod
    def edit_heads(cls, heads: Sequence[Sequence[Paint]], sub_layer: SubLayer) -> dict[str, Edit]:
        before: dict[str, Tensor] = {}

        def numbers(switch: Paint, keys: int) -> list[float]:
            """The weights of so many keys, times a power of 2: exact, and below 1, so that float32 holds the sum."""
            exponent = math.frexp(max(switch.weights))[1]
            return [math.ldexp(weight, -exponent) for weight in switch.weights[:keys]]

        def mask(tensor: Tensor) -> Tensor:
            before["mask"] = tensor
            return tensor

        def weights(tensor: Tensor) -> Tensor:
            queries, keys = tensor.shape[-2:]
            painted = tensor.clone()
            for head, switches in enumerate(heads):
                for switch in switches:
                    rows = range(switch.row, queries if switch.later else min(switch.row + 1, queries))
                    row = tensor.new_zeros(keys)
                    count = min(len(switch.weights), keys)
                    row[:count] = torch.tensor(numbers(switch, count), dtype=tensor.dtype)
                    for query in rows:
                        visible = row * before["mask"][..., head, query, :]
                        total = visible.sum(-1, keepdim=True)
                        if not bool((total > 0).all()):
                            raise InterventionError(
                                "all keys with a painted weight are masked in row {row} of {where}; give a visible key "
                                "a weight",
                                row=query + 1,
                                where=switch.where,
                            )
                        painted[..., head, query, :] = visible / total
            return painted

        return {"mask": mask, "weights": weights}
