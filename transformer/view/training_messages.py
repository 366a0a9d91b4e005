"""Messages of the browser to the Training page: requests, commands, files. All are untrusted.

Every message of the picture has a number that rises; the pack that answers it carries the same one (`training_pack`).
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from transformer.model.tap import KINDS
from transformer.texts import UserError

COMMANDS = ("pause", "go", "stop", "again", "remove")
PLACE_CHOICES = {
    "kinds": ("all", *KINDS),
    "kind": KINDS,
    "rows": ("predicted", "fed"),
    "log": ("on", "off"),
}
LAST = 63  # index of the last layer and head there may be; the picture shows the last that there is
LARGEST_FILE = 16_000_000  # bytes; the browser says so before it reads a larger one


class FileError(UserError):
    """A file that cannot be read."""


@dataclass(frozen=True)
class Place:
    """What a viewer looks at; layer, head and run count from 1.

    run: among the runs shown; step: the one it is held at, -1 while it plays
    kinds: of attention, one of KINDS or "all"; kind, layer, head: of the enlarged head
    rows: labels of decoder rows; log: whether losses have a logarithmic axis
    """

    run: int
    step: int
    kinds: str
    kind: str
    layer: int
    head: int
    rows: str
    log: str


@dataclass(frozen=True)
class ViewerMessage:
    """have: run id -> frames the browser holds, or None if it did not say; number: of the message, 0 without one;
    run, do: a command for a run, or two empty texts; place: what is looked at, if the browser says so, in the
    scene of the pack that it shows."""

    have: Mapping[str, int] | None = None
    number: int = 0
    run: str = ""
    do: str = ""
    place: Place | None = None
    scene: str = ""


@dataclass(frozen=True)
class File:
    """A file that a viewer chose. Its name is untrusted: show it as text, never use it as a path."""

    name: str
    data: bytes = field(repr=False)


def _count(value: Any) -> int | None:
    """A whole number from 0 on that JSON brought, or None; JavaScript has no other than floating ones."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return None
    return int(value) if value == int(value) else None


def _have(value: Any, ids: tuple[str, ...]) -> Mapping[str, int] | None:
    if not isinstance(value, Mapping):
        return None
    counts = {run: _count(value.get(run, 0)) for run in ids}
    return {run: count for run, count in counts.items() if count is not None}


def _place(value: Any) -> Place | None:
    if not isinstance(value, Mapping):
        return None
    whole = {name: _count(value.get(name)) for name in ("run", "layer", "head")}
    step = value.get("step")
    values = {**whole, "step": -1 if step == -1 else _count(step)}
    values |= {name: value.get(name) if value.get(name) in choices else None for name, choices in PLACE_CHOICES.items()}
    return None if None in values.values() else Place(**values)  # type: ignore[arg-type]


def read_message(ask: Any, command: Any, ids: tuple[str, ...]) -> ViewerMessage:
    """What the triggers "ask" and "command" of the picture bring; whatever does not fit is as if it had not come.

    ids: of the runs that there are.
    """
    brought = command if isinstance(command, Mapping) else ask
    if not isinstance(brought, Mapping):
        return ViewerMessage()
    scene = brought.get("scene")
    asked = ViewerMessage(
        _have(brought.get("have"), ids),
        _count(brought.get("n")) or 0,
        place=_place(brought.get("place")),
        scene=scene if isinstance(scene, str) else "",
    )
    run, do = brought.get("run"), brought.get("do")
    if isinstance(run, str) and run in ids and isinstance(do, str) and do in COMMANDS:
        return replace(asked, run=run, do=do)
    return asked


def read_file(value: Any) -> File | None:
    """The file that the trigger "file" of training_file.js brings, or None without one. Raises FileError."""
    if not isinstance(value, Mapping):
        return None
    name, data = value.get("name"), value.get("data")
    if not isinstance(name, str) or not isinstance(data, str):
        raise FileError("the file is missing; choose it again")
    if len(data) > (LARGEST_FILE + 2) // 3 * 4:
        raise FileError(
            "the file has more than {megabytes:.0f} MB; choose a smaller one",
            megabytes=LARGEST_FILE / 1e6,
        )
    try:
        return File(name[:200], base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError) as error:
        raise FileError("the file was damaged on the way; choose it again") from error
