"""Runs as the workshop would have them, made up: heads that form out of noise, the same for the same number."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from transformer.live_training.frames import Frame, Opening, recorded_steps

NAMES = ("Baseline", "no causal mask", "no positions", "one head")
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
    """A run whose frames appear as time goes by: `rate` steps a second, all at once if it is 0."""

    id: str
    experiment: Settings
    opening: Opening
    every: list[Frame]
    rate: float = 0.0
    stage: str = "training"
    place: int = 0
    reason: str = ""
    error: str = ""
    limit: float = 120.0
    result: bytes | None = None
    began: float = field(default_factory=time.monotonic)
    stopped: int | None = None

    def _step(self) -> int:
        if self.stage in ("waiting", "starting"):
            return -1
        if self.stopped is not None:
            return self.stopped
        return int((time.monotonic() - self.began) * self.rate) if self.rate else self.experiment.steps

    @property
    def step(self) -> int:
        return max(0, min(self.experiment.steps, self._step()))

    @property
    def seconds(self) -> float:
        return self.step / (self.rate or 45.0)

    @property
    def frames(self) -> list[Frame]:
        step = self._step()
        if step >= self.experiment.steps and self.stage == "training":
            self.stage, self.reason, self.result = "done", "steps", b"zip"
        return [frame for frame in self.every if frame.step <= step]

    def do(self, what: str) -> None:
        if what == "pause":
            self.stopped, self.stage = self.step, "paused"
        elif what == "go":
            self.began = time.monotonic() - self.step / (self.rate or 1)
            self.stopped, self.stage = None, "training"
        elif what == "stop":
            self.stopped, self.stage, self.reason = self.step, "done", "stopped"


def _weights(
    generator: np.random.Generator, sizes: Sizes, share: float, noise: list[np.ndarray], causal: bool
) -> bytes:
    """share: how far it has come, 0 to 1; noise: scores of encoder, decoder and cross-attention that never change."""
    parts = []
    for kind, scores in enumerate(noise):
        layers, heads, queries, keys = scores.shape
        rows, columns = np.arange(queries)[:, None], np.arange(keys)[None, :]
        wanted = [keys - 1 - rows == columns, rows == columns, rows - 1 == columns, rows + 1 == columns]
        sharp = scores * (1.0 + generator.normal(size=scores.shape) * 0.15)
        for layer in range(layers):
            for head in range(heads):
                sharp[layer, head] += share * 9 * wanted[(head + layer + kind) % 4]
        if kind == 1 and causal:
            sharp = np.where(columns > rows, -np.inf, sharp)
        sharp = np.exp(sharp - sharp.max(-1, keepdims=True))
        parts.append((255 * sharp / sharp.sum(-1, keepdims=True)).round().astype(np.uint8).tobytes())
    return b"".join(parts)


@cache
def made_up(
    number: int, sizes: Sizes = Sizes(), learns: bool = True, causal: bool = True
) -> tuple[Opening, list[Frame]]:
    """Opening and all frames of the run of this number; learns: whether what it writes becomes right.

    Runs 0 and 1 are shown on the same inputs, 2 and 3 on others.
    """
    generator = np.random.default_rng(number)
    first = number // 2
    source = (WORDS[first] * 4)[: sizes.tokens]
    letters = tuple(source)
    target = tuple(reversed(letters))
    examples = [(word := (other * 4)[first : first + sizes.tokens], word[::-1]) for other in WORDS]
    examples[0] = (source, source[::-1])
    tokens = (sizes.layers, sizes.heads, sizes.tokens + 1, sizes.tokens + 1)
    size = 3 * int(np.prod(tokens))
    opening = Opening(
        source, source[::-1], (*letters, "</s>"), ("<s>", *target), (*target, "</s>"), sizes.layers, sizes.heads,
        recorded_steps(sizes.steps, size), 140_000, 200, tuple(examples),
    )  # fmt: skip
    noise = [generator.normal(size=tokens) for _ in range(3)]
    frames = []
    for i, step in enumerate(opening.recorded):
        share = 1 / (1 + np.exp(-(step / sizes.steps - 0.4 - 0.06 * number) * 14))
        right = share if learns else 0.03 * share

        def written(word: str, right: float = right) -> str:
            numbers = generator.random(len(word))
            wrong = generator.choice(list("aeiou"), len(word))
            return "".join(a if b < right**0.3 else c for a, b, c in zip(word, numbers, wrong, strict=True))

        measured = i % 2 == 0 or step == sizes.steps
        frames.append(
            Frame(
                step=step,
                seconds=step / 45,
                rate=0.003,
                loss=None if step == 0 else float(3.3 * (1 - share) + 0.002 + generator.random() * 0.05),
                validation_loss=float(3.35 * (1 - share) + 0.004) if measured else None,
                forced=round(float(share) * 200) / 200 if measured else None,
                exact=round(float(right) * 200) / 200 if measured else None,
                outputs=tuple(written(answer) for _, answer in examples),
                predicted=tuple(letter if generator.random() < share else "e" for letter in opening.target_out),
                weights=_weights(generator, sizes, float(share), noise, causal),
            )
        )
    return opening, frames


def a_run(number: int, sizes: Sizes = Sizes(), rate: float = 0.0, stage: str = "training", place: int = 0) -> MadeUp:
    causal = number != 1
    opening, frames = made_up(number, sizes, causal, causal)
    settings = Settings(sizes.steps, number + 1, causal)
    return MadeUp(f"{number:012x}", settings, opening, frames, rate, stage, place)
