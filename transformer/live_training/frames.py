"""The recording of a training: an opening before its first step, and one frame for each recorded step.

Both travel from the training process to the server: a table for JSON, and the weights of a frame as bytes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer.model.tap import KINDS

MOST = 128  # frames of a run
LARGEST = 8_000_000  # bytes of attention in all frames of a run


def recorded_steps(steps: int, size: int, most: int = MOST) -> tuple[int, ...]:
    """Steps that get a frame, including 0 and `steps`, denser at the start. size: bytes of a frame's attention."""
    count = max(2, min(most, LARGEST // size))
    return tuple(sorted({round(steps * (number / (count - 1)) ** 1.5) for number in range(count)}))


@dataclass(frozen=True)
class Opening:
    """Everything known before the first step.

    source, target: the fixed example, an unseen input and its correct answer
    source_tokens, target_in, target_out: its tokens in readable form, with </s> and <s>
    recorded: steps that have a frame, first 0, last the experiment's steps; parameters: their number
    unseen: number of unseen inputs on which frames are measured
    shown: (input, correct answer) pairs whose outputs every frame has; the first is the example
    """

    source: str
    target: str
    source_tokens: tuple[str, ...]
    target_in: tuple[str, ...]
    target_out: tuple[str, ...]
    layers: int
    heads: int
    recorded: tuple[int, ...]
    parameters: int
    unseen: int
    shown: tuple[tuple[str, str], ...]

    @property
    def shapes(self) -> dict[str, tuple[int, int, int, int]]:
        """Kind of attention -> [layer, head, query, key]."""
        source, target = len(self.source_tokens), len(self.target_in)
        sizes = {"encoder_self": (source, source), "decoder_self": (target, target), "cross": (target, source)}
        return {kind: (self.layers, self.heads, *sizes[kind]) for kind in KINDS}

    @property
    def frame_bytes(self) -> int:
        """Length of every frame's weights."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Opening:
        """The reverse of `to_dict`, also with JSON's lists for tuples; ignores unknown names."""
        known = {field.name: values[field.name] for field in dataclasses.fields(cls)}
        pairs = tuple((source, target) for source, target in known["shown"])
        lists = {name: tuple(value) for name, value in known.items() if isinstance(value, list | tuple)}
        return cls(**{**known, **lists, "shown": pairs})


@dataclass(frozen=True)
class Frame:
    """One recorded step, with the weights after it. None: not measured in this frame.

    step: 0 before the first; seconds: of a core so far, with measuring; rate: the step's learning rate
    loss: mean training loss since the last frame, in nats per token, without smoothing; None at step 0
    validation_loss: teacher-forced, on the unseen inputs
    forced: share of unseen inputs whose tokens are all predicted correctly, teacher-forced
    exact: share of unseen inputs whose free-running (greedy) output is correct
    outputs: free-running, one for each pair of `Opening.shown`
    predicted: the most probable token of every row of the example, teacher-forced, in readable form
    weights: round(255 w), one byte each: encoder_self, decoder_self, cross one after the other, each in C order
    """

    step: int
    seconds: float
    rate: float
    loss: float | None
    validation_loss: float | None
    forced: float | None
    exact: float | None
    outputs: tuple[str, ...]
    predicted: tuple[str, ...]
    weights: bytes

    def attention(self, opening: Opening) -> dict[str, np.ndarray]:
        """Kind of attention -> uint8 [layer, head, query, key]. Raises ValueError if the length does not fit."""
        if len(self.weights) != opening.frame_bytes:
            raise ValueError(f"{len(self.weights):,} bytes of weights do not fit; a frame has {opening.frame_bytes:,}")
        by_kind, start = {}, 0
        for kind, shape in opening.shapes.items():
            by_kind[kind] = np.frombuffer(self.weights, np.uint8, math.prod(shape), start).reshape(shape)
            start += math.prod(shape)
        return by_kind

    def to_message(self) -> tuple[dict[str, Any], bytes]:
        """A table for JSON, and the weights."""
        table = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "weights"}
        return table, self.weights

    @classmethod
    def from_message(cls, values: Mapping[str, Any], weights: bytes) -> Frame:
        """The reverse of `to_message`, also with JSON's lists for tuples; ignores unknown names."""
        known = {field.name: values[field.name] for field in dataclasses.fields(cls) if field.name != "weights"}
        texts = {name: tuple(known[name]) for name in ("outputs", "predicted")}
        return cls(**{**known, **texts}, weights=weights)
