"""All switches for a trained model, and any number of them together: frozen, hashable values.

    Scale(1.0)                                  scores are q.k times 1: no scaling (equation 1 without its square root)
    Unmask("causal"), Unmask("padding")         a mask of section 3.2.3 switched off
    Unbias(Where("encoder_self"))               scores without the bias of relative positions
    Pad(4)                                      four <pad> after the source
    Hide("source", 2)                           no query sees the third token
    KnockOut(Where("cross", 1, 4))              a head's output set to zero
    Mean(Where("cross", 1, 4))                  a head's output set to its mean over reference sentences
    Resample("A dog.", Where("cross", 1, 4))    a head's output taken from another sentence
    Replace("uniform"), Replace("argmax")       weights replaced: equal for all visible keys, or all on the best one
    Paint(1, (1, 4), False, Where("cross", 1))  one row of weights set by hand
    Reposition("remove", "source")              position encodings removed, shuffled, reversed, shifted or scaled
    Skip("encoder", 1, "ff")                    a whole sub-layer that returns 0
    Silence("decoder", 0, 16)                   a feed-forward neuron with activation 0

Switches of heads say where: all heads, one kind of attention, one layer, one head. In links and on the command
line, each is written NAME=VALUE, counted from 1:

    scaling=off   scaling=0.5@cross.2   causal=off@decoder_self.1   padding=off   pad=4
    hide=source.3   zero=cross.2.5,encoder_self.1   weights=uniform@cross.*.3,argmax@cross.1
    positions=remove@source,shift.5@target   skip=encoder.2.ff   neurons=decoder.1.17   paint=2:1_4@cross.2.5
    mean=cross.2.5   resample=text.A+dog.@cross.2.5   resample=7@cross.2.5   bias=off@encoder_self.2

Heads are KIND, KIND.LAYER or KIND.LAYER.HEAD; "all" is every kind and "*" every layer. A sub-layer may also have its
name in `transformer.model.tap`: zero=decoder.2.cross.5 is zero=cross.2.5, and skip=cross.1 is skip=decoder.1.cross.
Each switch is a class in its
own module, listed in SWITCHES here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

from transformer.checks import expect
from transformer.interventions.hide import KEYS, Hide
from transformer.interventions.knock_out import KnockOut
from transformer.interventions.mean import Mean
from transformer.interventions.pad import PADS, Pad
from transformer.interventions.paint import Paint
from transformer.interventions.replace import Replace
from transformer.interventions.reposition import Reposition
from transformer.interventions.resample import Resample
from transformer.interventions.scale import Scale
from transformer.interventions.silence import Silence
from transformer.interventions.skip import SUB_LAYERS, Skip
from transformer.interventions.substitute import replaced
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
from transformer.interventions.unbias import Unbias
from transformer.interventions.unmask import MASKED, Unmask
from transformer.model.config import ModelConfig
from transformer.texts import N_, Text

__all__ = [
    "ATTENTION", "EVERYWHERE", "KEYS", "MANY", "MASKED", "NONE", "PADS", "SUB_LAYERS", "SWITCHES", "HeadSwitch", "Hide",
    "InterventionError", "Interventions", "KnockOut", "Mean", "Pad", "Paint", "Replace", "Reposition", "Resample",
    "Scale", "Silence", "Skip", "SubLayer", "Switch", "Unbias", "Unmask", "Where", "forms", "layers_of", "replaced",
]  # fmt: skip

LONGEST = 30_000  # most characters of one parameter, enough for MANY switches
MANY = 1_000  # most switches together

# All switches. If two edit the same tensor, the one listed first acts first: `Replace` and `Paint` use masks and scores
# after all other switches, and `KnockOut` wins over `Resample`, which wins over `Mean`.
SWITCHES: tuple[type[Switch], ...] = (
    Scale, Unbias, Unmask, Pad, Hide, Mean, Resample, KnockOut, Replace, Paint, Reposition, Skip, Silence,
)  # fmt: skip
ATTENTION = tuple(sort for sort in SWITCHES if sort.ATTENTION)
_BY_PARAM = {param: sort for sort in SWITCHES for param in sort.PARAMS}


def forms() -> dict[str, dict[str, Any]]:
    """How the switches of ATTENTION are written, for the lab in the browser: name in links -> the kinds of attention
    allowed with it, whether the heads are its whole value, and all its settings if they are few."""
    return {
        param: {"kinds": sort.kinds_of(param), "bare": sort.BARE, "settings": sort.SETTINGS}
        for sort in ATTENTION
        for param in sort.PARAMS
    }


@dataclass(frozen=True)
class Interventions:
    """Any number of switches together. Where two `Scale`, `Replace` or `Resample` apply to a head, the later one
    wins, and a `Reposition` changes the result of the one before, so these keep their order. Values that differ only
    in the order of other switches are equal."""

    switches: tuple[Switch, ...] = ()

    PARAMS: ClassVar[tuple[str, ...]] = tuple(_BY_PARAM)

    def __post_init__(self) -> None:
        given: object = self.switches
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InterventionError(
                "{value} is not a list of switches; write for example Interventions([Scale(1.0)]), or "
                "Interventions.parse('scaling=off')",
                value=brief(given),
            )
        switches = tuple(self.switches)
        for switch in switches:
            if type(switch) not in SWITCHES:
                raise InterventionError(
                    "{value} is not a switch; give for example Scale(1.0), or Interventions.parse('scaling=off')",
                    value=brief(switch),
                )
        if len(switches) > MANY:
            raise InterventionError(
                "these are {count:,} switches; at most {most:,} are allowed", count=len(switches), most=MANY
            )
        last = {switch: index for index, switch in enumerate(switches)}  # of equal switches the last one counts
        unique = sorted(last, key=last.__getitem__)
        single = {type(switch): switch for switch in unique if switch.SINGLE}
        unique = [switch for switch in unique if single.get(type(switch), switch) == switch]
        unique.sort(key=lambda switch: (SWITCHES.index(type(switch)), "" if switch.ORDERED else str(switch)))
        object.__setattr__(self, "switches", tuple(unique))

    def __bool__(self) -> bool:
        return bool(self.switches)

    def __add__(self, other: Interventions | Switch) -> Interventions:
        more = other.switches if isinstance(other, Interventions) else (other,)
        return Interventions((*self.switches, *more))

    def only(self, *switch_classes: type) -> Interventions:
        """The switches of these classes."""
        return Interventions(tuple(switch for switch in self.switches if isinstance(switch, switch_classes)))

    def without(self, *switch_classes: type) -> Interventions:
        """The same without switches of these classes."""
        return Interventions(tuple(switch for switch in self.switches if not isinstance(switch, switch_classes)))

    def by_class(self) -> Iterator[tuple[type[Switch], Sequence[Switch]]]:
        """Every class with its switches, in the order of SWITCHES."""
        return ((switch_class, tuple(same_class)) for switch_class, same_class in groupby(self.switches, type))

    @property
    def pads(self) -> int:
        """How many <pad> follow the source."""
        return next((switch.tokens for switch in self.switches if isinstance(switch, Pad)), 0)

    @property
    def leaks(self) -> bool:
        """Whether any head sees future tokens."""
        return any(switch.leaks for switch in self.switches)

    @property
    def replays(self) -> bool:
        """Whether later tokens change what earlier steps computed, so that every step of decoding must start again."""
        return any(switch.replays for switch in self.switches)

    def shift(self, side: str) -> int:
        """How many positions the encodings of a side are shifted by."""
        return Reposition.shift(self.switches, side)

    def scales(self, sub_layer: SubLayer) -> list[float]:
        """For every head of a sub-layer, the factor of its scores q.k."""
        factors = [sub_layer.config.scale] * sub_layer.config.heads
        for switch_class, switches in self.by_class():
            if issubclass(switch_class, HeadSwitch):
                factors = switch_class.scales(switch_class.by_head(switches, sub_layer), factors)
        return factors

    def check(self, config: ModelConfig) -> None:
        """Raises InterventionError for a layer, head, neuron or position that the model lacks."""
        for switch_class, switches in self.by_class():
            switch_class.check_all(switches, config)

    def check_lengths(self, **lengths: int) -> None:
        """Raises InterventionError for a token that a side lacks. lengths: side -> number of tokens."""
        for switch in self.switches:
            switch.check_lengths(lengths)

    # -- as text --------------------------------------------------------------------------------------------------

    def to_params(self) -> dict[str, str]:
        """The form for links: {"scaling": "off", "zero": "cross.2.5,cross.2.6"}; `parse` reads it."""
        params: dict[str, list[str]] = {}
        for switch in self.switches:
            params.setdefault(switch.param, []).append(switch.value)
        return {name: ",".join(values) for name, values in params.items()}

    def __repr__(self) -> str:
        return f"Interventions.parse({str(self)!r})" if self.switches else "Interventions()"

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.to_params().items()) or "none"

    @classmethod
    def parse(cls, texts: Mapping[str, str] | Iterable[str] | str) -> Interventions:
        """The switches of a mapping name -> value, of texts NAME=VALUE, or of one text with spaces between them.

        Raises InterventionError.
        """
        given: object = texts
        if not isinstance(given, Iterable):
            raise InterventionError(
                "{value} is not a text; write switches as NAME=VALUE, for example scaling=off or zero=cross.2.5",
                value=brief(given),
            )
        if isinstance(texts, str):
            texts = [] if texts == str(NONE) else texts.split()
        pairs = list(texts.items()) if isinstance(texts, Mapping) else [_pair(text) for text in texts]
        return cls(tuple(switch for name, value in pairs for switch in _read(name, value)))


NONE = Interventions()


def check_interventions(interventions: Interventions) -> None:
    """Raises WrongTypeError for anything else, such as a list of switches or their text."""
    expect(
        interventions,
        Interventions,
        "interventions",
        Text("an Interventions, for example {example}", example="Interventions.parse('scaling=off')"),
    )


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=") if isinstance(text, str) else ("", "", "")
    if not equals:
        raise InterventionError(
            "{value} is not a switch; write NAME=VALUE, for example scaling=off or zero=cross.2.5", value=brief(text)
        )
    return name, value


def _read(name: str, text: str) -> list[Switch]:
    """The switches of one parameter."""
    if not isinstance(text, str):
        raise InterventionError("the value of {name} is {value}; give it as text", name=name, value=brief(text))
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
