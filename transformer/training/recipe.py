"""Recipes: TOML files that name data, tokenizer, model, schedule and decoding of a training run."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from transformer.training.data import DataError

Table = dict[str, dict[str, Any]]
SECTIONS = ("data", "tokenizer", "model", "training", "decoding")


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"the recipe {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"the recipe {path} is not TOML: {error}") from error


def read_recipe(path: Path, _above: tuple[Path, ...] = ()) -> Table:
    """The sections of a recipe, each a table of names and values.

    `like = "other.toml"` at its top, a path beside the file, begins with the other recipe's values; a recipe that
    differs in one line says that line only. Raises DataError.
    """
    path = Path(path)
    if path.resolve() in _above:
        raise DataError(f"the recipe {path} is like itself; remove a `like`")
    values = _read(path)
    like = values.pop("like", None)
    if like is not None and not isinstance(like, str):
        raise DataError(f"{path}: like is {like!r}; the name of another recipe is allowed")
    merged: Table = read_recipe(path.parent / like, (*_above, path.resolve())) if like else {}
    for name, section in values.items():
        if name not in SECTIONS or not isinstance(section, dict):
            raise DataError(f"{path}: {name!r} is no section of a recipe; there are {', '.join(SECTIONS)}")
        merged[name] = {**merged.get(name, {}), **section}
    return merged
