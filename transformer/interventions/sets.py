"""What a person can switch in a trained model, any number of switches together: frozen, hashable values.

    Scale(1.0)                                  scores are q.k times 1: no scaling (equation 1 without its square root)
    Unmask("causal"), Unmask("padding")         a mask of section 3.2.3 taken off
    Pad(4)                                      four <pad> behind the source
    Hide("source", 2)                           no query sees the third token
    KnockOut(Where("cross", 1, 4))              a head's output set to zero
    Replace("uniform"), Replace("argmax")       weights exchanged: all visible keys alike, or all on the best one
    Reposition("remove", "source")              position encodings taken out, shuffled, reversed, shifted or scaled
    Skip("encoder", 1, "ff")                    a whole sub-layer that returns nothing
    Silence("decoder", 0, 16)                   a neuron of a feed-forward network whose activation is 0

Those of heads say where: everywhere, one kind of attention, one layer, one head. As text, in links and on the command
line, each is NAME=VALUE, counted from 1 as people count:

    scaling=off   scaling=0.5@cross.2   causal=off@decoder_self.1   padding=off   pad=4
    hide=source.3   zero=cross.2.5,encoder_self.1   weights=uniform@cross.*.3,argmax@cross.1
    positions=remove@source,shift.5@target   skip=encoder.2.ff   neurons=decoder.1.17

A place is KIND, KIND.LAYER or KIND.LAYER.HEAD; "all" is every kind and "*" every layer. Each switch is a class in a
module of its own beside this one; a new one is listed in SWITCHES here, and in `pages.components.switch_words`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

from transformer.interventions.hide import KEYS, Hide
from transformer.interventions.knock_out import KnockOut, silent_layers
from transformer.interventions.pad import PADS, Pad
from transformer.interventions.replace import Replace
from transformer.interventions.reposition import Reposition
from transformer.interventions.scale import Scale
from transformer.interventions.silence import Silence
from transformer.interventions.skip import SUB_LAYERS, Skip
from transformer.interventions.switch import (
    EVERYWHERE,
    HeadSwitch,
    InterventionError,
    SubLayer,
    Switch,
    Where,
    brief,
    layers_of,
    unknown,
)
from transformer.interventions.unmask import MASKED, Unmask
from transformer.model.config import ModelConfig
from transformer.texts import N_

__all__ = [
    "ATTENTION", "EVERYWHERE", "KEYS", "MANY", "MASKED", "NONE", "PADS", "SUB_LAYERS", "SWITCHES", "HeadSwitch", "Hide",
    "InterventionError", "Interventions", "KnockOut", "Pad", "Replace", "Reposition", "Scale", "Silence", "Skip",
    "SubLayer", "Switch", "Unmask", "Where", "forms", "layers_of", "silent_layers",
]  # fmt: skip

LONGEST = 30_000  # characters of one parameter's text: those of MANY places
MANY = 1_000  # switches in one value

# All switches. Where two edit one tensor, the one listed first acts first: `Replace` goes by masks and scores as all
# others leave them.
SWITCHES: tuple[type[Switch], ...] = (Scale, Unmask, Pad, Hide, KnockOut, Replace, Reposition, Skip, Silence)
ATTENTION = tuple(sort for sort in SWITCHES if sort.ATTENTION)
_BY_PARAM = {param: sort for sort in SWITCHES for param in sort.PARAMS}


def forms() -> dict[str, dict[str, Any]]:
    """How the switches of ATTENTION are written, for the lab in the browser: name in links -> the kinds of attention
    that can be named with it, and whether a place is its whole value."""
    return {param: {"kinds": sort.kinds_of(param), "bare": sort.BARE} for sort in ATTENTION for param in sort.PARAMS}


@dataclass(frozen=True)
class Interventions:
    """Any switches together. Where two `Scale` or two `Replace` meet in a head, the later one holds, and a `Reposition`
    changes what the one before left, so those keep their order; values that differ in the order of others only compare
    and hash alike."""

    switches: tuple[Switch, ...] = ()

    PARAMS: ClassVar[tuple[str, ...]] = tuple(_BY_PARAM)

    def __post_init__(self) -> None:
        switches = tuple(self.switches)
        for one in switches:
            if type(one) not in SWITCHES:
                raise InterventionError("{value} is not a switch; see transformer.interventions.sets", value=brief(one))
        if len(switches) > MANY:
            raise InterventionError(
                "these are {count:,} switches; at most {most:,} are allowed", count=len(switches), most=MANY
            )
        last = {one: number for number, one in enumerate(switches)}  # of equal ones the last place counts
        kept = sorted(last, key=last.__getitem__)
        single = {type(one): one for one in kept if one.SINGLE}
        kept = [one for one in kept if single.get(type(one), one) == one]
        kept.sort(key=lambda one: (SWITCHES.index(type(one)), "" if one.ORDERED else str(one)))
        object.__setattr__(self, "switches", tuple(kept))

    def __bool__(self) -> bool:
        return bool(self.switches)

    def __add__(self, other: Interventions | Switch) -> Interventions:
        more = other.switches if isinstance(other, Interventions) else (other,)
        return Interventions((*self.switches, *more))

    def only(self, *sorts: type) -> Interventions:
        """The switches of these classes."""
        return Interventions(tuple(one for one in self.switches if isinstance(one, sorts)))

    def without(self, *sorts: type) -> Interventions:
        """The same without switches of these classes."""
        return Interventions(tuple(one for one in self.switches if not isinstance(one, sorts)))

    def by_class(self) -> Iterator[tuple[type[Switch], Sequence[Switch]]]:
        """Every class with its switches, in the order of SWITCHES."""
        return ((sort, tuple(found)) for sort, found in groupby(self.switches, type))

    @property
    def pads(self) -> int:
        """How many <pad> follow the source."""
        return next((one.tokens for one in self.switches if isinstance(one, Pad)), 0)

    @property
    def leaks(self) -> bool:
        """Whether any head sees the future."""
        return any(one.leaks for one in self.switches)

    @property
    def replays(self) -> bool:
        """Whether later tokens change what earlier steps computed, so that every step of decoding must begin anew."""
        return any(one.replays for one in self.switches)

    def shift(self, side: str) -> int:
        """By how many positions the encodings of a side are shifted."""
        return Reposition.shift(self.switches, side)

    def scales(self, at: SubLayer) -> list[float]:
        """What the scores q.k of every head of a sub-layer are multiplied by."""
        found = [at.config.scale] * at.config.heads
        for sort, switches in self.by_class():
            if issubclass(sort, HeadSwitch):
                found = sort.scales(sort.by_head(switches, at), found)
        return found

    def check(self, config: ModelConfig) -> None:
        """Raises InterventionError for a layer, head, neuron or position that the model has not."""
        for sort, switches in self.by_class():
            sort.check_all(switches, config)

    def check_lengths(self, **lengths: int) -> None:
        """Raises InterventionError for a token that a side has not. lengths: side -> tokens."""
        for one in self.switches:
            one.check_lengths(lengths)

    # -- as text --------------------------------------------------------------------------------------------------

    def to_params(self) -> dict[str, str]:
        """As links hold it: {"scaling": "off", "zero": "cross.2.5,cross.2.6"}; `parse` reads it back."""
        found: dict[str, list[str]] = {}
        for one in self.switches:
            found.setdefault(one.param, []).append(one.value)
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
            "{value} is not a switch; write NAME=VALUE, for example scaling=off or zero=cross.2.5", value=brief(text)
        )
    return name, value


def _read(name: str, text: str) -> list[Switch]:
    """The switches one parameter asks for."""
    if name not in _BY_PARAM:
        raise unknown(N_("unknown switch {value}; choose {names}"), name, Interventions.PARAMS)
    if len(text) > LONGEST:
        raise InterventionError(
            "the value of {name} has {count:,} characters; at most {longest:,} are allowed",
            name=name,
            count=len(text),
            longest=LONGEST,
        )
    return [_BY_PARAM[name].parse(part.strip(), name) for part in text.split(",")]
