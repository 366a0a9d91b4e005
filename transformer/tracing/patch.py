"""Parts of a pass that can be put into another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from transformer.model.tap import Edit
from transformer.texts import UserError
from transformer.tracing.trace import Trace

PARTS = ("head_outputs", "update", "leaves")


class PatchError(UserError):
    """Two traces that cannot be patched into each other."""


@dataclass(frozen=True)
class Place:
    """A part of a pass. part: of PARTS, by the names of `transformer.model.tap`; sub_layer: its name there, for example
    "decoder.0.cross"; head: only of head_outputs, from 0, None: all; token: a row, from 0, None: all."""

    part: str
    sub_layer: str
    head: int | None = None
    token: int | None = None

    @property
    def name(self) -> str:
        return f"{self.sub_layer}.{self.part}"


def check_pair(first: Trace, second: Trace) -> None:
    """Raises PatchError unless both have as many source tokens and as many target tokens."""
    lengths = [(len(one.source_ids), len(one.target_in_ids)) for one in (first, second)]
    if lengths[0] != lengths[1]:
        raise PatchError(
            "the sentences have {source_a} and {source_b} source tokens, {target_a} and {target_b} target tokens; "
            "patching needs two pairs of equal length",
            source_a=lengths[0][0], source_b=lengths[1][0], target_a=lengths[0][1], target_b=lengths[1][1],
        )  # fmt: skip


def tensor_of(trace: Trace, place: Place) -> Tensor:
    """The part of a trace: [head, row, d_head] or [row, d_model]."""
    stack, layer, sub = place.sub_layer.split(".")
    if sub == "ff":
        return getattr(getattr(trace, f"{stack}_ff"), place.part)[int(layer)]
    kind = "cross" if sub == "cross" else f"{stack}_self"
    return getattr(trace.attention(kind), place.part)[int(layer)]


def patch(places: Sequence[Place], rows: Sequence[int | None], other: Trace) -> Edit:
    """Puts the other trace's numbers at places of one tensor. rows: the row of the batch for each place, None: all."""

    def edit(tensor: Tensor) -> Tensor:
        changed = tensor.clone()
        for place, row in zip(places, rows, strict=True):
            values = tensor_of(other, place).to(changed)
            batch = slice(None) if row is None else row
            token = slice(None) if place.token is None else place.token
            if place.part == "head_outputs":
                head = slice(None) if place.head is None else place.head
                changed[batch, head, token] = values[head, token]
            else:
                changed[batch, token] = values[token]
        return changed

    return edit


def patches(trace: Trace, other: Trace, places: Sequence[Place]) -> Mapping[str, Edit]:
    """Edits that put the other trace's numbers at all of these places. Raises PatchError."""
    check_pair(trace, other)
    named: dict[str, list[Place]] = {}
    for place in places:
        named.setdefault(place.name, []).append(place)
    return {name: patch(same, [None] * len(same), other) for name, same in named.items()}
