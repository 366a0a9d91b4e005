"""What a worker says, read: whatever the bytes, a message, the end, or a sentence about what is wrong."""

from __future__ import annotations

import dataclasses
import io
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import fake_worker
from transformer.live_training.frames import Frame, Opening
from transformer.live_training.messages import HEADER, KINDS, LENGTHS, Checked, Message, MessageError, read, write

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


def packed(header: bytes, body: bytes = b"") -> bytes:
    return LENGTHS.pack(len(header), len(body)) + header + body


def read_back(header: bytes, body: bytes = b"") -> Message | None:
    return read(io.BytesIO(packed(header, body)))


def opening(**other: Any) -> Message:
    return Message("opening", {**json.loads(json.dumps(fake_worker.opening(5))), **other})


def frame(step: int, body: bytes = b"\0" * fake_worker.BYTES, **other: Any) -> Message:
    return Message("frame", {**fake_worker.frame(step), **other}, body)


def opened() -> Checked:
    checked = Checked(5)
    checked.opening(opening())
    return checked


def test_frames_and_openings_are_received_unchanged() -> None:
    """The real types, through the bytes and the checks."""
    first = Opening.from_dict(opening().values)
    sent = Frame(1, 0.5, 0.003, 1.5, None, 0.5, None, ("b", "x"), ("b", "</s>"), b"\1" * first.frame_bytes)
    stream = io.BytesIO()
    write(stream, "opening", first.to_dict())
    table, weights = sent.to_message()
    write(stream, "frame", table, weights)
    stream.seek(0)
    checked, messages = Checked(5), (read(stream), read(stream))
    assert messages[0] and messages[1]
    checked.opening(messages[0])
    checked.frame(messages[1])
    assert Opening.from_dict(messages[0].values) == first and checked.bytes_a_frame == first.frame_bytes
    assert Frame.from_message(messages[1].values, messages[1].body) == sent


def test_weights_of_a_frame_lie_by_kind_layer_head_query_key() -> None:
    made, weights = Opening.from_dict(opening().values), bytes(range(fake_worker.BYTES))
    sent = Frame.from_message(frame(1).values, weights)
    found = sent.attention(made)
    shapes = {"encoder_self": (2, 5, 3, 3), "decoder_self": (2, 5, 2, 2), "cross": (2, 5, 2, 3)}
    assert [(kind, array.shape) for kind, array in found.items()] == list(shapes.items())
    assert found["encoder_self"][0, 0, 0, 1] == 1 and found["cross"][-1, -1, -1, -1] == 189
    assert found["decoder_self"][1, 2, 1, 0] == 90 + (1 * 5 + 2) * 4 + 2
    with pytest.raises(ValueError, match="189 bytes of weights do not fit; a frame has 190"):
        dataclasses.replace(sent, weights=weights[1:]).attention(made)


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    try:
        found = read(io.BytesIO(data))
    except (MessageError, EOFError):
        return
    assert found is None or found.kind in KINDS


@example(b"[" * 60_000)
@example(b"1" * 20_000)
@example(b'{"kind":"pulse","seconds":NaN}')
@example(b'{"kind":"hello"}')
@given(st.binary(max_size=100) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_header(header: bytes) -> None:
    with pytest.raises(MessageError):
        read_back(header)


@pytest.mark.parametrize("cut", [1, 7, 8, 20, 41])
def test_a_message_that_breaks_off(cut: int) -> None:
    data = packed(b'{"kind":"done","reason":"steps"}', b"zip")
    with pytest.raises(EOFError):
        read(io.BytesIO(data[:cut]))


def test_sizes_are_refused_before_anything_is_read() -> None:
    class Counting(io.BytesIO):
        most = 0

        def read(self, size: int | None = -1, /) -> bytes:
            Counting.most = max(Counting.most, size or 0)
            return super().read(size)

    for header, body in ((HEADER + 1, 0), (2**32 - 1, 2**32 - 1)):
        with pytest.raises(MessageError, match=rf"^a header of {header:,} bytes; at most {HEADER:,} are allowed$"):
            read(Counting(LENGTHS.pack(header, body)))
    for kind in ("ready", "pulse", "opening", "failed"):
        with pytest.raises(MessageError, match="at most 0 are allowed"):
            read(Counting(packed(json.dumps({"kind": kind}).encode(), b"x")))
    text = b'{"kind":"done"}'
    with pytest.raises(MessageError, match="at most 50,000,000"):
        read(Counting(LENGTHS.pack(len(text), 50_000_001) + text))
    assert Counting.most <= HEADER


@given(st.sampled_from(sorted(fake_worker.opening(5))), VALUES)
def test_any_value_in_an_opening(name: str, value: Any) -> None:
    """It is refused, or it is one that an Opening can be made of."""
    message = opening(**{name: value})
    try:
        Checked(5).opening(message)
    except MessageError:
        return
    found = Opening.from_dict(message.values)
    assert found.frame_bytes > 0 and all(len(pair) == 2 for pair in found.shown)


@given(st.sampled_from(sorted(fake_worker.frame(1))), VALUES)
def test_any_value_in_a_frame(name: str, value: Any) -> None:
    message = Message("frame", {**frame(1).values, name: value}, frame(1).body)
    checked = opened()
    try:
        checked.frame(message)
    except MessageError:
        return
    found = Frame.from_message(message.values, message.body)
    assert 0 <= found.step <= 5 and all(text.encode() or True for text in (*found.outputs, *found.predicted))
    json.dumps(found.to_message()[0], allow_nan=False)


@given(VALUES, VALUES)
def test_any_value_in_a_pulse_or_at_the_end(one: Any, other: Any) -> None:
    for kind, names in (("pulse", ("step", "seconds")), ("done", ("reason", "step")), ("failed", ("error", "step"))):
        message = Message(kind, dict(zip(names, (one, other), strict=True)))
        try:
            getattr(Checked(5), kind)(message)
        except MessageError as error:
            assert "\n" not in str(error) and len(str(error)) < 300


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (opening(recorded=[0, 2, 2]), "recorded: the steps do not increase"),
        (opening(recorded=[0, 6]), "recorded is '6'; a whole number from 0 to 5 is expected"),
        (opening(source_tokens=[]), "an opening with 0 source_tokens, 2 target_in, 2 target_out"),
        (opening(target_in=["<s>"]), "an opening with 3 source_tokens, 1 target_in, 2 target_out"),
        (opening(source_tokens=["x"] * 200, layers=64, heads=64), "frames of 165,494,784 bytes"),
        (opening(source="x" * 2001), "source: a text of at most 2,000 characters is expected"),
        (opening(target="\ud800"), "target: half of a surrogate pair"),
        (opening(shown=[["a"]]), "shown: a list of 2 texts is expected"),
        (opening(heads=True), "heads is 'True'"),
        (frame(6), "step is '6'; a whole number from 0 to 5 is expected"),
        (frame(1, outputs=["b"]), "outputs: a list of 2 texts is expected"),
        (frame(1, predicted=["b", 5]), "predicted: a text of"),
        (frame(1, exact=1.01), "exact is '1.01'; a number from 0 to 1 is expected"),
        (frame(1, loss=-1), "loss is '-1'; a number from 0 to inf"),
        (frame(1, seconds=10**400), "seconds is '1000"),
        (frame(1, b""), "0 bytes of weights; the opening announced 190"),
        (Message("done", {"reason": "tired", "step": 5}), "reason is 'tired'; one of steps, stopped, time is expected"),
    ],
)
def test_invalid_messages_are_refused(message: Message, says: str) -> None:
    checked = opened() if message.kind == "frame" else Checked(5)
    with pytest.raises(MessageError) as caught:
        getattr(checked, message.kind)(message)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([frame(0)], "a frame without an opening"),
        ([opening(), opening()], "a second opening"),
        ([opening(), frame(2), frame(2)], "a frame of step 2 after a frame of step 2"),
    ],
)
def test_messages_in_a_wrong_order_are_refused(messages: list[Message], says: str) -> None:
    checked = Checked(5)
    *earlier, last = messages
    for message in earlier:
        getattr(checked, message.kind)(message)
    with pytest.raises(MessageError, match=says):
        getattr(checked, last.kind)(last)
