"""What all switches share: the base classes, and `Where` for heads."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from transformer.model.config import ModelConfig
from transformer.model.tap import KINDS, STACKS, Edit, by_kind, scope
from transformer.texts import N_, UserError, _, any_of


class InterventionError(UserError):
    """A switch that cannot be set; the message says what was given, what is allowed, and what to do."""


def brief(value: object) -> str:
    """A value shortened for a message; never raises an error itself."""
    try:
        return shortened(value)
    except ValueError:  # Python does not print a whole number of thousands of digits
        return _("a whole number of thousands of digits")


def unknown(text: str, value: object, names: Sequence[str]) -> InterventionError:
    """The error for a value that is not in a list of names. text: with {value} and {names}."""
    return InterventionError(text, value=brief(value), names=any_of(names, value))


_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"[0-9]{1,6}")


def parse_number(text: str) -> Any:
    """A number in ASCII; otherwise the text itself, to be shown in the message."""
    return float(text) if len(text) <= 40 and _DECIMAL.fullmatch(text) else text


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def layers_of(config: ModelConfig, kind: str) -> int:
    """How many layers have this kind of attention, or are in this stack."""
    return config.encoder_layers if kind in ("encoder_self", "encoder") else config.decoder_layers


@dataclass(frozen=True)
class Where:
    """Heads by kind of attention, layer and head, each an index from 0 or None for all of them. The kind may be the
    name of a sub-layer in `transformer.model.tap`: Where("decoder.1.cross", head=4) is Where("cross", 1, 4)."""

    kind: str | None = None
    layer: int | None = None
    head: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.kind, str) and (found := re.fullmatch(r"(\w+)\.(\d{1,3})", by_kind(self.kind), re.ASCII)):
            if self.layer is not None:
                raise InterventionError(
                    "{kind} has its layer in its name, so leave out layer={layer}",
                    kind=self.kind, layer=brief(self.layer),
                )  # fmt: skip
            object.__setattr__(self, "kind", found[1])
            object.__setattr__(self, "layer", int(found[2]))
        if self.kind is not None and self.kind not in KINDS:
            raise unknown(N_("unknown attention kind {value}; choose {names}"), self.kind, KINDS)
        for name in ("layer", "head"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                raise InterventionError(
                    "{name} cannot be {value}; give an index from 0, or None for all", name=name, value=brief(value)
                )

    def covers(self, kind: str, layer: int, head: int) -> bool:
        return self.kind in (None, kind) and self.layer in (None, layer) and self.head in (None, head)

    def __str__(self) -> str:
        layer = "*" if self.layer is None else str(self.layer + 1)
        parts = [self.kind or "all"]
        if self.head is not None:
            parts += [layer, str(self.head + 1)]
        elif self.layer is not None:
            parts += [layer]
        return ".".join(parts)

    @classmethod
    def parse(cls, text: str) -> Where:
        """The heads that a text names, e.g. "cross.2.5", or "decoder.2.cross.5". Raises InterventionError."""
        match = re.fullmatch(r"(\w+)(?:\.([1-9]\d{0,2}|\*))?(?:\.([1-9]\d{0,2}|\*))?", by_kind(text), re.ASCII)
        if not match or match[1] not in ("all", *KINDS):
            raise InterventionError(
                "{value} does not name heads; write KIND, KIND.LAYER or KIND.LAYER.HEAD, counted from 1; KIND is "
                "{kinds}",
                value=brief(text),
                kinds=any_of(("all", *KINDS), text.partition(".")[0]),
            )
        numbers = [None if part in (None, "*") else int(part) - 1 for part in match.group(2, 3)]
        return cls(None if match[1] == "all" else match[1], *numbers)


EVERYWHERE = Where()


# Head outputs of other sentences: (kind of attention, layer) -> [head, row, d_head].
HeadOutputs = Mapping[tuple[str, int], Tensor]
Wanted = int | tuple[str, str] | None  # seed of a sentence pair, or a pair ("": the model's translation), or the mean
Reference = Callable[[Wanted], HeadOutputs]


def no_reference(wanted: Wanted) -> HeadOutputs:
    """For a network without tokenizer. Raises InterventionError."""
    raise InterventionError(
        "the switches mean and resample need sentences; use them with a loaded checkpoint, not with the network alone"
    )


class Switch(ABC):
    """One change to a trained model.

    A switch is a frozen dataclass with its fields and their limits (`__post_init__`), its text form, its check against
    a model, and its edits of a pass. `transformer.interventions.sets.SWITCHES` lists all of them.
    """

    PARAMS: ClassVar[tuple[str, ...]]  # names in links and on the command line
    EXAMPLES: ClassVar[tuple[str, ...]]  # one of each text form; they fit a model of 2 layers with 2 heads
    ATTENTION: ClassVar[bool] = False  # the lab has a card for it
    ORDERED: ClassVar[bool] = False  # the order of two of them may matter
    SINGLE: ClassVar[bool] = False  # only the last one counts
    BARE: ClassVar[bool] = False  # its value is a Where and nothing else
    SETTINGS: ClassVar[tuple[str, ...]] = ()  # all values without the heads, if they are few

    # -- as text: PARAM=VALUE, counted from 1 ---------------------------------------------------------------------

    @property
    def param(self) -> str:
        return self.PARAMS[0]

    @property
    @abstractmethod
    def value(self) -> str:
        """What `parse` reads back."""

    @classmethod
    @abstractmethod
    def parse(cls, text: str, param: str = "") -> Self:
        """The switch of a value without commas. Raises InterventionError."""

    @classmethod
    def kinds_of(cls, param: str) -> tuple[str, ...]:
        """Kinds of attention allowed with this parameter."""
        return ()

    # -- what it does -----------------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def edits(cls, switches: Sequence[Self], config: ModelConfig, reference: Reference) -> dict[str, Edit]:
        """What all switches of this class together change in one pass, by the names of `transformer.model.tap`.

        reference: head outputs of other sentences, without switches; it may raise InterventionError."""

    def check(self, config: ModelConfig) -> None:  # noqa: B027  most need none
        """Raises InterventionError if the model lacks what the switch names."""

    @classmethod
    def check_all(cls, switches: Sequence[Self], config: ModelConfig) -> None:
        """The check of all switches of this class together."""
        for switch in switches:
            switch.check(config)

    def check_lengths(self, lengths: Mapping[str, int]) -> None:  # noqa: B027  most need none
        """Raises InterventionError for a token that a side lacks. lengths: side -> number of tokens."""

    @property
    def sentence_group(self) -> tuple[int, ...] | None:
        """A switch may not fit every sentence; then all of its group are left out, smaller groups first. None: it fits
        all."""
        return None

    @property
    def leaks(self) -> bool:
        """Whether a head sees future tokens."""
        return False

    @property
    def replays(self) -> bool:
        """Whether later tokens change what earlier steps computed, so that decoding cannot use its cache."""
        return self.leaks


class SubLayer(NamedTuple):
    """One sub-layer of attention."""

    kind: str
    layer: int
    config: ModelConfig


class HeadSwitch(Switch):
    """A switch of attention heads: all, or those of one kind of attention, one layer, or one head."""

    ATTENTION = True

    @classmethod
    def kinds_of(cls, param: str) -> tuple[str, ...]:
        return KINDS

    where: Where

    def __post_init__(self) -> None:
        if not isinstance(self.where, Where):
            raise InterventionError(
                "{value} does not name heads; give a Where, for example Where('cross', 1, 4)", value=brief(self.where)
            )

    @property
    def kinds(self) -> tuple[str, ...]:
        return self.kinds_of(self.param)

    def reaches(self, kind: str, layer: int, head: int) -> bool:
        return kind in self.kinds and self.where.covers(kind, layer, head)

    def check(self, config: ModelConfig) -> None:
        where = self.where
        layers = max(layers_of(config, kind) for kind in self.kinds if where.kind in (None, kind))
        if where.layer is not None and where.layer >= layers:
            raise InterventionError(
                "{where} asks for layer {layer}, but this model has {layers} there",
                where=where,
                layer=where.layer + 1,
                layers=layers,
            )
        if where.head is not None and where.head >= config.heads:
            raise InterventionError(
                "{where} asks for head {head}, but this model has {heads} per layer",
                where=where,
                head=where.head + 1,
                heads=config.heads,
            )

    @property
    def setting(self) -> str:
        """The value without the heads."""
        return ""

    @property
    def value(self) -> str:
        if self.BARE:
            return str(self.where)
        return self.setting if self.where == EVERYWHERE else f"{self.setting}@{self.where}"

    @classmethod
    def parse(cls, text: str, param: str = "") -> Self:
        if cls.BARE:
            return cls.read("", Where.parse(text), param)
        setting, has_place, heads = text.partition("@")
        return cls.read(setting, Where.parse(heads) if has_place else EVERYWHERE, param)

    @classmethod
    @abstractmethod
    def read(cls, setting: str, where: Where, param: str) -> Self:
        """The switch of a setting for these heads. Raises InterventionError."""

    @classmethod
    def by_head(cls, switches: Sequence[Switch], sub_layer: SubLayer) -> list[list[Self]]:
        """For every head of a sub-layer, the switches of this class that reach it."""
        of_class = [switch for switch in switches if isinstance(switch, cls)]
        return [
            [switch for switch in of_class if switch.reaches(sub_layer.kind, sub_layer.layer, head)]
            for head in range(sub_layer.config.heads)
        ]

    @classmethod
    def scales(cls, heads: Sequence[Sequence[Self]], before: Sequence[float]) -> list[float]:
        """The factors of the scores q.k of every head, given the factors before these switches."""
        return list(before)

    @classmethod
    def reached(cls, switches: Sequence[Switch], config: ModelConfig) -> Iterator[tuple[SubLayer, list[list[Self]]]]:
        """Every sub-layer that these switches reach, and for each of its heads the switches that do."""
        for kind in KINDS:
            for layer in range(layers_of(config, kind)):
                sub_layer = SubLayer(kind, layer, config)
                heads = cls.by_head(switches, sub_layer)
                if any(heads):
                    yield sub_layer, heads

    @classmethod
    def edits(cls, switches: Sequence[Self], config: ModelConfig, reference: Reference) -> dict[str, Edit]:
        return {
            scope(sub_layer.kind, sub_layer.layer) + name: edit
            for sub_layer, heads in cls.reached(switches, config)
            for name, edit in cls.edit_heads(heads, sub_layer).items()
        }

    @classmethod
    def edit_heads(cls, heads: Sequence[Sequence[Self]], sub_layer: SubLayer) -> dict[str, Edit]:
        """The edits of one sub-layer by the names of its tensors. heads: for every head, the switches that reach it. A
        switch that needs more than one sub-layer overrides `edits`."""
        return {}


class OffTexts(NamedTuple):
    """How a switch NAME=off is called. words: in a sentence; words_in: of some {heads}. title: of its card in the
    lab. about: what it takes away, in one or two sentences."""

    words: str
    words_in: str
    title: str
    about: str


class OffSwitch(HeadSwitch):
    """A switch that takes something away from heads: its setting is always "off". Pages, the browser and the card in
    the lab call it as its texts do."""

    SETTINGS = ("off",)
    TEXTS: ClassVar[tuple[OffTexts, ...]]  # of each of PARAMS

    @classmethod
    def texts(cls) -> dict[str, str]:
        """Name in `transformer.view.shared_texts` -> text."""
        names = ("{}", "{}_in", "lab_{}", "lab_{}_title")
        pairs = zip(cls.PARAMS, cls.TEXTS, strict=True)
        return {name.format(param): text for param, texts in pairs for name, text in zip(names, texts, strict=True)}

    @property
    def setting(self) -> str:
        return "off"

    @classmethod
    def read(cls, setting: str, where: Where, param: str) -> Self:
        if setting not in cls.SETTINGS:
            raise InterventionError(
                "{param} cannot be {value}; only off is allowed, and without this switch nothing changes",
                param=param,
                value=brief(setting),
            )
        return cls.off(param, where)

    @classmethod
    def off(cls, param: str, where: Where) -> Self:
        """The switch for these heads."""
        return cls(where)  # type: ignore[call-arg]


def per_head(values: Sequence[object], like: Tensor) -> Tensor:
    """One value per head -> [head, 1, 1], on the device of `like`."""
    return torch.tensor(values, device=like.device)[:, None, None]


class LayerSwitch(Switch):
    """A switch of a layer of one stack."""

    stack: str
    layer: int

    def __post_init__(self) -> None:
        if self.stack not in STACKS:
            raise unknown(N_("unknown stack {value}; choose {names}"), self.stack, STACKS)
        if type(self.layer) is not int or self.layer < 0:
            raise InterventionError("layer cannot be {value}; give an index from 0", value=brief(self.layer))

    def check(self, config: ModelConfig) -> None:
        layers = layers_of(config, self.stack)
        if self.layer >= layers:
            raise InterventionError(
                "{switch} asks for layer {layer}, but this model has {layers} there",
                switch=self,
                layer=self.layer + 1,
                layers=layers,
            )

    def __str__(self) -> str:
        return self.value
