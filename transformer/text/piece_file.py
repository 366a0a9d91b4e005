"""Checks a SentencePiece file before the library loads it.

The library trusts the file: a piece may be as long as the file, and a normalisation rule may replace every letter by a
long text. `google.protobuf` reads the file here. SentencePiece has its own classes for that, but they refuse every
version of protobuf that is older than the one they were built with.
"""

import functools
import math
from typing import Any

from transformer.texts import N_, UserError

MOST_PIECES = 1_000_000  # as in `config.LIMITS`
LONGEST_PIECE = 1_000  # characters; SentencePiece learns at most 16 by default
LONGEST_RULE = 200  # bytes that replace one character; the longest in Unicode, for U+FDFA, has 33
LARGEST_SELF_TEST = 100_000  # bytes of the texts with which a model tests itself when it is loaded
BPE = 2  # model_type of Trainer
DAMAGED = N_("this is not a SentencePiece model")
# The checked part of sentencepiece_model.proto: message -> field -> number and type.
MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "Model": {
        "pieces": (1, "Piece"), "trainer": (2, "Trainer"), "normalizer": (3, "Normalizer"), "self_test": (4, "bytes"),
        "denormalizer": (5, "Normalizer"),
    },
    "Piece": {"piece": (1, "bytes"), "score": (2, "float")},
    "Trainer": {"model_type": (3, "int32"), "unk_surface": (44, "bytes")},
    "Normalizer": {"charsmap": (2, "bytes")},
}  # fmt: skip


class PieceFileError(UserError):
    """Not a SentencePiece file, or one that exceeds a limit; the message says which."""


@functools.cache
def _model_class() -> Any:
    """The protobuf class of the file."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # takes 30 ms, so only on use

    file = descriptor_pb2.FileDescriptorProto(name="headscope/pieces.proto", package="headscope")
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            label = kinds.LABEL_REPEATED if field == "pieces" else kinds.LABEL_OPTIONAL
            if kind in MESSAGES:
                message.field.add(
                    name=field, number=number, label=label, type=kinds.TYPE_MESSAGE, type_name=f".headscope.{kind}"
                )
            else:
                message.field.add(name=field, number=number, label=label, type=kinds.Type.Value(f"TYPE_{kind.upper()}"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("headscope.Model"))


def _check_charsmap(data: bytes) -> None:
    """Format: four bytes with the length of a tree, the tree, and the replacement texts, each ending with a zero."""
    if not data:
        return
    tree = int.from_bytes(data[:4], "little")
    if tree % 4 or not 0 < tree < len(data) - 4 or not data.endswith(b"\0"):
        raise PieceFileError(DAMAGED)
    data[4 + tree :].decode()
    if (longest := max(map(len, data[4 + tree :].split(b"\0")))) > LONGEST_RULE:
        raise PieceFileError(
            "the tokenizer writes {length:,} bytes for one character; the limit is {limit}",
            length=longest,
            limit=LONGEST_RULE,
        )


def is_bpe(data: bytes) -> bool:
    """Whether the pieces of a checked file are merges, whose scores say only which of two comes first."""
    return bool(_model_class().FromString(data).trainer.model_type == BPE)


def check_pieces(data: bytes) -> None:
    """Check the bytes of a SentencePiece file. Raises PieceFileError if the library should not load them."""
    from google.protobuf.message import DecodeError

    try:
        model = _model_class().FromString(data)
        if len(model.pieces) > MOST_PIECES:
            raise PieceFileError("the tokenizer has more than {most:,} pieces", most=MOST_PIECES)
        for entry in model.pieces:
            if not (piece := entry.piece.decode()):
                raise PieceFileError(DAMAGED)
            if len(piece) > LONGEST_PIECE:
                raise PieceFileError(
                    "a piece of the tokenizer has {length:,} characters; the limit is {limit:,}",
                    length=len(piece),
                    limit=LONGEST_PIECE,
                )
            if not math.isfinite(entry.score):
                raise PieceFileError("a score of the tokenizer is not a finite number")
        if len(model.trainer.unk_surface.decode()) > LONGEST_RULE:
            raise PieceFileError(
                "the tokenizer writes more than {limit} characters for an unknown piece",
                limit=LONGEST_RULE,
            )
        if len(model.self_test) > LARGEST_SELF_TEST:
            raise PieceFileError(
                "the tokenizer's test data is larger than {limit:,} bytes",
                limit=LARGEST_SELF_TEST,
            )
        for normalizer in (model.normalizer, model.denormalizer):
            _check_charsmap(normalizer.charsmap)
    except (DecodeError, UnicodeDecodeError) as error:
        raise PieceFileError(DAMAGED) from error
