"""What a person can switch in a trained model: frozen, hashable values.

    Scale(1.0)                                  scores are q.k times 1: no scaling (equation 1 without its square root)
    Unmask("causal"), Unmask("padding")         a mask of section 3.2.3 taken off
    Pad(4)                                      four <pad> behind the source
    Hide("source", 2)                           no query sees the third token
    KnockOut(Where("cross", 1, 4))              a head's output set to zero
    Replace("uniform"), Replace("argmax")       weights exchanged: all visible keys alike, or all on the best one
    Reposition("remove", "source")              position encodings taken out, shuffled, reversed, shifted or scaled
    Skip("encoder", 1, "ff")                    a whole sub-layer that returns nothing
    Silence("decoder", 0, 16)                   a neuron of a feed-forward network whose activation is 0

Those of attention but `Pad` say where: everywhere, one kind of attention, one layer, one head. `Interventions` holds
any number of them. As text, in links and on the command line, each is NAME=VALUE, counted from 1 as people count:

    scaling=off   scaling=0.5@cross.2   causal=off@decoder_self.1   padding=off   pad=4
    hide=source.3   zero=cross.2.5,encoder_self.1   weights=uniform@cross.*.3,argmax@cross.1
    positions=remove@source,shift.5@target   skip=encoder.2.ff   neurons=decoder.1.17

A place is KIND, KIND.LAYER or KIND.LAYER.HEAD; "all" is every kind and "*" every layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from reprlib import repr as shown
from typing import ClassVar

from transformer.interventions.switches import (
    EVERYWHERE,
    KEYS,
    MASKED,
    MASKS,
    PADS,
    RULES,
    SUB_LAYERS,
    Hide,
    InterventionError,
    KnockOut,
    Pad,
    Replace,
    Reposition,
    Scale,
    Silence,
    Skip,
    Unmask,
    Where,
    layers_of,
    number_of,
    said,
)
from transformer.model.config import ModelConfig
from transformer.model.tap import KINDS, SIDES

__all__ = [
    "ATTENTION", "EVERYWHERE", "KEYS", "MANY", "MASKED", "MASKS", "NONE", "PADS", "RULES", "SUB_LAYERS", "Hide",
    "InterventionError", "Interventions", "KnockOut", "Pad", "Replace", "Reposition", "Scale", "Silence", "Skip",
    "Switch", "Unmask", "Where", "layers_of",
]  # fmt: skip

LONGEST = 30_000  # characters of one parameter's text: those of MANY places
MANY = 1_000  # switches in one value

Switch = Scale | Unmask | Pad | Hide | KnockOut | Replace | Reposition | Skip | Silence
ATTENTION = (Scale, Unmask, Pad, Hide, KnockOut, Replace)
_ORDER = (*ATTENTION, Reposition, Skip, Silence)


@dataclass(frozen=True)
class Interventions:
    """Any switches together. Where two `Scale` or two `Replace` meet in a head, the later one holds, and a `Reposition`
    changes what the one before left, so those keep their order; values that differ in the order of others only compare
    and hash alike."""

    switches: tuple[Switch, ...] = ()

    PARAMS: ClassVar[tuple[str, ...]] = (
        "scaling", "causal", "padding", "pad", "hide", "zero", "weights", "positions", "skip", "neurons"
    )  # fmt: skip

    def __post_init__(self) -> None:
        switches = tuple(self.switches)
        wrong = [one for one in switches if not isinstance(one, _ORDER)]
        if wrong:
            raise InterventionError(f"{said(wrong[0])} is no switch; see transformer.interventions.sets")
        if len(switches) > MANY:
            raise InterventionError(f"{len(switches):,} switches arrived; at most {MANY:,} are allowed")
        pads = [one for one in switches if isinstance(one, Pad)]
        last = {one: number for number, one in enumerate(switches)}  # of equal ones the last place counts
        kept = [one for one in sorted(last, key=last.__getitem__) if not isinstance(one, Pad) or one == pads[-1]]
        fixed = (Unmask, Hide, KnockOut, Skip, Silence)  # their order means nothing
        kept.sort(key=lambda one: (_ORDER.index(type(one)), str(one) if isinstance(one, fixed) else ""))
        object.__setattr__(self, "switches", tuple(kept))

    def __bool__(self) -> bool:
        return bool(self.switches)

    def __add__(self, other: Interventions | Switch) -> Interventions:
        more = other.switches if isinstance(other, Interventions) else (other,)
        return Interventions((*self.switches, *more))

    def only(self, *sorts: type) -> Interventions:
        """The switches of these sorts."""
        return Interventions(tuple(one for one in self.switches if isinstance(one, sorts)))

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

    @property
    def replays(self) -> bool:
        """Whether a token's place in the order depends on how many follow, so that decoding must begin anew with every
        step as it must when the future is seen."""
        return self.leaks or any(
            isinstance(one, Reposition) and one.rule in ("reverse", "shuffle") and one.covers("target")
            for one in self.switches
        )

    def shift(self, side: str) -> int:
        """By how many positions the encodings of a side are shifted."""
        moves = (one for one in self.switches if isinstance(one, Reposition) and one.covers(side))
        return sum(int(one.amount) for one in moves if one.rule == "shift")

    def check(self, config: ModelConfig) -> None:
        """Raises InterventionError for a layer, head, neuron or position that the model has not."""
        for side in SIDES:
            if self.shift(side) >= config.max_positions:
                raise InterventionError(
                    f"the positions of the {side} cannot be shifted by {self.shift(side):,}; this model has "
                    f"{config.max_positions:,}"
                )
        for one in self.switches:
            if isinstance(one, Skip | Silence):
                one.check(config)
            if isinstance(one, Pad | Reposition | Skip | Silence):
                continue
            where = one.where
            kinds: tuple[str, ...] = (where.kind,) if where.kind else KINDS
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
            elif isinstance(one, Reposition | Skip | Silence):
                add(_PLAIN[type(one)], str(one))
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


_PLAIN: dict[type[Reposition | Skip | Silence], str] = {Reposition: "positions", Skip: "skip", Silence: "neurons"}


def _one(name: str, text: str) -> Switch:
    for sort, param in _PLAIN.items():
        if name == param:
            return sort.parse(text)
    if name == "zero":
        return KnockOut(Where.parse(text))
    value, at, place = text.partition("@")
    where = Where.parse(place) if at else EVERYWHERE
    if name == "scaling":
        return Scale(1.0 if value == "off" else number_of(value), where)  # type: ignore[arg-type]
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
