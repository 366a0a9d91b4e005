"""Parts of a pass that can be put into another one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from transformer.interventions.skip import SUB_LAYERS
from transformer.interventions.switch import brief
from transformer.model.tap import Edit, by_stack
from transformer.texts import UserError, any_of
from transformer.tracing.finite import check_numbers
from transformer.tracing.rerun import check_unedited
from transformer.tracing.trace import Trace

PARTS = ("head_outputs", "update", "leaves")


class PatchError(UserError):
    """Two traces that cannot be patched into each other, or a place that they do not have."""


@dataclass(frozen=True)
class Place:
    """A part of a pass. part: of PARTS, by the names of `transformer.model.tap`; sub_layer: its name there, for example
    "decoder.0.cross" (or "cross.0"); head: only of head_outputs, from 0, None: all; token: a row, from 0, None: all;
    other: the row of the other trace that replaces it, None: the same one. Raises PatchError."""

    part: str
    sub_layer: str
    head: int | None = None
    token: int | None = None
    other: int | None = None

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise PatchError("there is no part {part!r} to patch; choose {parts}", part=str(self.part)[:60],
                             parts=any_of(PARTS, self.part))  # fmt: skip
        given = by_stack(self.sub_layer) if isinstance(self.sub_layer, str) else ""
        stack, _, rest = given.partition(".")
        layer, _, sub = rest.partition(".")
        if sub not in SUB_LAYERS.get(stack, ()) or not re.fullmatch(r"0|[1-9]\d{0,3}", layer, re.ASCII):
            raise PatchError(
                "{name!r} is no sub-layer; write encoder.LAYER.PART or decoder.LAYER.PART, with the layer from 0 "
                "and self, ff or, in the decoder, cross as part",
                name=str(self.sub_layer)[:60],
            )
        object.__setattr__(self, "sub_layer", given)
        if self.part == "head_outputs" and sub == "ff":
            raise PatchError("{name} does not exist, because a feed-forward network has no heads; choose update or "
                             "leaves", name=self.name)  # fmt: skip
        for axis in ("head", "token", "other"):
            value = getattr(self, axis)
            if value is not None and (type(value) is not int or value < 0):
                raise PatchError("{axis} cannot be {value}; give an index from 0, or None", axis=axis,
                                 value=brief(value))  # fmt: skip
        if self.part != "head_outputs" and self.head is not None:
            raise PatchError("{name} is of all heads together; leave out the head, or patch head_outputs",
                             name=self.name)  # fmt: skip
        if self.token is None and self.other is not None:
            raise PatchError("other is a row of the other trace; give token, the row that it replaces, too")

    @property
    def name(self) -> str:
        return f"{self.sub_layer}.{self.part}"

    @property
    def read(self) -> int | slice:
        """The rows of the other trace."""
        return slice(None) if self.token is None else self.token if self.other is None else self.other


def check_pair(first: Trace, second: Trace) -> None:
    """Raises PatchError unless both have as many source tokens and as many target tokens."""
    lengths = [(len(one.source_ids), len(one.target_in_ids)) for one in (first, second)]
    if lengths[0] != lengths[1]:
        raise PatchError(
            "the sentences have {source_a} and {source_b} source tokens, {target_a} and {target_b} target tokens; "
            "patching needs two pairs of equal length, so exchange words only for words of as many tokens",
            source_a=lengths[0][0], source_b=lengths[1][0], target_a=lengths[0][1], target_b=lengths[1][1],
        )  # fmt: skip


def check_places(trace: Trace, places: Sequence[Place], of: str = "token") -> None:
    """Raises PatchError for a place that the trace does not have. of: "token", or "other" for the trace whose numbers
    are taken."""
    layers = {"encoder": trace.encoder_self.layers, "decoder": trace.decoder_self.layers}
    for place in places:
        if not isinstance(place, Place):
            raise PatchError("{value} is not a place; write {example}", value=brief(place),
                             example=Place("update", "decoder.0.cross"))  # fmt: skip
        stack, layer, _ = place.sub_layer.split(".")
        if int(layer) >= layers[stack]:
            raise PatchError("{name} asks for layer {layer}; the {stack} has {count}, counted from 0",
                             name=place.name, layer=int(layer), stack=stack, count=layers[stack])  # fmt: skip
        values = tensor_of(trace, place)
        row = place.other if of == "other" and place.other is not None else place.token
        for axis, index in (("head", place.head), ("token", row)):
            count = values.shape[0 if axis == "head" else -2]
            if index is not None and index >= count:
                raise PatchError("{name} has no {axis} {index}; there are {count}, counted from 0",
                                 name=place.name, axis=axis, index=index, count=count)  # fmt: skip


def check_same_model(trace: Trace, other: Trace, places: Sequence[Place]) -> None:
    """Raises PatchError for a place that only one of the traces has, or that has another width in the other, or another
    number of rows where it is all of them."""
    check_places(trace, places)
    check_places(other, places, "other")
    for place in places:
        sizes = [tensor_of(one, place).shape for one in (trace, other)]
        if place.token is None and sizes[0][-2] != sizes[1][-2]:
            raise PatchError(
                "{name} has {first} rows in one trace and {second} in the other; choose rows, for example {example}",
                name=place.name, first=sizes[0][-2], second=sizes[1][-2], example=replace(place, token=1, other=2),
            )  # fmt: skip
        if sizes[0][-1] != sizes[1][-1] or sizes[0][:-2] != sizes[1][:-2]:
            raise PatchError("{name} has the sizes {first} in one trace and {second} in the other; patch traces of one "
                             "model", name=place.name, first=list(sizes[0]), second=list(sizes[1]))  # fmt: skip


def tensor_of(trace: Trace, place: Place) -> Tensor:
    """The part of a trace: [head, row, d_head] or [row, d_model]."""
    stack, layer, sub = place.sub_layer.split(".")
    if sub == "ff":
        return getattr(getattr(trace, f"{stack}_ff"), place.part)[int(layer)]
    kind = "cross" if sub == "cross" else f"{stack}_self"
    return getattr(trace.attention(kind), place.part)[int(layer)]


def patch(places: Sequence[Place], rows: Sequence[int | None], other: Trace) -> Edit:
    """Puts the other trace's numbers at places of one tensor (`check_places`). rows: the row of the batch for each
    place, None: all. A tensor of fewer rows of the decoder gets those that it has."""

    def edit(tensor: Tensor) -> Tensor:
        changed = tensor.clone()
        for place, row in zip(places, rows, strict=True):
            values = tensor_of(other, place).to(changed)
            if place.token is None:
                values = values[..., : changed.shape[-2], :]
            batch = slice(None) if row is None else row
            token = slice(None) if place.token is None else place.token
            if place.part == "head_outputs":
                head = slice(None) if place.head is None else place.head
                changed[batch, head, token] = values[head, place.read]
            else:
                changed[batch, token] = values[place.read]
        return changed

    return edit


def patches(trace: Trace, other: Trace, places: Sequence[Place]) -> Mapping[str, Edit]:
    """Edits that put the other trace's numbers at all of these places. Raises PatchError, EditedError,
    NotFiniteError."""
    check_unedited(trace)
    check_same_model(trace, other, places)
    check_numbers(*(tensor_of(other, place) for place in places))
    named: dict[str, list[Place]] = {}
    for place in places:
        named.setdefault(place.name, []).append(place)
    return {name: patch(same, [None] * len(same), other) for name, same in named.items()}
