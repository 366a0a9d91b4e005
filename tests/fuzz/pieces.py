"""SentencePiece files with something wrong in them: protocol buffers, taken apart, changed and put together again."""

from __future__ import annotations

import random
import struct
from typing import Any


def varint(number: int) -> bytes:
    found = bytearray()
    while True:
        number, low = number >> 7, number & 127
        found.append(low | (128 if number else 0))
        if not number:
            return bytes(found)


def fields(data: bytes) -> list[tuple[int, int, Any]]:
    """(number, wire type, value) of a protocol buffer; the value of wire type 2 is bytes, of 0 a whole number."""

    def whole(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                return value, at

    at, found = 0, []
    while at < len(data):
        tag, at = whole(at)
        value: Any
        if tag & 7 == 0:
            value, at = whole(at)
        else:
            length = {1: 8, 5: 4}.get(tag & 7, 0)
            if tag & 7 == 2:
                length, at = whole(at)
            value, at = data[at : at + length], at + length
        found.append((tag >> 3, tag & 7, value))
    return found


def packed(found: list[tuple[int, int, Any]]) -> bytes:
    parts = []
    for number, wire, value in found:
        body = varint(value) if wire == 0 else varint(len(value)) + value if wire == 2 else value
        parts.append(varint(number << 3 | wire) + body)
    return b"".join(parts)


def _piece(rng: random.Random, data: bytes) -> bytes:
    found = fields(data)
    kind = rng.randrange(4)
    for place, (number, wire, value) in enumerate(found):
        if kind == 0 and number == 1:
            exchanged = (b"", b"\xff\xfe", value * 9, value * 900, b"\0", b"<pad>", b"</s>", "▁".encode() * 9, b" ")
            value = rng.choice(exchanged)
        elif kind == 1 and number == 2:
            value = struct.pack("<f", rng.choice((float("nan"), float("inf"), -float("inf"), 3e38, -3e38, 0.0)))
        elif kind == 2 and number == 3:
            value = rng.choice((0, 1, 2, 3, 4, 5, 6, 7, 99, 2**40))
        found[place] = (number, wire, value)
    if kind == 3 or (kind == 2 and rng.random() < 0.5):
        found.append((3, 0, rng.randint(1, 6)))
    return packed(found)


def _charsmap(rng: random.Random, data: bytes) -> bytes:
    """The table of normalisation: its length, its tree or its texts damaged."""
    size, found = int.from_bytes(data[:4], "little"), bytearray(data)
    kind = rng.randrange(5)
    if kind == 0:
        sizes = (0, 1, 4, size - 4, size + 4, size - 1_024, 2**31, 2**32 - 1, len(data))
        found[:4] = rng.choice(sizes).to_bytes(4, "little")
    elif kind < 4:
        low, high = ((4, 4 + size), (4 + size, len(data)), (4, len(data)))[kind - 1]
        for _ in range(rng.choice((1, 1, 8, 500))):
            at = rng.randrange(low, high)
            found[at] = rng.choice((0, 255, rng.randrange(256), found[at] ^ 1 << rng.randrange(8)))
    else:
        del found[rng.randrange(len(found)) :]
    return bytes(found)


def damaged_model(rng: random.Random, data: bytes) -> bytes:
    """Fields of a SentencePiece file changed, doubled, left out, or put in another order."""
    found = fields(data)
    kind = rng.randrange(8)
    pieces = [place for place, one in enumerate(found) if one[0] == 1]
    if kind <= 1:
        for _ in range(rng.choice((1, 1, 5, 60))):
            place = rng.choice(pieces)
            found[place] = (1, 2, _piece(rng, found[place][2]))
    elif kind <= 3:
        place = next(place for place, one in enumerate(found) if one[0] == 3)
        inner = [(n, w, _charsmap(rng, v) if n == 2 else v) for n, w, v in fields(found[place][2])]
        if kind == 3 and rng.random() < 0.3:
            inner = [(n, w, v) for n, w, v in inner if n != 2] + [(rng.randint(3, 5), 0, rng.randint(0, 2))]
        found[place] = (3, 2, packed(inner))
    elif kind == 4:
        place = next(place for place, one in enumerate(found) if one[0] == 2)
        settings = (
            (3, 0, rng.randint(0, 9)), (4, 0, 2**62), (40, 0, rng.randint(0, 80)), (41, 0, 9), (24, 0, 1), (35, 0, 1),
            (44, 2, b"x" * 900), (44, 2, b"\xff"), (45, 2, b"<pad>"), (46, 2, b""),
        )  # fmt: skip
        setting = rng.choice(settings)
        found[place] = (2, 2, found[place][2] + packed([setting]))
    elif kind == 5:
        found.insert(rng.randrange(len(found)), rng.choice(found))
    elif kind == 6:
        del found[rng.randrange(len(found))]
    else:
        test = packed([(1, 2, packed([(1, 2, b"ka"), (2, 2, b"lo")]))])
        others = (
            (4, 2, test), (5, 2, packed([(2, 2, b"\x01")])), (6, 2, b"x"), (200, 2, b"x" * 99), (1, 0, 5), (0, 2, b""),
            (3, 5, b"abcd"),
        )  # fmt: skip
        found.append(rng.choice(others))
        rng.shuffle(found)
    return packed(found)
