"""Messages of a worker process to the server. Every length, kind, type and number is checked.

A message is 4 bytes length of the header, 4 bytes length of the body (both little-endian), the header as JSON and the
body. A faulty worker cannot fill the server's memory.
"""

import itertools
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from reprlib import repr as shown
from typing import Any, BinaryIO

from transformer.checks import Rule, number, one_of, optional, whole
from transformer.live_training.frames import LARGEST, MOST, Frame, Opening
from transformer.texts import N_, Text

LENGTHS = struct.Struct("<II")
HEADER = 64_000  # bytes; an opening with 64 tokens per side takes 3,000
RESULT = 50_000_000  # bytes of a trained model's zip: 12 million parameters with 4 bytes each
WEIGHTS = 2 * LARGEST  # bytes of all frames of a run; a stopped run records one more frame than planned
FRAMES = 2 * MOST
STEPS = 1_000_000
TEXT = 2_000  # characters of one text, also of an error message
TEXTS = 200  # tokens of a sentence, outputs of a frame
KINDS = ("ready", "opening", "frame", "progress", "done", "failed")
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


def _read_exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError(f"a message ended {count - len(data):,} bytes too early")
    return data


def _refuse(text: str) -> Any:
    raise MessageError(f"{text[:20]} is not a number")


def read(stream: BinaryIO) -> Message | None:
    """The next message; None at the end. Raises MessageError, EOFError inside a message, OSError."""
    start = stream.read(1)
    if not start:
        return None
    header_size, body_size = LENGTHS.unpack(start + _read_exactly(stream, LENGTHS.size - 1))
    if header_size > HEADER:
        raise MessageError(f"a header of {header_size:,} bytes; at most {HEADER:,} are allowed")
    header = _read_exactly(stream, header_size)
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
    return Message(kind, values, _read_exactly(stream, body_size))


# -- rules for the values of a message ---------------------------------------------------------------------------------


def _is_text(value: Any) -> bool:
    """Half of a surrogate pair is valid in JSON, but cannot be sent to a browser."""
    return isinstance(value, str) and len(value) <= TEXT and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _list_of(fits: Any, low: int, high: int, what: str) -> Rule:
    """A list of `low` to `high` values that fit."""

    def is_list(value: Any) -> bool:
        return isinstance(value, list) and low <= len(value) <= high and all(map(fits, value))

    return is_list, f"a list of {low if low == high else f'{low} to {high}'} {what}"


def _texts(low: int, high: int) -> Rule:
    return _list_of(_is_text, low, high, "texts")


TEXT_RULE: Rule = _is_text, f"a text of at most {TEXT:,} characters"
AMOUNT = number(lambda value: 0 <= value <= 1e300, "a number from 0 on")  # 10**400 is an int that no float can hold
SHARE = number(lambda value: 0 <= value <= 1, "a number from 0 to 1")
OPENING_RULES = {
    **dict.fromkeys(("source", "target"), TEXT_RULE),
    **dict.fromkeys(("source_tokens", "target_in", "target_out"), _texts(1, TEXTS)),
    **dict.fromkeys(("layers", "heads"), whole(1, 64)),
    "recorded": _list_of(lambda step: type(step) is int and step >= 0, 1, FRAMES, "steps"),
    "parameters": whole(1, 10**10),
    "unseen": whole(0, 10**6),
    "shown": _list_of(_texts(2, 2)[0], 0, TEXTS, "pairs of texts"),
}
FRAME_RULES = {
    **dict.fromkeys(("seconds", "rate"), AMOUNT),
    **dict.fromkeys(("loss", "validation_loss"), optional(AMOUNT, "{allowed}, or none")),
    **dict.fromkeys(("forced", "exact"), optional(SHARE, "{allowed}, or none")),
}


def check(values: Any, rules: Mapping[str, Rule]) -> None:
    """Raises MessageError for the first value that its rule does not allow."""
    for name, (fits, allowed) in rules.items():
        if not fits(value := values.get(name)):
            raise MessageError(f"{name} is {shown(value)[:40]}; {allowed} is expected")


class Conversation:
    """Checks the messages of one run, each against those before it. Each method raises MessageError.

    steps: most steps of its experiment.
    """

    def __init__(self, steps: int = STEPS) -> None:
        self.first: Opening | None = None
        self._step_rule = {"step": whole(0, steps)}
        self._steps = steps
        self._last_step, self._frames = -1, 0

    def opening(self, message: Message) -> Opening:
        if self.first is not None:
            raise MessageError("a second opening")
        check(message.values, OPENING_RULES)
        opening = Opening.from_dict(message.values)
        if len(opening.target_in) != len(opening.target_out):
            raise MessageError(f"{len(opening.target_in)} tokens target_in and {len(opening.target_out)} target_out")
        if opening.frame_bytes > WEIGHTS:
            raise MessageError(f"frames of {opening.frame_bytes:,} bytes; at most {WEIGHTS:,} are allowed")
        if any(later <= step for step, later in itertools.pairwise(opening.recorded)):
            raise MessageError("recorded: the steps do not increase")
        if opening.recorded[-1] > self._steps:
            raise MessageError(f"step {opening.recorded[-1]} is recorded; the run has {self._steps:,}")
        self.first = opening
        return opening

    def frame(self, message: Message) -> Frame:
        if self.first is None:
            raise MessageError("a frame without an opening")
        rows, outputs, size = len(self.first.target_out), len(self.first.shown), self.first.frame_bytes
        texts = {"outputs": _texts(outputs, outputs), "predicted": _texts(rows, rows)}
        check(message.values, {**self._step_rule, **FRAME_RULES, **texts})
        frame = Frame.from_message(message.values, message.body)
        if frame.step <= self._last_step:
            raise MessageError(f"a frame of step {frame.step:,} after a frame of step {self._last_step:,}")
        if len(frame.weights) != size:
            raise MessageError(f"{len(frame.weights):,} bytes of weights; the opening announced {size:,}")
        self._last_step, self._frames = frame.step, self._frames + 1
        if self._frames > FRAMES or self._frames * size > WEIGHTS:
            raise MessageError(f"{self._frames:,} frames; at most {FRAMES} and {WEIGHTS:,} bytes are allowed")
        return frame

    def progress(self, message: Message) -> tuple[int, float]:
        """Step, and seconds of a core."""
        check(message.values, {**self._step_rule, "seconds": AMOUNT})
        return message.values["step"], float(message.values["seconds"])

    def done(self, message: Message) -> tuple[str, int]:
        """The reason, and the last step."""
        check(message.values, {**self._step_rule, "reason": one_of(REASONS)})
        return message.values["reason"], message.values["step"]

    def failed(self, message: Message) -> Text | str:
        """The error message for the viewer."""
        check(message.values, {"error": TEXT_RULE})
        error: str = message.values["error"]
        if error in (TOO_LARGE, CRASHED):
            check(message.values, {"exception": TEXT_RULE})
            return Text(error, exception=message.values["exception"])
        return error
