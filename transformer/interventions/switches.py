"""Single switches: frozen, hashable values, each of one thing that can be exchanged in a trained model.

`transformer.interventions.sets` lists them, puts any number of them together, and says how they are written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from reprlib import repr as shown

from transformer.model.config import LIMITS, ModelConfig
from transformer.model.tap import KINDS, SIDES, STACKS

FACTORS = (1e-4, 1e3)  # 1 / sqrt(d_k) is 0.011 at the largest d_k a configuration allows
PADS = (1, 64)
MASKS = ("causal", "padding")
MASKED = {"causal": ("decoder_self",), "padding": ("encoder_self", "cross")}  # only the source is ever padded
SUB_LAYERS = {"encoder": ("self", "ff"), "decoder": ("self", "cross", "ff")}
KEYS = {"encoder_self": "source", "decoder_self": "target", "cross": "source"}  # the side a kind's keys are of
RULES = ("softmax", "uniform", "argmax")  # by number in `AttentionTrace.rule`
POSITION_RULES = ("remove", "shuffle", "reverse", "shift", "scale")
SHIFTS = (1, LIMITS["max_positions"][1] - 1)
SEEDS = (0, 9999)
FACTORS_OF_POSITIONS = (0.0, 100.0)


class InterventionError(ValueError):
    """A switch that cannot be set; the message says what arrived, what is allowed, and what to do."""


def said(value: object) -> str:
    """A value as a message shows it: never long, and never an error of its own."""
    try:
        return shown(value)
    except ValueError:  # Python refuses to write out a whole number of thousands of digits
        return "a whole number of thousands of digits"


def _check_where(where: object) -> None:
    if not isinstance(where, Where):
        raise InterventionError(f"{said(where)} is no place; give a Where, e.g. Where('cross', 1, 4)")


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
                f"the factor of scaling is {said(self.factor)}; a number from {low} to {high:,.0f} is allowed, "
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
            raise InterventionError(f"{said(self.mask)} is no mask; there are {' and '.join(MASKS)}")
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
                f"{said(self.tokens)} pad tokens are asked for; a whole number from {low} to {high} is allowed"
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
            raise InterventionError(f"{said(self.side)} is no side; there are {' and '.join(SIDES)}")
        if type(self.token) is not int or not 0 <= self.token < 100_000:
            raise InterventionError(f"token {said(self.token)} cannot be hidden; give its index, from 0")
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
            raise InterventionError(f"{said(self.rule)} replaces no weights; there are {' and '.join(RULES[1:])}")


@dataclass(frozen=True)
class Reposition:
    """The position encodings of one side exchanged (section 3.5), or of both where side is None.

    "remove": nothing is added to the embeddings; "scale": the encodings times `amount`; "shift": token p gets the
    encoding of position p + amount; "reverse": the first token that of the last, and so on; "shuffle": tokens get those
    of a permutation drawn with the seed `amount`. Reversed and shuffled are the positions of the tokens that are there,
    <pad> among them; while decoding, of those fed so far.
    """

    rule: str
    side: str | None = None
    amount: float = 0

    def __post_init__(self) -> None:
        if self.rule not in POSITION_RULES:
            raise InterventionError(
                f"{said(self.rule)} is no change of positions; there are {', '.join(POSITION_RULES)}"
            )
        if self.side is not None and self.side not in SIDES:
            raise InterventionError(f"{said(self.side)} is no side; there are {' and '.join(SIDES)}")
        number = isinstance(self.amount, int | float) and not isinstance(self.amount, bool)
        if self.rule == "scale":
            low, high = FACTORS_OF_POSITIONS
            if not number or not low <= self.amount <= high:
                raise InterventionError(
                    f"positions are to be multiplied by {said(self.amount)}; a number from {low:.0f} to {high:.0f} is "
                    "allowed"
                )
            return
        bounds = {"shift": SHIFTS, "shuffle": SEEDS}.get(self.rule, (0, 0))
        if not number or not bounds[0] <= self.amount <= bounds[1] or self.amount != int(self.amount):
            what = {"shift": "shifted by", "shuffle": "shuffled with the seed"}.get(self.rule, "given the amount")
            allowed = f"a whole number from {bounds[0]} to {bounds[1]:,}" if any(bounds) else "0"
            raise InterventionError(f"positions are to be {what} {said(self.amount)}; {allowed} is allowed")
        object.__setattr__(self, "amount", int(self.amount))

    def covers(self, side: str) -> bool:
        return self.side in (None, side)

    def __str__(self) -> str:
        amount = {"scale": f".{float(self.amount)!r}", "shift": f".{self.amount}", "shuffle": f".{self.amount}"}
        return self.rule + amount.get(self.rule, "") + (f"@{self.side}" if self.side else "")

    @classmethod
    def parse(cls, text: str) -> Reposition:
        """What a text says, e.g. "shift.5@source". Raises InterventionError."""
        value, at, side = text.partition("@")
        rule, _, amount = value.partition(".")
        if rule in ("shift", "shuffle") and not re.fullmatch(r"[0-9]{1,6}", amount):
            raise InterventionError(f"{shown(text)} names no whole number; write {rule}.N, for example {rule}.5")
        if rule not in ("shift", "shuffle", "scale") and amount:
            raise InterventionError(f"{shown(text)} has a number too many; write {shown(rule)} alone")
        return cls(rule, side if at else None, number_of(amount) if amount else 0)  # type: ignore[arg-type]


def _check_stack(stack: object, layer: object) -> None:
    if stack not in STACKS:
        raise InterventionError(f"{said(stack)} is no stack; there are {' and '.join(STACKS)}")
    if type(layer) is not int or layer < 0:
        raise InterventionError(f"layer is {said(layer)}; an index from 0 is allowed")


def layers_of(config: ModelConfig, kind: str) -> int:
    """Layers that have this kind of attention, or that this stack has."""
    return config.encoder_layers if kind in ("encoder_self", "encoder") else config.decoder_layers


def _check_layer(switch: Skip | Silence, config: ModelConfig) -> None:
    layers = layers_of(config, switch.stack)
    if switch.layer >= layers:
        raise InterventionError(f"{switch} names layer {switch.layer + 1}; this model has {layers} there")


@dataclass(frozen=True)
class Skip:
    """A whole sub-layer that returns nothing: x goes on by the residual connection alone (section 3.1).

    stack: "encoder" or "decoder"; layer: index from 0; part: "self", "cross" (decoder only) or "ff".
    """

    stack: str
    layer: int
    part: str

    def __post_init__(self) -> None:
        _check_stack(self.stack, self.layer)
        if self.part not in SUB_LAYERS[self.stack]:
            raise InterventionError(
                f"{said(self.part)} is no sub-layer of the {self.stack}; there are {', '.join(SUB_LAYERS[self.stack])}"
            )

    def check(self, config: ModelConfig) -> None:
        """Raises InterventionError for a layer that the model has not."""
        _check_layer(self, config)

    def __str__(self) -> str:
        return f"{self.stack}.{self.layer + 1}.{self.part}"

    @classmethod
    def parse(cls, text: str) -> Skip:
        """The sub-layer a text names, e.g. "decoder.2.cross". Raises InterventionError."""
        found = re.fullmatch(r"(encoder|decoder)\.([1-9]\d{0,2})\.(self|cross|ff)", text, re.ASCII)
        if not found:
            raise InterventionError(
                f"{shown(text)} names no sub-layer; write encoder.LAYER.PART or decoder.LAYER.PART, counted from 1, "
                "with PART one of self, cross, ff"
            )
        return cls(found[1], int(found[2]) - 1, found[3])


@dataclass(frozen=True)
class Silence:
    """A neuron whose activation is 0 for every token (section 3.3): what W_2 makes of it is taken out.

    stack: "encoder" or "decoder"; layer, neuron: indices from 0.
    """

    stack: str
    layer: int
    neuron: int

    def __post_init__(self) -> None:
        _check_stack(self.stack, self.layer)
        if type(self.neuron) is not int or not 0 <= self.neuron < LIMITS["d_ff"][1]:
            raise InterventionError(f"neuron {said(self.neuron)} cannot be silenced; give its index, from 0")

    def check(self, config: ModelConfig) -> None:
        """Raises InterventionError for a layer or neuron that the model has not."""
        _check_layer(self, config)
        if self.neuron >= config.d_ff:
            raise InterventionError(f"{self} names neuron {self.neuron + 1:,}; this model has {config.d_ff:,} a layer")

    def __str__(self) -> str:
        return f"{self.stack}.{self.layer + 1}.{self.neuron + 1}"

    @classmethod
    def parse(cls, text: str) -> Silence:
        """The neuron a text names, e.g. "encoder.2.17". Raises InterventionError."""
        found = re.fullmatch(r"(encoder|decoder)\.([1-9]\d{0,2})\.([1-9]\d{0,5})", text, re.ASCII)
        if not found:
            raise InterventionError(
                f"{shown(text)} names no neuron; write encoder.LAYER.NEURON or decoder.LAYER.NEURON, counted from 1"
            )
        return cls(found[1], int(found[2]) - 1, int(found[3]) - 1)


_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def number_of(text: str) -> float | str:
    """A number in ASCII; the text itself where it is none, for the message to show."""
    return float(text) if len(text) <= 40 and _DECIMAL.fullmatch(text) else text
