"""Recorded trainings, which look like live runs that have ended: one small file for each preset.

A file is an .npz without pickled objects: `header`, the bytes of a JSON object {"experiment", "opening", "frames"}, and
`weights`, uint8 [bytes of a frame, frames], where each frame holds its difference from the frame before, modulo 256.
`python -m transformer.live_training.record` writes them.
"""

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from transformer.live_training.descriptions import differences_words, labels
from transformer.live_training.experiment import Experiment
from transformer.live_training.findings import prediction
from transformer.live_training.frames import Frame, Opening
from transformer.live_training.messages import FRAMES, WEIGHTS, Conversation, Message, MessageError
from transformer.live_training.presets import PARTNERS, PRESETS
from transformer.texts import UserError, comma_list

FOLDER = Path(__file__).parent / "recordings"
ARRAYS = {"header.npy": 2_000_000, "weights.npy": WEIGHTS}  # the most bytes of each
DIGITS = 6


class RecordingError(UserError):
    """A file that holds no recording."""


@dataclass(frozen=True)
class RecordedRun:
    """A training from its opening to its last step, with the attributes of a `LiveRun` that has made all its steps."""

    experiment: Experiment
    opening: Opening
    frames: tuple[Frame, ...]
    id: str = ""
    stage: str = "done"
    place: int = 0
    wait: float | None = None
    pause_left: float = 0.0
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


# -- files -------------------------------------------------------------------------------------------------------------


def _table(frame: Frame) -> dict[str, object]:
    """The numbers of a frame, rounded; without the seconds, which depend on the machine."""
    table = {**frame.to_message()[0], "seconds": 0.0}
    return {name: round(value, DIGITS) if isinstance(value, float) else value for name, value in table.items()}


def recording_bytes(run: RecordedRun) -> bytes:
    tables = {"experiment": run.experiment.to_dict(), "opening": run.opening.to_dict()}
    header = {**tables, "frames": [_table(frame) for frame in run.frames]}
    weights = np.stack([np.frombuffer(frame.weights, np.uint8) for frame in run.frames], 1)
    changes = np.diff(weights, axis=1, prepend=np.zeros_like(weights[:, :1]))  # uint8 wraps around
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    file = io.BytesIO()
    np.savez_compressed(file, header=np.frombuffer(text, np.uint8), weights=changes)
    return file.getvalue()


def _arrays(file: io.BytesIO) -> tuple[bytes, np.ndarray]:
    with zipfile.ZipFile(file) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    if sizes.keys() != ARRAYS.keys() or any(size > ARRAYS[name] + 1000 for name, size in sizes.items()):
        raise RecordingError("the file does not hold the two arrays of a recording")
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        header, weights = arrays["header"], arrays["weights"]
    if header.dtype != np.uint8 or weights.dtype != np.uint8 or (header.ndim, weights.ndim) != (1, 2):
        raise RecordingError("the arrays of a recording are bytes")
    return header.tobytes(), np.add.accumulate(weights, axis=1, dtype=np.uint8)


def read_recording(data: bytes) -> RecordedRun:
    """Check everything as if a worker had sent it. Raises RecordingError."""
    try:
        header, weights = _arrays(io.BytesIO(data))
        values = json.loads(header)
        experiment = Experiment.from_dict(values["experiment"])
        conversation = Conversation(experiment.steps)
        opening = conversation.opening(Message("opening", values["opening"]))
        tables = values["frames"]
        if not isinstance(tables, list) or not 2 <= len(tables) <= FRAMES or len(tables) != weights.shape[1]:
            raise MessageError(f"{weights.shape[1]} frames of weights")
        columns = np.ascontiguousarray(weights.T)
        messages = (Message("frame", table, column.tobytes()) for table, column in zip(tables, columns, strict=True))
        return RecordedRun(experiment, opening, tuple(map(conversation.frame, messages)))
    except (zipfile.BadZipFile, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        # MessageError and ExperimentError are ValueErrors
        if isinstance(error, RecordingError):
            raise
        raise RecordingError("the recording cannot be read ({error})", error=str(error)[:80]) from error


# -- of the presets ----------------------------------------------------------------------------------------------------


@cache
def recording(name: str) -> RecordedRun | None:
    """The recorded run of a preset; None if there is none. Raises RecordingError."""
    path = FOLDER / f"{name}.npz"
    return replace(read_recording(path.read_bytes()), id=f"recorded-{name}") if path.is_file() else None


def recorded_runs(name: str) -> list[RecordedRun]:
    """The recorded run of a preset, after that of its reference."""
    names = [PARTNERS[name], name] if name in PARTNERS else [name]
    return [run for run in map(recording, names) if run is not None]


def recorded_names(runs: Sequence[RecordedRun]) -> list[str]:
    """Short names of the recorded runs of a preset; two are named by what they differ in."""
    if len(runs) != 2:
        return labels([run.experiment for run in runs])
    first, second = (run.experiment for run in runs)
    return [comma_list(differences_words(*pair)) for pair in ((first, second), (second, first))]


def recorded_reference(experiment: Experiment) -> RecordedRun | None:
    """The recorded run to compare an experiment with: that of its preset's partner, or one that differs, beside the
    seed, in one part of which the paper predicts something."""
    for name, other in PARTNERS.items():
        if set(experiment.differences(PRESETS[name])) <= {"seed"}:
            return recording(other)
    for name in PRESETS:
        if name not in PARTNERS and (run := recording(name)) is not None:
            key, forward = prediction(run.experiment, experiment)
            if key and forward:
                return run
    return None
