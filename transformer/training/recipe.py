"""Recipes: TOML files that name data, tokenizer, model, schedule and decoding of a training run."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from transformer.files import read_text
from transformer.texts import Text
from transformer.training.data import DataError
from transformer.training.settings import Settings

Table = dict[str, dict[str, Any]]
LARGEST = 1_000_000  # bytes


def _whole(value: Any) -> bool:
    return type(value) is int and value > 0


def _two(value: Any, kind: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(kind, value))


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value  # a file name cannot contain it


def _any(value: Any) -> bool:
    return True


WHOLE = (_whole, Text("a whole number above 0"))
TEXT = (_text, Text("a text"))
TEXTS = (lambda value: _two(value, _text), Text("a list of two texts"))
FILES = (lambda value: _text(value) or TEXTS[0](value), Text("the name of a file, or a list of two"))
CHECKED = (_any, "")  # ModelConfig, Settings and Augmentation check these fields
MODEL_FIELDS = (
    "d_model", "d_ff", "heads", "encoder_layers", "decoder_layers", "dropout", "attention_dropout", "activation",
    "norm", "positions", "max_positions", "d_k", "scaling", "causal", "residual",
)  # fmt: skip
# section -> name of a value -> its check, and the allowed values as text
SECTIONS: dict[str, dict[str, tuple[Callable[[Any], bool], Text | str]]] = {
    "data": {
        "task": TEXT,
        "count": WHOLE,
        "lengths": (lambda value: _two(value, _whole), Text("a list of two whole numbers above 0")),
        "seed": (lambda value: type(value) is int, Text("a whole number")),
        "alphabet": TEXT,
        "shift": WHOLE,
        "held_out": WHOLE,
        "train": FILES,
        "validation": FILES,
        "test": FILES,
        "languages": TEXTS,
        "codes": TEXTS,
        "preparation": TEXT,
    },
    "tokenizer": {"kind": TEXT, "vocab_size": WHOLE},
    "model": {
        "preset": TEXT,
        **dict.fromkeys(MODEL_FIELDS, CHECKED),
    },
    "training": {
        **{field.name: CHECKED for field in fields(Settings)},
        "augmentation": (lambda value: isinstance(value, dict), Text("a table of shares")),
    },
    "decoding": {
        "beam": (lambda value: _whole(value) and value <= 64, Text("a whole number from 1 to 64")),
        "length_penalty": (
            lambda value: type(value) in (int, float) and 0 <= value < 10,
            Text("a number from 0 up to 10"),
        ),
    },
}


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path, LARGEST).replace("\r\n", "\n"))
    except OSError as error:
        raise DataError("the recipe {path} cannot be read: {reason}", path=path, reason=error.strerror) from error
    except (ValueError, RecursionError) as error:  # also for numbers with thousands of digits and very deep lists
        raise DataError("the recipe {path} is not TOML: {error}", path=path, error=error) from error


def read_recipe(path: Path, changes: Sequence[str] = ()) -> Table:
    """The sections of a recipe, each a table of names and values.

    `like = "other.toml"` at its top, a path relative to the file, starts from the values of another recipe. changes:
    "section.name=value", which override the file; values as in TOML, text also without quotation marks. Raises
    DataError for unknown names and invalid values.
    """
    recipe = _with_like(Path(path), ())
    for change in changes:
        dotted_name, equals, text = change.partition("=")
        *sections, name = dotted_name.strip().split(".")
        if not equals or not sections:
            raise DataError("{change!r} is not SECTION.NAME=VALUE; write for example training.steps=100", change=change)
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            value = text.strip()
        for section in (name, *reversed(sections)):
            value = {section: value}
        recipe = _over(recipe, _checked(value, change))
    return recipe


def task_of(recipe: Table) -> dict[str, Any] | None:
    """ "name", "count", "lengths" and "seed" of a recipe's toy task, and "alphabet", "shift" and "held_out" if given;
    None if it has no task. Raises DataError."""
    data = recipe.get("data", {})
    if "task" not in data:
        return None
    if not data.keys() >= {"task", "count", "lengths", "seed"}:
        raise DataError("a recipe with a task needs task, count, lengths = [LOW, HIGH] and seed in [data]")
    names = ("count", "lengths", "seed", "alphabet", "shift", "held_out")
    return {"name": data["task"], **{name: data[name] for name in names if name in data}}


def files_of(recipe: Table, name: str) -> list[Path] | None:
    """The files a recipe names as "train", "validation" or "test"."""
    value = recipe.get("data", {}).get(name)
    return None if value is None else [Path(item) for item in ([value] if isinstance(value, str) else value)]


def _with_like(path: Path, above: tuple[Path, ...]) -> Table:
    if path.resolve() in above:
        raise DataError("the recipe {path} refers to itself; remove a `like`", path=path)
    values = _read(path)
    like = values.pop("like", None)
    if like is not None and not _text(like):
        raise DataError("{path}: like is {like!r}; give the name of another recipe", path=path, like=like)
    below = _with_like(path.parent / like, (*above, path.resolve())) if like else {}
    return _over(below, _checked(values, str(path)))


def _checked(values: dict[str, Any], where: str) -> Table:
    """The same sections, after checking all values. where: file or option, for the message."""
    for name, section in values.items():
        if name not in SECTIONS or not isinstance(section, dict):
            raise DataError(
                "{where}: unknown section {name!r}; choose {sections}",
                where=where,
                name=name,
                sections=", ".join(SECTIONS),
            )
        for key, value in section.items():
            if key not in SECTIONS[name]:
                raise DataError(
                    "{where}: [{name}] has no {key!r}; choose {keys}",
                    where=where,
                    name=name,
                    key=key,
                    keys=", ".join(SECTIONS[name]),
                )
            fits, allowed = SECTIONS[name][key]
            if not fits(value):
                raise DataError(
                    "{where}: {key} in [{name}] is {value!r}; it must be {allowed}",
                    where=where,
                    key=key,
                    name=name,
                    value=value,
                    allowed=allowed,
                )
    return values


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Merge two tables. If both have a value, the second wins; if both have a table, these are merged too."""
    joined = {
        name: _over(below[name], value) if isinstance(value, dict) and isinstance(below.get(name), dict) else value
        for name, value in above.items()
    }
    return {**below, **joined}
