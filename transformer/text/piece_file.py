"""A SentencePiece file, looked over before the library reads it.

The library believes what a file says of itself: a megabyte of file can ask for gigabytes of memory, as 25 million empty
pieces do, or a rule that writes a long text for every letter. The file is a protocol buffer, `ModelProto` of
sentencepiece_model.proto: pieces (1), how they were learned (2), how text is normalised (3), texts to test itself with
(4), and how text is normalised backwards (5).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

PIECES, TRAINER, NORMALIZER, SELF_TEST, DENORMALIZER = 1, 2, 3, 4, 5
PIECE, SCORE = 1, 2
CHARSMAP, RULES = 2, 6
MOST_PIECES = 1_000_000  # as in `config.LIMITS`
MOST_SETTINGS = 100_000  # the names of languages, and pieces that somebody chose, among them
LARGEST = {TRAINER: 1_000_000, NORMALIZER: 4_000_000, SELF_TEST: 100_000, DENORMALIZER: 4_000_000}  # bytes together
LONGEST_PIECE = 1_000  # bytes; SentencePiece learns 16 characters at most unless told otherwise
LONGEST_RULE = 200  # bytes written for one character; the most in Unicode, of U+FDFA, are 33
LONGEST_NAME = 10_000  # bytes of one setting, such as what is written for an unknown piece
VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5  # wire types


class PieceFileError(ValueError):
    """What is no SentencePiece file, or asks for more than any does; the message says which."""


DAMAGED = "this is not a SentencePiece model"


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """A whole number and where it ends."""
    value = data[at]
    at += 1
    if value < 128:
        return value, at
    value &= 127
    for shift in range(7, 64, 7):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise PieceFileError(DAMAGED)


def _fields(data: memoryview) -> Iterator[tuple[int, int, memoryview]]:
    """(number, wire type, bytes) of every field; the bytes of a whole number are empty. Raises PieceFileError."""
    at, end = 0, len(data)
    try:
        while at < end:
            tag, at = _varint(data, at)
            number, wire, length = tag >> 3, tag & 7, 0
            if wire == BYTES:
                length, at = _varint(data, at)
            elif wire == VARINT:
                _, at = _varint(data, at)
            elif wire in (FOUR, EIGHT):
                length = 4 if wire == FOUR else 8
            else:  # groups are out of use, others do not exist
                raise PieceFileError(DAMAGED)
            if not number or length > end - at:
                raise PieceFileError(DAMAGED)
            yield number, wire, data[at : at + length]
            at += length
    except IndexError as error:
        raise PieceFileError(DAMAGED) from error


def _check_text(data: memoryview | bytes, what: str) -> None:
    try:
        str(data, "utf-8")
    except UnicodeDecodeError as error:
        raise PieceFileError(f"{what} of the tokenizer is no text in UTF-8") from error


def _check_piece(data: memoryview) -> None:
    for number, wire, value in _fields(data):
        if number == PIECE:
            if wire != BYTES or not len(value):
                raise PieceFileError(DAMAGED)
            _check_text(value, "a piece")
        elif number == SCORE and (wire != FOUR or not math.isfinite(struct.unpack("<f", value)[0])):
            raise PieceFileError("a score of the tokenizer is not a finite number")


def _check_settings(data: memoryview, normalizer: bool) -> None:
    for count, (number, wire, value) in enumerate(_fields(data)):
        if count > MOST_SETTINGS:
            raise PieceFileError("the settings of the tokenizer are more than those of any real one")
        if normalizer and number == CHARSMAP and wire == BYTES:
            _check_charsmap(bytes(value))
        elif not (normalizer and number == RULES) and len(value) > LONGEST_NAME:
            raise PieceFileError(f"a setting of the tokenizer is {len(value):,} bytes long")
        elif wire == BYTES:
            _check_text(value, "a setting")


def _check_charsmap(data: bytes) -> None:
    """Four bytes with the length of a tree, the tree, and what is written for each of its leaves, ended by a zero."""
    if not data:
        return
    tree = int.from_bytes(data[:4], "little")
    if tree % 4 or not 0 < tree < len(data) - 4 or not data.endswith(b"\0"):
        raise PieceFileError(DAMAGED)
    _check_text(data[4 + tree :], "a rule of normalisation")
    longest = max(map(len, data[4 + tree :].split(b"\0")))
    if longest > LONGEST_RULE:
        raise PieceFileError(
            f"the tokenizer writes {longest:,} bytes for one character; at most {LONGEST_RULE} are allowed"
        )


def check_pieces(data: bytes) -> None:
    """Look over the bytes of a SentencePiece file. Raises PieceFileError if the library should not be given them."""
    pieces, sizes = 0, dict.fromkeys(LARGEST, 0)
    for count, (number, wire, value) in enumerate(_fields(memoryview(data))):
        if count > MOST_PIECES + MOST_SETTINGS:
            raise PieceFileError(DAMAGED)
        if wire != BYTES or number not in (PIECES, *LARGEST):
            raise PieceFileError(DAMAGED)
        if number == PIECES:
            pieces += 1
            if pieces > MOST_PIECES:
                raise PieceFileError(f"the tokenizer has more than {MOST_PIECES:,} pieces")
            if len(value) > LONGEST_PIECE:
                raise PieceFileError(
                    f"a piece of the tokenizer is {len(value):,} bytes long; at most {LONGEST_PIECE:,} are allowed"
                )
            _check_piece(value)
            continue
        sizes[number] += len(value)
        if sizes[number] > LARGEST[number]:
            raise PieceFileError("the settings of the tokenizer are larger than those of any real one")
        if number != SELF_TEST:
            _check_settings(value, number != TRAINER)
