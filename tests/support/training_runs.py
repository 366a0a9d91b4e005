"""Runs as the queue of trainings has them, made up, the same for the same number."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from transformer.live_training.frames import Frame, Opening, recorded_steps

WORDS = ("headscope", "transform", "attention", "sequences")


@dataclass(frozen=True)
class Sizes:
    """What a made-up run is like; steps: of which `recorded_steps` are recorded."""

    layers: int = 2
    heads: int = 4
    tokens: int = 10  # letters of the input
    steps: int = 400


@dataclass(frozen=True)
class Settings:
    steps: int
    seed: int
    causal: bool


@dataclass
class MadeUp:
    """A run that has made all its steps, or those up to `stopped`."""

    id: str
    experiment: Settings
    opening: Opening
    every: list[Frame]
    stage: str = "training"
    place: int = 0
    reason: str = ""
    error: str = ""
    limit: float = 120.0
    wait: float | None = None
    pause_left: float = 0.0
    recording: bool = False
    result: bytes | None = None
    stopped: int | None = None

    def _step(self) -> int:
        return self.experiment.steps if self.stopped is None else self.stopped

    @property
    def step(self) -> int:
        return max(0, self._step())

    @property
    def seconds(self) -> float:
        return self.step / 45.0

    @property
    def frames(self) -> list[Frame]:
        step = self._step()
        if step >= self.experiment.steps:
            self.stage, self.reason, self.result = "done", "steps", b"zip"
        return [frame for frame in self.every if frame.step <= step]


@cache
def made_up(number: int, sizes: Sizes, causal: bool) -> tuple[Opening, list[Frame]]:
    """Opening and all frames of the run of this number: random weights, a loss that falls, and outputs that become
    right letter by letter, unless it has no mask. Runs 0 and 1 are shown on the same inputs, 2 and 3 on others."""
    generator, first = np.random.default_rng(number), number // 2
    words = [(WORDS[first] * 4)[: sizes.tokens], *((word * 4)[first : first + sizes.tokens] for word in WORDS[1:])]
    letters, target = tuple(words[0]), tuple(reversed(words[0]))
    shape = (3, sizes.layers, sizes.heads, sizes.tokens + 1, sizes.tokens + 1)
    opening = Opening(
        words[0], words[0][::-1], (*letters, "</s>"), ("<s>", *target), (*target, "</s>"), sizes.layers, sizes.heads,
        recorded_steps(sizes.steps, int(np.prod(shape))), 140_000, 200, tuple((word, word[::-1]) for word in words),
    )  # fmt: skip
    frames = []
    for i, step in enumerate(opening.recorded):
        share = step / sizes.steps
        right = share if causal else 0.03 * share
        weights = generator.integers(0, 256, shape, np.uint8)
        if causal:
            weights[1] = np.tril(weights[1])
        measured = i % 2 == 0 or step == sizes.steps
        written = (answer[: int(right * len(answer))].ljust(len(answer), "e") for _, answer in opening.shown)
        frames.append(
            Frame(
                step=step,
                seconds=step / 45,
                rate=0.003,
                loss=None if step == 0 else 3.3 * (1 - share) + 0.002 + generator.random() * 0.05,
                validation_loss=round(3.35 * (1 - share) + 0.004, 3) if measured else None,
                forced=round(share * 200) / 200 if measured else None,
                exact=round(right * 200) / 200 if measured else None,
                outputs=tuple(written),
                predicted=tuple(letter if generator.random() < share else "e" for letter in opening.target_out),
                weights=weights.tobytes(),
            )
        )
    return opening, frames


def a_run(number: int, sizes: Sizes = Sizes()) -> MadeUp:
    opening, frames = made_up(number, sizes, number != 1)
    return MadeUp(f"{number:012x}", Settings(sizes.steps, number + 1, number != 1), opening, frames)
