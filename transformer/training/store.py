"""Storage of a run's state, weights and log: in a folder, or in memory if no file may be written."""

import csv
import dataclasses
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from transformer.files import write_whole
from transformer.texts import N_
from transformer.training.settings import FIELDS, Progress, TrainingError

Weights = Mapping[str, Tensor]
State = tuple[dict[str, Any], dict[str, Tensor]]
Row = dict[str, Any]


def log_bytes(rows: list[Row]) -> bytes:
    """training.csv."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def joined(rows: list[Row], entry: Progress) -> list[Row]:
    """The rows with one more, without rows of steps that are trained again."""
    return [*(row for row in rows if int(row["step"]) < entry.step), dataclasses.asdict(entry)]


def damaged(path: Path) -> TrainingError:
    """The error for a saved state that cannot be read."""
    return TrainingError(
        N_("the saved state in {path} is damaged, so training cannot resume; remove the folder to start again"),
        path=path,
    )


class Memory:
    """Keeps the weights to average and the log in memory, and writes nothing. It needs no saved state, because a
    stopped trainer can simply continue."""

    path = Path("run")  # the name of the model

    def __init__(self) -> None:
        self._kept: dict[int, Weights] = {}
        self._rows: list[Row] = []

    def prepare(self) -> None:
        pass

    def state(self) -> State | None:
        return None

    def save(self, about: dict[str, Any], tensors: Weights) -> None:
        pass

    def clear(self) -> None:
        pass

    def keep(self, step: int, weights: Weights, last: int) -> None:
        """Keep these weights, and with them at most `last` states."""
        self._kept[step] = weights
        for old in sorted(self._kept)[:-last]:
            del self._kept[old]

    def kept(self) -> Iterator[Weights]:
        yield from self._kept.values()

    def snapshot(self, step: int, weights: Weights) -> None:
        pass

    def log(self, entry: Progress) -> None:
        self._rows = joined(self._rows, entry)

    def log_bytes(self) -> bytes:
        """training.csv; empty before its first row."""
        return log_bytes(self._rows) if self._rows else b""


class Folder:
    """state.json and state-STEP.safetensors (the last saved state), states/ (weights to average), snapshots/ and
    training.csv in one folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def prepare(self) -> None:
        (self.path / "states").mkdir(parents=True, exist_ok=True)

    def state(self) -> State | None:
        """The last saved state, or None. Raises TrainingError if it is damaged."""
        if not (self.path / "state.json").exists():
            return None
        try:
            about = json.loads((self.path / "state.json").read_text(encoding="utf-8"))
            return about, load_file(self.path / about["tensors"])
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            raise damaged(self.path) from error

    def save(self, about: dict[str, Any], tensors: Weights) -> None:
        """Save everything needed to resume, completely or not at all; state.json, written last, names its tensors."""
        name = f"state-{about['step']}.safetensors"
        write_whole(self.path / name, save(dict(tensors)))
        write_whole(self.path / "state.json", json.dumps({"tensors": name, **about}, indent=1).encode())
        # Remove older states and partial files of a killed process.
        for old in (*self.path.glob("state-*.safetensors"), *self.path.glob(".state-*.partial")):
            if old.name != name:
                old.unlink()

    def clear(self) -> None:
        """Remove the files of a run that ended before its first saved state."""
        for pattern in ("training.csv", "states/*.safetensors", "snapshots/*.safetensors"):
            for old in self.path.glob(pattern):
                old.unlink()

    def _states(self) -> list[Path]:
        return sorted((self.path / "states").glob("*.safetensors"))

    def keep(self, step: int, weights: Weights, last: int) -> None:
        write_whole(self.path / "states" / f"{step:08d}.safetensors", save(dict(weights)))
        for old in self._states()[:-last]:
            old.unlink()

    def kept(self) -> Iterator[Weights]:
        for file in self._states():
            yield load_file(file)

    def snapshot(self, step: int, weights: Weights) -> None:
        (self.path / "snapshots").mkdir(exist_ok=True)
        half = {name: tensor.to(torch.float16) for name, tensor in weights.items()}
        write_whole(self.path / "snapshots" / f"{step:08d}.safetensors", save(half))

    def log(self, entry: Progress) -> None:
        log = self.path / "training.csv"
        rows = list(csv.DictReader(io.StringIO(log.read_text(encoding="utf-8")))) if log.exists() else []
        write_whole(log, log_bytes(joined(rows, entry)))

    def log_bytes(self) -> bytes:
        log = self.path / "training.csv"
        return log.read_bytes() if log.exists() else b""


AnyStore = Folder | Memory
