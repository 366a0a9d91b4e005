"""What a person can switch in a trained model: frozen, hashable values.

    Scale(1.0)                                  scores are q.k times 1: no scaling (equation 1 without its square root)
    Unmask("causal"), Unmask("padding")         a mask of section 3.2.3 taken off
    Pad(4)                                      four <pad> behind the source
    Hide("source", 2)                           no query sees the third token
    KnockOut(Where("cross", 1, 4))              a head's output set to zero
    Replace("uniform"), Replace("argmax")       weights exchanged: all visible keys alike, or all on the best one

Every value but `Pad` says where: everywhere, one kind of attention, one layer, one head. `Interventions` holds any
number of them. As text, in links and on the command line, each is NAME=VALUE, counted from 1 as people count:

    scaling=off   scaling=0.5@cross.2   causal=off@decoder_self.1   padding=off   pad=4
    hide=source.3   zero=cross.2.5,encoder_self.1   weights=uniform@cross.*.3,argmax@cross.1

A place is KIND, KIND.LAYER or KIND.LAYER.HEAD; "all" is every kind and "*" every layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from reprlib import repr as shown
from typing import ClassVar

from transformer.config import ModelConfig
from transformer.tap import KINDS

FACTORS = (1e-4, 1e3)  # 1 / sqrt(d_k) is 0.011 at the largest d_k a configuration allows
PADS = (1, 64)
MASKS = ("causal", "padding")
MASKED = {"causal": ("decoder_self",), "padding": ("encoder_self", "cross")}  # only the source is ever padded
SIDES = ("source", "target")
KEYS = {"encoder_self": "source", "decoder_self": "target", "cross": "source"}  # the side a kind's keys are of
RULES = ("softmax", "uniform", "argmax")  # by number in `AttentionTrace.rule`
LONGEST = 30_000  # characters of one parameter's text: those of MANY places
MANY = 1_000  # switches in one value


class InterventionError(ValueError):
    """A switch that cannot be set; the message says what arrived, what is allowed, and what to do."""


def _said(value: object) -> str:
    """A value as a message shows it: never long, and never an error of its own."""
    try:
        return shown(value)
    except ValueError:  # Python refuses to write out a whole number of thousands of digits
        return "a whole number of thousands of digits"


def _check_where(where: object) -> None:
    if not isinstance(where, Where):
        raise InterventionError(f"{_said(where)} is no place; give a Where, e.g. Where('cross', 1, 4)")


@dataclass(frozen=True)
class Where:
    """Heads by kind of attention, layer and head, each an index from 0 or None for all of them."""

    kind: str | None = None
    layer: int | None = None
    head: int | None = None

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in KINDS:
            raise InterventionError(f"{shown(self.kind)} is no kind of attention; there are {', '.join(KINDS)}")
        for name in ("layer", "head"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                raise InterventionError(f"{name} is {shown(value)}; an index from 0, or None for all, is allowed")

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
        """The place a text names, e.g. "cross.2.5". Raises InterventionError."""
        found = re.fullmatch(r"(\w+)(?:\.([1-9]\d{0,2}|\*))?(?:\.([1-9]\d{0,2}|\*))?", text, re.ASCII)
        if not found or found[1] not in ("all", *KINDS):
            raise InterventionError(
                f"{shown(text)} names no place; write KIND, KIND.LAYER or KIND.LAYER.HEAD, counted from 1, "
                f"with KIND one of all, {', '.join(KINDS)}"
            )
        numbers = [None if part in (None, "*") else int(part) - 1 for part in found.group(2, 3)]
        return cls(None if found[1] == "all" else found[1], *numbers)


EVERYWHERE = Where()


@dataclass(frozen=True)
class Scale:
    """Scores are q.k times factor, in place of 1 / sqrt(d_k) (equation 1). Factor 1: no scaling."""

    factor: float
    where: Where = EVERYWHERE

    def __post_init__(self) -> None:
        _check_where(self.where)
        low, high = FACTORS
        ok = isinstance(self.factor, int | float) and not isinstance(self.factor, bool)
        if not ok or not low <= self.factor <= high:  # a comparison with NaN is False
            raise InterventionError(
                f"the factor of scaling is {_said(self.factor)}; a number from {low} to {high:,.0f} is allowed, "
                "and 1 switches scaling off"
            )


@dataclass(frozen=True)
class Unmask:
    """A mask taken off: "causal" (decoder self-attention sees the future) or "padding" (<pad> is seen)."""

    mask: str
    where: Where = EVERYWHERE

    def __post_init__(self) -> None:
        _check_where(self.where)
        if self.mask not in MASKS:
            raise InterventionError(f"{_said(self.mask)} is no mask; there are {' and '.join(MASKS)}")
        if self.where.kind is not None and self.where.kind not in MASKED[self.mask]:
            raise InterventionError(
                f"the {self.mask} mask belongs to {' and '.join(MASKED[self.mask])}, and {self.where.kind} was named; "
                "leave the kind out"
            )


@dataclass(frozen=True)
class Pad:
    """The source followed by this many <pad>, so that there is something for the padding mask to hide."""

    tokens: int

    def __post_init__(self) -> None:
        low, high = PADS
        if type(self.tokens) is not int or not low <= self.tokens <= high:
            raise InterventionError(
                f"{_said(self.tokens)} pad tokens are asked for; a whole number from {low} to {high} is allowed"
            )


@dataclass(frozen=True)
class Hide:
    """A token nobody may attend to: its index from 0 in the source, or in what the decoder is fed."""

    side: str
    token: int
    where: Where = EVERYWHERE

    def __post_init__(self) -> None:
        _check_where(self.where)
        if self.side not in SIDES:
            raise InterventionError(f"{_said(self.side)} is no side; there are {' and '.join(SIDES)}")
        if type(self.token) is not int or not 0 <= self.token < 100_000:
            raise InterventionError(f"token {_said(self.token)} cannot be hidden; give its index, from 0")
        if self.where.kind is not None and KEYS[self.where.kind] != self.side:
            raise InterventionError(
                f"{self.where.kind} looks at the {KEYS[self.where.kind]}, so nothing of the {self.side} can be hidden "
                "there; name another kind, or none"
            )


@dataclass(frozen=True)
class KnockOut:
    """Heads whose output, weights times V, is set to zero before W^O."""

    where: Where

    def __post_init__(self) -> None:
        _check_where(self.where)


@dataclass(frozen=True)
class Replace:
    """Weights exchanged after the softmax: "uniform", 1/n over the n visible keys, or "argmax", 1 on the best one."""

    rule: str
    where: Where = EVERYWHERE

    def __post_init__(self) -> None:
        _check_where(self.where)
        if self.rule not in RULES[1:]:
            raise InterventionError(f"{_said(self.rule)} replaces no weights; there are {' and '.join(RULES[1:])}")


Switch = Scale | Unmask | Pad | Hide | KnockOut | Replace
_ORDER = (Scale, Unmask, Pad, Hide, KnockOut, Replace)


def layers_of(config: ModelConfig, kind: str) -> int:
    """Layers that have this kind of attention."""
    return config.encoder_layers if kind == "encoder_self" else config.decoder_layers


@dataclass(frozen=True)
class Interventions:
    """Any switches together. Where two `Scale` or two `Replace` meet in a head, the later one holds, so those keep
    their order; values that differ in the order of others only compare and hash alike."""

    switches: tuple[Switch, ...] = ()

    PARAMS: ClassVar[tuple[str, ...]] = (
        "scaling", "causal", "padding", "pad", "hide", "zero", "weights"
    )  # fmt: skip

    def __post_init__(self) -> None:
        switches = tuple(self.switches)
        wrong = [one for one in switches if not isinstance(one, _ORDER)]
        if wrong:
            raise InterventionError(f"{_said(wrong[0])} is no switch; see transformer.interventions")
        if len(switches) > MANY:
            raise InterventionError(f"{len(switches):,} switches arrived; at most {MANY:,} are allowed")
        pads = [one for one in switches if isinstance(one, Pad)]
        last = {one: number for number, one in enumerate(switches)}  # of equal ones the last place counts
        kept = [one for one in sorted(last, key=last.__getitem__) if not isinstance(one, Pad) or one == pads[-1]]
        fixed = (Unmask, Hide, KnockOut)  # their order means nothing
        kept.sort(key=lambda one: (_ORDER.index(type(one)), str(one) if isinstance(one, fixed) else ""))
        object.__setattr__(self, "switches", tuple(kept))

    def __bool__(self) -> bool:
        return bool(self.switches)

    def __add__(self, other: Interventions | Switch) -> Interventions:
        more = other.switches if isinstance(other, Interventions) else (other,)
        return Interventions((*self.switches, *more))

    def without(self, *sorts: type) -> Interventions:
        """The same without switches of these sorts."""
        return Interventions(tuple(one for one in self.switches if not isinstance(one, sorts)))

    @property
    def pads(self) -> int:
        """How many <pad> follow the source."""
        return next((one.tokens for one in self.switches if isinstance(one, Pad)), 0)

    @property
    def leaks(self) -> bool:
        """Whether any head sees the future."""
        return any(isinstance(one, Unmask) and one.mask == "causal" for one in self.switches)

    def check(self, config: ModelConfig) -> None:
        """Raises InterventionError for a layer or head that the model has not."""
        for one in self.switches:
            if isinstance(one, Pad):
                continue
            where = one.where
            kinds = (where.kind,) if where.kind else KINDS
            if isinstance(one, Unmask):
                kinds = tuple(kind for kind in kinds if kind in MASKED[one.mask])
            elif isinstance(one, Hide):
                kinds = tuple(kind for kind in kinds if KEYS[kind] == one.side)
            layers = max(layers_of(config, kind) for kind in kinds)
            if where.layer is not None and where.layer >= layers:
                raise InterventionError(f"{where} names layer {where.layer + 1}; this model has {layers} there")
            if where.head is not None and where.head >= config.heads:
                raise InterventionError(f"{where} names head {where.head + 1}; this model has {config.heads} a layer")

    # -- as text --------------------------------------------------------------------------------------------------

    def to_params(self) -> dict[str, str]:
        """As links hold it: {"scaling": "off", "zero": "cross.2.5,cross.2.6"}; `parse` reads it back."""
        found: dict[str, list[str]] = {}

        def add(name: str, value: str, where: Where = EVERYWHERE) -> None:
            found.setdefault(name, []).append(value if where == EVERYWHERE else f"{value}@{where}")

        for one in self.switches:
            if isinstance(one, Scale):
                add("scaling", "off" if one.factor == 1 else repr(float(one.factor)), one.where)
            elif isinstance(one, Unmask):
                add(one.mask, "off", one.where)
            elif isinstance(one, Pad):
                add("pad", str(one.tokens))
            elif isinstance(one, Hide):
                add("hide", f"{one.side}.{one.token + 1}", one.where)
            elif isinstance(one, KnockOut):
                add("zero", str(one.where))
            else:
                add("weights", one.rule, one.where)
        return {name: ",".join(values) for name, values in found.items()}

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.to_params().items()) or "none"

    @classmethod
    def parse(cls, texts: Mapping[str, str] | Iterable[str] | str) -> Interventions:
        """The switches of a mapping name -> value, of texts NAME=VALUE, or of one text with blanks between them.

        Raises InterventionError.
        """
        if isinstance(texts, str):
            texts = [] if texts == str(NONE) else texts.split()
        pairs = list(texts.items()) if isinstance(texts, Mapping) else [_pair(text) for text in texts]
        return cls(tuple(one for name, value in pairs for one in _read(name, value)))


NONE = Interventions()


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InterventionError(
            f"{shown(text)} is no switch; write NAME=VALUE, for example scaling=off or zero=cross.2.5"
        )
    return name, value


def _read(name: str, text: str) -> list[Switch]:
    """The switches one parameter asks for."""
    if name not in Interventions.PARAMS:
        raise InterventionError(f"there is no switch {shown(name)}; there are {', '.join(Interventions.PARAMS)}")
    if len(text) > LONGEST:
        raise InterventionError(f"{name} is {len(text):,} characters long; at most {LONGEST:,} are allowed")
    return [_one(name, part.strip()) for part in text.split(",")]


def _one(name: str, text: str) -> Switch:
    if name == "zero":
        return KnockOut(Where.parse(text))
    value, at, place = text.partition("@")
    where = Where.parse(place) if at else EVERYWHERE
    if name == "scaling":
        return Scale(1.0 if value == "off" else _number(value), where)  # type: ignore[arg-type]
    if name in MASKS:
        if value != "off":
            raise InterventionError(f"{name} is {shown(value)}; only off is allowed, it is on without being named")
        return Unmask(name, where)
    if name == "weights":
        return Replace(value, where)
    if name == "pad":
        if at or not _WHOLE.fullmatch(text):
            raise InterventionError(f"pad is {shown(text)}; a whole number from {PADS[0]} to {PADS[1]} is allowed")
        return Pad(int(text))
    side, _, number = value.partition(".")
    if side not in SIDES or not _WHOLE.fullmatch(number) or int(number) == 0:
        raise InterventionError(f"{shown(value)} names no token; write source.N or target.N, counted from 1")
    return Hide(side, int(number) - 1, where)


_WHOLE = re.compile(r"[0-9]{1,6}")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _number(text: str) -> float | str:
    """A number in ASCII; the text itself where it is none, for the message to show."""
    return float(text) if len(text) <= 40 and _DECIMAL.fullmatch(text) else text
