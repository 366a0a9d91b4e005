"""What is recorded of a training: what is known before its first step, and one frame for each recorded step.

Both travel from the process that trains to the one that shows: a table for JSON, and a frame's weights as bytes.
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


def recorded_steps(steps: int, size: int) -> tuple[int, ...]:
    """Steps that get a frame, 0 and `steps` among them, denser at the beginning. size: bytes of a frame's attention."""
    count = max(2, min(MOST, LARGEST // size))
    return tuple(sorted({round(steps * (number / (count - 1)) ** 1.5) for number in range(count)}))


@dataclass(frozen=True)
class Opening:
    """Known before the first step.

    source, target: the fixed example, an unseen input and its right answer
    source_tokens, target_in, target_out: its tokens as people read them, </s> and <s> included
    recorded: steps that have a frame, first 0, last the experiment's steps; parameters: trained numbers
    unseen: on how many unseen inputs frames are measured
    shown: (input, right answer) whose outputs every frame has; the first is the example
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
        """What `to_dict` made a table of, JSON's lists for tuples included; names it does not know are left out."""
        known = {field.name: values[field.name] for field in dataclasses.fields(cls)}
        pairs = tuple((source, target) for source, target in known["shown"])
        lists = {name: tuple(value) for name, value in known.items() if isinstance(value, list | tuple)}
        return cls(**{**known, **lists, "shown": pairs})


@dataclass(frozen=True)
class Frame:
    """One recorded step: the weights as they are after it. None: not measured at this frame.

    step: 0 before the first; seconds: of training alone, measuring excluded, up to here; rate: the step's learning rate
    loss: mean training loss since the frame before, in nats a token, without smoothing; None at step 0
    validation_loss: teacher-forced, on the unseen inputs
    forced: share of unseen inputs of which every token is predicted right, teacher-forced
    exact: share of unseen inputs whose free-running (greedy) output is right
    outputs: free-running, one for each of `Opening.shown`
    predicted: the likeliest token of every row of the example, teacher-forced, as people read tokens
    weights: round(255 w), one byte each: encoder_self, decoder_self, cross one behind the other, each in C order
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
        """Kind of attention -> uint8 [layer, head, query, key]. Raises ValueError if the weights are not as long."""
        if len(self.weights) != opening.frame_bytes:
            raise ValueError(f"{len(self.weights):,} bytes of weights do not fit; a frame has {opening.frame_bytes:,}")
        found, start = {}, 0
        for kind, shape in opening.shapes.items():
            found[kind] = np.frombuffer(self.weights, np.uint8, math.prod(shape), start).reshape(shape)
            start += math.prod(shape)
        return found

    def to_message(self) -> tuple[dict[str, Any], bytes]:
        """A table for JSON, and the weights."""
        table = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "weights"}
        return table, self.weights

    @classmethod
    def from_message(cls, values: Mapping[str, Any], weights: bytes) -> Frame:
        """What `to_message` made, JSON's lists for tuples included; names it does not know are left out."""
        known = {field.name: values[field.name] for field in dataclasses.fields(cls) if field.name != "weights"}
        texts = {name: tuple(known[name]) for name in ("outputs", "predicted")}
        return cls(**{**known, **texts}, weights=weights)
