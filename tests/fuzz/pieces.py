"""SentencePiece files with something wrong in them: protocol buffers, taken apart, changed and put together again."""

import struct
from typing import Any

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import strategies as st

from tests.fuzz.common import damaged_bytes, flips


def varint(number: int) -> bytes:
    found = bytearray()
    while True:
        number, low = number >> 7, number & 127
        found.append(low | (128 if number else 0))
        if not number:
            return bytes(found)


def fields(data: bytes) -> list[tuple[int, int, Any]]:
    """(number, wire type, value) of a protocol buffer, none of what is none; the value of wire type 2 is bytes, of the
    others a whole number."""
    try:
        found = UnknownFieldSet(Empty.FromString(data))
    except DecodeError:
        return []
    return [(one.field_number, one.wire_type, one.data) for one in found]


def packed(found: list[tuple[int, int, Any]]) -> bytes:
    parts = []
    for number, wire, value in found:
        if isinstance(value, int):
            value = varint(value) if wire == 0 else struct.pack("<I" if wire == 5 else "<Q", value)
        parts.append(varint(number << 3 | wire) + (varint(len(value)) if wire == 2 else b"") + value)
    return b"".join(parts)


VALUES = {  # wire type -> likely values
    0: (0, 1, 2, 3, 4, 5, 6, 7, 9, 80, 99, 2**40, 2**62),
    2: (b"", b"\xff\xfe", b"\0", b"<pad>", b"</s>", "▁".encode() * 9, b" ", b"x" * 900, b"x" * 5_000, b"\x0a\x02ka"),
    5: tuple(struct.pack("<f", value) for value in (float("nan"), float("inf"), -float("inf"), 3e38, -3e38, 0.0)),
}
SETTINGS = (1, 2, 3, 4, 5, 6, 24, 35, 40, 41, 44, 45, 46, 200)  # numbers that mean something, and some that do not


@st.composite
def _damaged_rules(draw: st.DrawFn, data: bytes) -> bytes:
    """The table of normalisation: its length, its tree or its texts damaged."""
    size = int.from_bytes(data[:4], "little")
    sizes = st.sampled_from((0, 1, 4, size - 4, size + 4, size - 1_024, 2**31, 2**32 - 1, len(data)))
    with_length = sizes.map(lambda length: length.to_bytes(4, "little") + data[4:])
    return draw(with_length | flips(data, 4) | flips(data, 4 + size) | damaged_bytes(data))


@st.composite
def damaged_pieces(draw: st.DrawFn, data: bytes, inside: bool = False) -> bytes:
    """A SentencePiece file with fields changed, doubled, left out, added or in another order. inside: one of its
    messages."""
    found = fields(data)
    for _ in range(draw(st.sampled_from((1, 1, 5)))):
        number = draw(st.sampled_from(sorted({number for number, _, _ in found}) or [0]))
        at = draw(st.sampled_from([at for at, field in enumerate(found) if field[0] == number] or [0]))
        act = draw(st.sampled_from(("change", "change", "change", "add", "double", "remove", "shuffle")))
        if act == "add" or not found:
            wire = draw(st.sampled_from((0, 2, 5)))
            found.append((draw(st.sampled_from(SETTINGS)), wire, draw(st.sampled_from(VALUES[wire]))))
        elif act == "change":
            _, wire, value = found[at]
            if wire == 2 and not inside and number in (1, 2, 3):
                value = draw(damaged_pieces(value, True))
            elif wire == 2 and len(value) > 1_000:
                value = draw(_damaged_rules(value))
            else:
                more = (value * 9, value * 900) if wire == 2 else ()
                value = draw(st.sampled_from((*VALUES[wire], *more)))
            found[at] = number, wire, value
        elif act == "double":
            found.insert(at, found[at])
        elif act == "remove":
            del found[at]
        else:
            found = draw(st.permutations(found)) if len(found) < 9 else found[::-1]
    return packed(found)
