"""Importers: checkpoints of other projects, opened as our own model."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from transformer.checkpoints.folder import CONFIG, Checkpoint, CheckpointError, language, load_checkpoint, read_json
from transformer.checkpoints.importers import t5
from transformer.checkpoints.importers.bart import BART, Family, load_family
from transformer.checkpoints.importers.m2m_100 import M2M
from transformer.checkpoints.importers.marian import MARIAN
from transformer.checkpoints.importers.mbart import MBART
from transformer.checkpoints.importers.pegasus import PEGASUS
from transformer.checkpoints.importers.tokenizers import OPTIONS, languages_in
from transformer.model.transformer import Transformer

__all__ = ["IMPORTERS", "KINDS", "languages_of", "open_folder"]

FAMILIES = {"marian": MARIAN, "bart": BART, "mbart": MBART, "m2m_100": M2M, "pegasus": PEGASUS}
# model_type in config.json -> what `headscope get` has to know
KINDS: dict[str, Family | t5.Kind] = {**FAMILIES, **dict.fromkeys(t5.MODEL_TYPES, t5.T5)}
# model_type in config.json -> what reads the folder
IMPORTERS: dict[str, Callable[[Path], Checkpoint[Transformer]]] = {
    **{kind: partial(load_family, family) for kind, family in FAMILIES.items()},
    **dict.fromkeys(t5.MODEL_TYPES, t5.load_t5),
}


def open_folder(path: Path) -> Checkpoint[Transformer]:
    """The checkpoint in a folder, ours or of IMPORTERS. Raises CheckpointError."""
    path = Path(path)
    return IMPORTERS.get(_model_type(_values(path / CONFIG)), load_checkpoint)(path)


def languages_of(path: Path) -> tuple[str, str]:
    """Source and target of the checkpoint in a folder, as `open_folder` would give them, without opening it."""
    about = _values(path / CONFIG)
    if _model_type(about) in IMPORTERS:
        return languages_in(_values(path / OPTIONS))
    return language(about.get("source"), "source"), language(about.get("target"), "target")


def _values(path: Path) -> dict[str, Any]:
    """The values in a JSON file; none if it cannot be read, which whoever opens the checkpoint reports."""
    try:
        values = read_json(path)
    except CheckpointError:
        return {}
    return values if isinstance(values, dict) else {}


def _model_type(about: dict[str, Any]) -> str:
    """The model_type of Hugging Face; "" for a model of ours."""
    return "" if "architecture" in about else str(about.get("model_type"))
