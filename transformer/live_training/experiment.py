"""The settings of a training on the Training page: one frozen, validated object."""

from __future__ import annotations

import dataclasses
import math
import string
from collections.abc import Mapping
from dataclasses import dataclass
from reprlib import repr as shown
from typing import Any

from transformer.checks import SHARE, TRUTH, check_fields, from_table, number, one_of, optional, whole
from transformer.live_training.frames import MOST, recorded_steps
from transformer.live_training.pairs import ExperimentError, check_pairs, divide, read_pairs
from transformer.texts import N_, Text
from transformer.training.data import Pair

__all__ = ["TASKS", "Experiment", "ExperimentError", "read_pairs"]

TASKS = ("copy", "reverse", "sort", "shift", "own")
SYMBOLS = string.ascii_letters  # a to z, A to Z
CHOICES = {
    "task": TASKS,
    "positions": ("sinusoidal", "learned", "none"),
    "norm": ("post", "pre", "none"),
    "activation": ("relu", "gelu"),
}
BOUNDS = {
    "alphabet": (2, 52), "shortest": (1, 32), "longest": (1, 32), "layers": (1, 6), "heads": (1, 8),
    "d_model": (8, 256), "d_ff": (1, 1024), "steps": (1, 5000), "batch": (1, 256), "warmup": (0, 1000),
    "seed": (0, 999_999),
}  # fmt: skip
LARGEST_D_K = 512
LARGEST_RATE = 1.0
RULES = {
    **{name: one_of(choices) for name, choices in CHOICES.items()},
    **{name: whole(*bounds) for name, bounds in BOUNDS.items()},
    "d_k": optional(whole(1, LARGEST_D_K), N_("{allowed}, or none for d_model / heads")),
    **dict.fromkeys(("scaling", "causal", "residual"), TRUTH),
    "peak_rate": number(
        lambda value: 0 < value <= LARGEST_RATE, Text("a number above 0, up to {most:g}", most=LARGEST_RATE)
    ),
    **dict.fromkeys(("smoothing", "dropout"), SHARE),
}
MOST_PARAMETERS = 7_500_000  # 15 MB in float16; zips of up to 16 MB can be loaded again
DRAWN = (2_000, 25_600)  # training inputs: at least, so that every symbol occurs; at most, drawn in 0.15 s
UNSEEN = 128  # inputs to keep for measuring, if the task has ten times as many
FEWEST_UNSEEN = 10
POSITIONS = 64  # of the models, so that a user can try longer inputs than the trained ones


@dataclass(frozen=True)
class Experiment:
    """A task, a model and its training. Raises ExperimentError.

    task: one of TASKS; "shift": move every symbol by `shift` in the alphabet, cyclically; "own": use `pairs`
    alphabet: number of symbols, from a-z, A-Z; shortest, longest: symbols of an input
    pairs: (input, correct answer), cleaned by `read_pairs`
    layers: of the encoder and of the decoder; d_k: width of a head's queries and keys, None: d_model / heads
    warmup: steps; 0: start at the peak rate
    batch: inputs per step, or more if they are shorter than the longest
    """

    task: str = "reverse"
    alphabet: int = 26
    shortest: int = 10
    longest: int = 10
    shift: int = 3
    pairs: tuple[Pair, ...] = ()
    layers: int = 2
    heads: int = 4
    d_model: int = 64
    d_ff: int = 128
    d_k: int | None = None
    scaling: bool = True
    causal: bool = True
    positions: str = "sinusoidal"
    residual: bool = True
    norm: str = "post"
    activation: str = "relu"
    steps: int = 400
    batch: int = 32
    peak_rate: float = 0.004
    warmup: int = 100
    smoothing: float = 0.0
    dropout: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        check_fields(self, RULES, ExperimentError)
        for name in ("peak_rate", "smoothing", "dropout"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if self.d_model % 2 or self.d_model % self.heads:
            raise ExperimentError(
                "d_model is {d_model} with {heads} heads; choose an even d_model that is divisible by "
                "the heads, for example {example}",
                d_model=self.d_model,
                heads=self.heads,
                example=math.lcm(2, self.heads) * max(1, self.d_model // math.lcm(2, self.heads)),
            )
        self._check_task()
        if (count := self.parameters) > MOST_PARAMETERS:
            raise ExperimentError(
                "this model has {count:,} parameters, and the limit here is {most:,}; choose fewer "
                "layers or a smaller d_model, d_ff or d_k",
                count=count,
                most=MOST_PARAMETERS,
            )

    def _check_task(self) -> None:
        if self.task == "own":
            object.__setattr__(self, "pairs", check_pairs(self.pairs))
            return
        if self.pairs:
            raise ExperimentError(
                "the task {task} makes its own pairs; for your {count:,} pairs choose the task own",
                count=len(self.pairs),
                task=self.task,
            )
        if self.shortest > self.longest:
            raise ExperimentError(
                "the shortest length {shortest} is above the longest, {longest}; choose a smaller one",
                shortest=self.shortest,
                longest=self.longest,
            )
        if self.task == "shift" and (type(self.shift) is not int or not 1 <= self.shift < self.alphabet):
            raise ExperimentError(
                "shift is {shift}; with {alphabet} symbols choose a whole number from 1 to {largest}",
                shift=shown(self.shift),
                alphabet=self.alphabet,
                largest=self.alphabet - 1,
            )
        if self.alphabet**self.longest < 10 * FEWEST_UNSEEN:
            raise ExperimentError(
                "{alphabet} symbols make only {inputs} different inputs of length {longest}, and "
                "{needed} are needed to keep some unseen; choose more symbols or longer inputs",
                alphabet=self.alphabet,
                inputs=self.alphabet**self.longest,
                longest=self.longest,
                needed=10 * FEWEST_UNSEEN,
            )

    # -- as a table ---------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**dataclasses.asdict(self), "pairs": [list(pair) for pair in self.pairs]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Experiment:
        """The reverse of `to_dict`; missing fields get their defaults. Raises ExperimentError."""
        values = from_table(cls, values, ExperimentError, Text("an experiment"))
        pairs = values.get("pairs", ())
        if isinstance(pairs, list | tuple):
            pairs = tuple(tuple(pair) if isinstance(pair, list) else pair for pair in pairs)
        return cls(**{**values, "pairs": pairs})

    def differences(self, other: Experiment) -> tuple[str, ...]:
        """Names of the fields in which two experiments differ, in order; without fields that neither uses."""
        mine, others = self._used(), other._used()
        return tuple(name for name in mine if mine[name] != others[name])

    def _used(self) -> dict[str, Any]:
        """All fields; None for a field that changes nothing."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if self.task == "own":
            values |= dict.fromkeys(("alphabet", "shortest", "longest"))
        if self.task != "shift":
            values["shift"] = None
        if self.d_k == self.d_model // self.heads:
            values["d_k"] = None
        return values

    # -- derived values -----------------------------------------------------------------------------------------------

    @property
    def symbols(self) -> str:
        """The letters of the alphabet."""
        return SYMBOLS[: self.alphabet]

    @property
    def lengths(self) -> tuple[int, int]:
        """Largest number of characters of an input, and of an answer."""
        if self.task != "own":
            return self.longest, self.longest
        return max(len(source) for source, _ in self.pairs), max(len(target) for _, target in self.pairs)

    @property
    def divided(self) -> tuple[list[Pair], list[Pair]]:
        """The viewer's own pairs: training pairs and unseen pairs."""
        return divide(self.pairs, self.seed)

    @property
    def max_positions(self) -> int:
        return POSITIONS if max(self.lengths) < POSITIONS - 8 else 2 * POSITIONS

    @property
    def held_out(self) -> int:
        """Number of a task's inputs that stay unseen; at most a tenth of the possible inputs."""
        lengths = self.longest - self.shortest + 1
        return min(UNSEEN, lengths * (self.alphabet**self.longest // 10))

    @property
    def drawn(self) -> int:
        """Number of a task's inputs that are drawn for training."""
        return max(DRAWN[0], min(self.steps * self.batch, DRAWN[1]))

    @property
    def cooldown(self) -> int:
        """Number of last steps, during which the rate falls to zero."""
        return self.steps // 2

    @property
    def vocabulary(self) -> int:
        """Number of symbols, including special ones; the training part of own pairs may have fewer."""
        if self.task == "own":
            return 4 + len({character for pair in self.pairs for text in pair for character in text})
        return 4 + self.alphabet

    @property
    def parameters(self) -> int:
        """Upper limit of the trained numbers: own pairs may have fewer symbols than counted here."""
        width, inner = self.d_model, self.heads * (self.d_k or self.d_model // self.heads)
        attention = 2 * (width + 1) * inner + 2 * (width + 1) * width
        feed_forward = (width + 1) * self.d_ff + (self.d_ff + 1) * width
        norm = 0 if self.norm == "none" else 2 * width
        table = self.max_positions * width if self.positions == "learned" else 0
        last_norms = 2 * norm if self.norm == "pre" else 0
        layer = 3 * attention + 2 * feed_forward + 5 * norm
        return self.vocabulary * width + table + self.layers * layer + last_norms

    @property
    def recorded(self) -> tuple[int, ...]:
        """Steps that have a frame while a viewer watches."""
        return self.recorded_in(MOST)

    def recorded_in(self, most: int) -> tuple[int, ...]:
        """Steps that have a frame, if there may be so many frames."""
        source, target = (length + 1 for length in self.lengths)
        cells = source * source + target * target + target * source
        return recorded_steps(self.steps, self.layers * self.heads * cells, most)
