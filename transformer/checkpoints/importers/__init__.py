"""Importers: checkpoints of other projects, opened as our own model."""

from __future__ import annotations

from pathlib import Path

from transformer.checkpoints.folder import CONFIG, Checkpoint, CheckpointError, load_checkpoint, read_json
from transformer.checkpoints.importers.marian import MODEL_TYPE, load_marian
from transformer.model.transformer import Transformer

__all__ = ["load_marian", "open_folder"]


def open_folder(path: Path) -> Checkpoint[Transformer]:
    """The checkpoint in a folder, ours or Marian's. Raises CheckpointError."""
    path = Path(path)
    try:
        about = read_json(path / CONFIG) if (path / CONFIG).is_file() else None
    except CheckpointError:
        about = None  # `load_checkpoint` reports the problem
    if isinstance(about, dict) and about.get("model_type") == MODEL_TYPE and "architecture" not in about:
        return load_marian(path)
    return load_checkpoint(path)
