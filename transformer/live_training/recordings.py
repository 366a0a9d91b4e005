"""Recorded trainings: one small file for each preset, which the Training page plays without training anything.

A file is an .npz without pickled objects: `header`, the bytes of a JSON object {"experiment", "opening", "frames"}, and
`weights`, uint8 [bytes of a frame, frames], where each frame holds its difference from the frame before, modulo 256.
`python -m transformer.live_training.record` writes them.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from transformer.files import write_whole
from transformer.live_training.experiment import Experiment
from transformer.live_training.frames import Frame, Opening
from transformer.live_training.messages import FRAMES, WEIGHTS, Checked, Message, MessageError
from transformer.texts import UserError

FOLDER = Path(__file__).parent / "recordings"
ARRAYS = {"header.npy": 2_000_000, "weights.npy": WEIGHTS}  # the most bytes of each
DIGITS = 6


class RecordingError(UserError):
    """A file that holds no recording."""


@dataclass(frozen=True)
class Recording:
    """A training from its opening to its last step."""

    experiment: Experiment
    opening: Opening
    frames: tuple[Frame, ...]


def _table(frame: Frame) -> dict[str, object]:
    """The numbers of a frame, rounded; without the seconds, which depend on the machine."""
    table = {**frame.to_message()[0], "seconds": 0.0}
    return {name: round(value, DIGITS) if isinstance(value, float) else value for name, value in table.items()}


def recording_bytes(experiment: Experiment, opening: Opening, frames: Sequence[Frame]) -> bytes:
    header = {
        "experiment": experiment.to_dict(),
        "opening": opening.to_dict(),
        "frames": [_table(frame) for frame in frames],
    }
    weights = np.stack([np.frombuffer(frame.weights, np.uint8) for frame in frames], 1)
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


def read_recording(data: bytes) -> Recording:
    """Check everything as if a worker had sent it. Raises RecordingError."""
    try:
        header, weights = _arrays(io.BytesIO(data))
        values = json.loads(header)
        experiment = Experiment.from_dict(values["experiment"])
        checked = Checked(experiment.steps)
        checked.opening(Message("opening", values["opening"]))
        tables = values["frames"]
        if not isinstance(tables, list) or not 2 <= len(tables) <= FRAMES or len(tables) != weights.shape[1]:
            raise MessageError(f"{weights.shape[1]} frames of weights")
        frames = []
        for table, column in zip(tables, np.ascontiguousarray(weights.T), strict=True):
            message = Message("frame", table, column.tobytes())
            checked.frame(message)
            frames.append(Frame.from_message(table, message.body))
        return Recording(experiment, Opening.from_dict(values["opening"]), tuple(frames))
    except (zipfile.BadZipFile, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        # MessageError and ExperimentError are ValueErrors
        if isinstance(error, RecordingError):
            raise
        raise RecordingError("the recording cannot be read ({error})", error=str(error)[:80]) from error


def write_recording(name: str, data: bytes) -> None:
    FOLDER.mkdir(exist_ok=True)
    write_whole(FOLDER / f"{name}.npz", data)


@cache
def recording(name: str) -> Recording | None:
    """The recording of a preset; None if there is none. Raises RecordingError."""
    path = FOLDER / f"{name}.npz"
    return read_recording(path.read_bytes()) if path.is_file() else None
