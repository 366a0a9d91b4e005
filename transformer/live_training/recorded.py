"""The recorded runs of the presets, which look like live runs that have ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from transformer.live_training.descriptions import differences_words, labels
from transformer.live_training.experiment import Experiment
from transformer.live_training.findings import prediction
from transformer.live_training.frames import Frame, Opening
from transformer.live_training.live_run import LiveRun
from transformer.live_training.presets import PARTNERS, PRESETS, partner, plain
from transformer.live_training.recordings import recording
from transformer.texts import comma_list


@dataclass(frozen=True)
class RecordedRun:
    """A recording with the attributes of a `LiveRun` that has made all its steps."""

    id: str
    experiment: Experiment
    opening: Opening
    frames: tuple[Frame, ...]
    stage: str = "done"
    place: int = 0
    reason: str = "steps"
    error: str = ""
    seconds: float = 0.0
    limit: float = 0.0
    result: bytes | None = None
    ended: bool = True
    recording: bool = True

    @property
    def step(self) -> int:
        return self.frames[-1].step

    @cached_property
    def look_at(self) -> tuple[str, int, int]:
        """Kind, layer and head, from 0, that show what the run learned: in cross-attention the head with the largest
        weights, in a decoder without a mask the one that looks most at the token it must predict."""
        attention = self.frames[-1].attention(self.opening)
        if self.experiment.causal:
            kind, strength = "cross", attention["cross"].max(-1).mean(-1, dtype=float)  # [layer, head]
        else:
            kind, strength = "decoder_self", np.diagonal(attention["decoder_self"], 1, -2, -1).mean(-1, dtype=float)
        layer, head = np.unravel_index(strength.argmax(), strength.shape)
        return kind, int(layer), int(head)


@dataclass(frozen=True)
class Shown:
    """A run in the picture: a live one or a recorded one."""

    run: LiveRun | RecordedRun
    experiment: Experiment


def recorded(name: str) -> RecordedRun | None:
    """The recorded run of a preset, None if there is none."""
    found = recording(name)
    return None if found is None else RecordedRun(f"recorded-{name}", found.experiment, found.opening, found.frames)


def recorded_runs(name: str) -> list[RecordedRun]:
    """The recorded run of a preset, after that of its reference."""
    names = [*filter(None, [partner(name) if name in PRESETS else None]), name]
    return [run for run in map(recorded, names) if run is not None]


def recorded_names(runs: Sequence[RecordedRun]) -> list[str]:
    """Short names of the recorded runs of a preset; two are named by what they differ in."""
    if len(runs) != 2:
        return labels([run.experiment for run in runs], plain())
    first, second = (run.experiment for run in runs)
    return [comma_list(differences_words(*pair)) for pair in ((first, second), (second, first))]


def recorded_reference(experiment: Experiment) -> RecordedRun | None:
    """The recorded run to compare an experiment with: that of its preset's partner, or one that differs, beside the
    seed, in one part of which the paper predicts something."""
    for name, other in PARTNERS.items():
        if set(experiment.differences(PRESETS[name])) <= {"seed"}:
            return recorded(other)
    for name in PRESETS:
        if partner(name) is None and (run := recorded(name)) is not None:
            key, forward = prediction(run.experiment, experiment)
            if key and forward:
                return run
    return None
