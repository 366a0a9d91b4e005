"""What a worker says, read: whatever the bytes, a message, the end, or a sentence about what is wrong."""

import dataclasses
import io
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import fake_worker
from transformer.live_training.frames import Frame, Opening
from transformer.live_training.messages import (
    CRASHED,
    HEADER,
    KINDS,
    LENGTHS,
    Conversation,
    Message,
    MessageError,
    read,
    write,
)

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


def frame(number: int, body: bytes = b"\0" * fake_worker.BYTES, **other: Any) -> Message:
    return Message("frame", {**fake_worker.frame(number), **other}, body)


def taken(*messages: Message) -> Any:
    """What a conversation takes from the last of these messages."""
    conversation = Conversation(5)
    return [getattr(conversation, message.kind)(message) for message in messages][-1]


def test_frames_and_openings_are_received_unchanged() -> None:
    """The real types, through the bytes and the checks."""
    first = Opening.from_dict(opening().values)
    sent = Frame(1, 0.5, 0.003, 1.5, None, 0.5, None, ("b", "x"), ("b", "</s>"), b"\1" * first.frame_bytes)
    stream = io.BytesIO()
    write(stream, "opening", first.to_dict())
    write(stream, "frame", *sent.to_message())
    stream.seek(0)
    messages = [message for message in (read(stream), read(stream)) if message is not None]
    assert taken(messages[0]) == first and taken(*messages) == sent and read(stream) is None


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
@example(b'{"kind":"progress","seconds":NaN}')
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
    for kind in ("ready", "progress", "opening", "failed"):
        with pytest.raises(MessageError, match="at most 0 are allowed"):
            read(Counting(packed(json.dumps({"kind": kind}).encode(), b"x")))
    text = b'{"kind":"done"}'
    with pytest.raises(MessageError, match="at most 50,000,000"):
        read(Counting(LENGTHS.pack(len(text), 50_000_001) + text))
    assert Counting.most <= HEADER


@given(st.sampled_from(sorted(fake_worker.opening(5))), st.sampled_from(sorted(fake_worker.frame(1))), VALUES)
def test_any_value_in_an_opening_or_a_frame(in_opening: str, in_frame: str, value: Any) -> None:
    """It is refused, or it is one that can be packed for a browser."""
    for messages in ([opening(**{in_opening: value})], [opening(), frame(1, **{in_frame: value})]):
        try:
            found = taken(*messages)
        except MessageError:
            continue
        if isinstance(found, Opening):
            assert found.frame_bytes > 0 and all(len(pair) == 2 for pair in found.shown)
            json.dumps(found.to_dict(), allow_nan=False, ensure_ascii=False).encode()
        else:
            assert 0 <= found.step <= 5
            json.dumps(found.to_message()[0], allow_nan=False, ensure_ascii=False).encode()


@given(VALUES, VALUES)
def test_any_value_in_progress_or_at_the_end(one: Any, other: Any) -> None:
    for kind, names in (("progress", ("step", "seconds")), ("done", ("reason", "step")), ("failed", ("error", "step"))):
        try:
            taken(Message(kind, dict(zip(names, (one, other), strict=True))))
        except MessageError as error:
            assert "\n" not in str(error) and len(str(error)) < 300


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([opening(recorded=[0, 2, 2])], "recorded: the steps do not increase"),
        ([opening(recorded=[0, 6])], "step 6 is recorded; the run has 5"),
        ([opening(recorded=[0, True])], "recorded is [0, True]; a list of 1 to 256 steps is expected"),
        ([opening(source_tokens=[])], "source_tokens is []; a list of 1 to 200 texts is expected"),
        ([opening(target_in=["<s>"])], "1 tokens target_in and 2 target_out"),
        ([opening(source_tokens=["x"] * 200, layers=64, heads=64)], "frames of 165,494,784 bytes"),
        ([opening(source="x" * 2001)], "a text of at most 2,000 characters is expected"),
        ([opening(target="\ud800")], "a text of at most 2,000 characters is expected"),
        ([opening(shown=[["a"]])], "a list of 0 to 200 pairs of texts is expected"),
        ([opening(heads=True)], "heads is True; a whole number from 1 to 64 is expected"),
        ([opening(), opening()], "a second opening"),
        ([frame(0)], "a frame without an opening"),
        ([opening(), frame(2), frame(2)], "a frame of step 2 after a frame of step 2"),
        ([opening(), frame(6)], "step is 6; a whole number from 0 to 5 is expected"),
        ([opening(), frame(1, outputs=["b"])], "outputs is ['b']; a list of 2 texts is expected"),
        ([opening(), frame(1, predicted=["b", 5])], "predicted is ['b', 5]; a list of 2 texts is expected"),
        ([opening(), frame(1, exact=1.01)], "exact is 1.01; a number from 0 to 1, or none is expected"),
        ([opening(), frame(1, loss=-1)], "loss is -1; a number from 0 on, or none is expected"),
        ([opening(), frame(1, rate=None)], "rate is None; a number from 0 on is expected"),
        ([opening(), frame(1, seconds=10**400)], "seconds is 1000"),
        ([opening(), frame(1, b"")], "0 bytes of weights; the opening announced 190"),
        ([Message("progress", {"step": 6, "seconds": 1.0})], "step is 6; a whole number from 0 to 5 is expected"),
        ([Message("done", {"reason": "tired", "step": 5})], "reason is 'tired'; steps, stopped or time is expected"),
        ([Message("failed", {"error": CRASHED})], "exception is None; a text of at most 2,000 characters is expected"),
    ],
)
def test_invalid_messages_are_refused(messages: list[Message], says: str) -> None:
    with pytest.raises(MessageError) as caught:
        taken(*messages)
    assert says in str(caught.value)
