"""Messages of a worker process to the server. Every length, kind, type and number is checked.

A message is 4 bytes length of the header, 4 bytes length of the body (both little-endian), the header as JSON and the
body. A faulty worker can neither fill the server's memory nor stop the reading thread.
"""

from __future__ import annotations

import itertools
import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from transformer.live_training.frames import LARGEST, MOST
from transformer.texts import N_, Text

LENGTHS = struct.Struct("<II")
HEADER = 64_000  # bytes; an opening with 64 tokens per side takes 3,000
RESULT = 50_000_000  # bytes of a trained model's zip: 12 million parameters with 4 bytes each
WEIGHTS = 2 * LARGEST  # bytes of all frames of a run; a stopped run records one more frame than planned
FRAMES = 2 * MOST
STEPS = 1_000_000
TEXT = 2_000  # characters of one text, also of an error message
TEXTS = 200  # tokens of a sentence, outputs of a frame
KINDS = ("ready", "opening", "frame", "pulse", "done", "failed")
REASONS = ("steps", "stopped", "time")
# The worker has no language, so it sends these texts as they are, with the name of the exception, and the server
# translates them. Other errors it sends as English sentences.
TOO_LARGE = N_("this training needs more memory than is allowed here; choose a smaller model, batch or length")
CRASHED = N_("the training failed ({exception}); the server's log has the details")


class MessageError(ValueError):
    """Bytes that are not a valid message of a worker."""


@dataclass(frozen=True)
class Message:
    """kind: one of KINDS; values: the rest of the header."""

    kind: str
    values: dict[str, Any]
    body: bytes = b""


def write(stream: BinaryIO, kind: str, values: Mapping[str, Any], body: bytes = b"") -> None:
    """Send a message at once. Raises OSError if the reader is gone, ValueError for a number that JSON does not have."""
    header = json.dumps({"kind": kind, **values}, allow_nan=False, separators=(",", ":")).encode()
    stream.write(LENGTHS.pack(len(header), len(body)) + header + body)
    stream.flush()


def _exactly(stream: BinaryIO, count: int, what: str) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError(f"{what} ended after {len(data):,} of {count:,} bytes")
    return data


def _refuse(text: str) -> Any:
    raise MessageError(f"{text[:20]} is not a number")


def read(stream: BinaryIO) -> Message | None:
    """The next message; None at the end. Raises MessageError, EOFError inside a message, OSError."""
    start = stream.read(LENGTHS.size)
    if not start:
        return None
    if len(start) < LENGTHS.size:
        raise EOFError(f"a message ended after {len(start)} of {LENGTHS.size} bytes")
    header_size, body_size = LENGTHS.unpack(start)
    if header_size > HEADER:
        raise MessageError(f"a header of {header_size:,} bytes; at most {HEADER:,} are allowed")
    header = _exactly(stream, header_size, "a header")
    try:
        values = json.loads(header, parse_constant=_refuse)
    except MessageError:
        raise
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError; so are 5,000 digits
        raise MessageError(f"a header that is not JSON ({str(error)[:80]})") from None
    if not isinstance(values, dict) or values.get("kind") not in KINDS:
        raise MessageError(f"a header of an unknown kind; the kinds are {', '.join(KINDS)}")
    kind = str(values.pop("kind"))
    most = {"frame": WEIGHTS, "done": RESULT}.get(kind, 0)
    if body_size > most:
        raise MessageError(f"{body_size:,} bytes after the header of {kind!r}; at most {most:,} are allowed")
    return Message(kind, values, _exactly(stream, body_size, "a body") if body_size else b"")


# -- one value ---------------------------------------------------------------------------------------------------------


def whole(values: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """Raises MessageError."""
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise MessageError(f"{name} is {str(value)[:40]!r}; a whole number from {low:,} to {high:,} is expected")
    return value


def number(values: Mapping[str, Any], name: str, high: float = math.inf, optional: bool = False) -> float | None:
    """From 0 to `high`; None where it may be absent. Raises MessageError."""
    value = values.get(name)
    if value is None and optional:
        return None
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= high
    if value is None or not fits or value > 1e300:  # 10**400 is an int that no float can hold
        raise MessageError(f"{name} is {str(value)[:40]!r}; a number from 0 to {high:g} is expected")
    return float(value)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or len(value) > TEXT:
        raise MessageError(f"{name}: a text of at most {TEXT:,} characters is expected")
    if any("\ud800" <= character <= "\udfff" for character in value):  # valid in JSON, but cannot be sent to a browser
        raise MessageError(f"{name}: half of a surrogate pair")
    return value


def texts(values: Mapping[str, Any], name: str, count: int | None = None) -> tuple[str, ...]:
    """A list of texts, exactly `count` if given. Raises MessageError."""
    value = values.get(name)
    if not isinstance(value, list) or len(value) > TEXTS or (count is not None and len(value) != count):
        raise MessageError(f"{name}: a list of {f'at most {TEXTS}' if count is None else count} texts is expected")
    return tuple(_text(text, name) for text in value)


# -- the messages of one run -------------------------------------------------------------------------------------------


@dataclass
class Checked:
    """Checks the messages of one run against the earlier ones. Each method raises MessageError.

    steps: most steps of its experiment; the sizes of a frame follow from the opening.
    """

    steps: int = STEPS
    opened: bool = False
    bytes_a_frame: int = 0
    rows: int = 0
    outputs: int = 0
    at: int = -1  # step of the last frame
    frames: int = 0

    def opening(self, message: Message) -> None:
        values = message.values
        if self.opened:
            raise MessageError("a second opening")
        for name in ("source", "target"):
            _text(values.get(name), name)
        tokens = {name: len(texts(values, name)) for name in ("source_tokens", "target_in", "target_out")}
        if not tokens["source_tokens"] or not tokens["target_in"] or tokens["target_in"] != tokens["target_out"]:
            raise MessageError(f"an opening with {', '.join(f'{count} {name}' for name, count in tokens.items())}")
        layers, heads = (whole(values, name, 1, 64) for name in ("layers", "heads"))
        source, target = tokens["source_tokens"], tokens["target_in"]
        self.bytes_a_frame = layers * heads * (source * source + target * target + target * source)
        self.rows = target
        if self.bytes_a_frame > WEIGHTS:
            raise MessageError(f"frames of {self.bytes_a_frame:,} bytes; at most {WEIGHTS:,} are allowed")
        recorded = values.get("recorded")
        if not isinstance(recorded, list) or not 1 <= len(recorded) <= FRAMES:
            raise MessageError(f"recorded: a list of 1 to {FRAMES} steps is expected")
        steps = [whole({"recorded": step}, "recorded", 0, self.steps) for step in recorded]
        if any(later <= step for step, later in itertools.pairwise(steps)):
            raise MessageError("recorded: the steps do not increase")
        whole(values, "parameters", 1, 10**10)
        whole(values, "unseen", 0, 10**6)
        shown = values.get("shown")
        if not isinstance(shown, list) or len(shown) > TEXTS:
            raise MessageError(f"shown: a list of at most {TEXTS} pairs is expected")
        for pair in shown:
            texts({"shown": pair}, "shown", 2)
        self.outputs, self.opened = len(shown), True

    def frame(self, message: Message) -> None:
        values = message.values
        if not self.opened:
            raise MessageError("a frame without an opening")
        step = whole(values, "step", 0, self.steps)
        if step <= self.at:
            raise MessageError(f"a frame of step {step:,} after a frame of step {self.at:,}")
        if len(message.body) != self.bytes_a_frame:
            raise MessageError(f"{len(message.body):,} bytes of weights; the opening announced {self.bytes_a_frame:,}")
        self.frames += 1
        if self.frames > FRAMES or self.frames * self.bytes_a_frame > WEIGHTS:
            raise MessageError(f"{self.frames:,} frames; at most {FRAMES} and {WEIGHTS:,} bytes are allowed")
        number(values, "seconds")
        number(values, "rate")
        for name in ("loss", "validation_loss"):
            number(values, name, optional=True)
        for name in ("forced", "exact"):
            number(values, name, 1.0, optional=True)
        texts(values, "outputs", self.outputs)
        texts(values, "predicted", self.rows)
        self.at = step

    def pulse(self, message: Message) -> tuple[int, float]:
        """Step and seconds."""
        return whole(message.values, "step", 0, self.steps), number(message.values, "seconds") or 0.0

    def done(self, message: Message) -> str:
        """The reason."""
        reason = message.values.get("reason")
        if reason not in REASONS:
            raise MessageError(f"reason is {str(reason)[:40]!r}; one of {', '.join(REASONS)} is expected")
        whole(message.values, "step", 0, self.steps)
        return str(reason)

    def failed(self, message: Message) -> Text | str:
        """The error message for the viewer."""
        error = _text(message.values.get("error"), "error")
        if error in (TOO_LARGE, CRASHED):
            return Text(error, exception=_text(message.values.get("exception"), "exception"))
        return error
