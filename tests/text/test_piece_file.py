"""A SentencePiece file, looked over before the library is given it."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import sentencepiece

from tests.fuzz.pieces import fields, packed
from tests.support.build import tiny_tokenizer
from transformer.text.piece_file import DAMAGED, LONGEST_PIECE, LONGEST_RULE, PieceFileError, check_pieces
from transformer.text.tokenizer import Tokenizer, TokenizerError

BUNDLED = sorted((Path(__file__).resolve().parents[2] / "checkpoints").glob("*/tokenizer.model"))


def _piece(text: bytes, score: float = -1.0, *more: tuple[int, int, object]) -> tuple[int, int, bytes]:
    return 1, 2, packed([(1, 2, text), (2, 5, struct.pack("<f", score)), *more])


def _changed(number: int, change: Callable[[bytes], bytes]) -> bytes:
    """The tiny tokenizer with every part of this number changed."""
    found = fields(tiny_tokenizer().to_bytes())
    return packed([(n, w, change(v) if n == number else v) for n, w, v in found])


def _charsmap(change: Callable[[bytes], bytes]) -> bytes:
    """The same with another table of normalisation."""

    def rules(value: bytes) -> bytes:
        return packed([(n, w, change(v) if n == 2 else v) for n, w, v in fields(value)])

    return _changed(3, rules)


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.parent.name)
def test_shipped_tokenizers_pass(path: Path) -> None:
    check_pieces(path.read_bytes())


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
@pytest.mark.parametrize("rule", ["identity", "nfkc", "nmt_nfkc_cf"])
def test_tokenizers_trained_by_the_library_pass(kind: str, rule: str, tmp_path: Path) -> None:
    """All kinds and normalisations, with bytes for what is unknown, pieces of one's own, and texts to test itself."""
    lines = ["ka lo mi", "nu re sta", "ti vu zen pol"] * 20
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(lines), model_prefix=str(tmp_path / "m"), vocab_size=290 if kind != "word" else 20,
        model_type=kind, normalization_rule_name=rule, hard_vocab_limit=False, byte_fallback=kind in ("unigram", "bpe"),
        user_defined_symbols=["<x>"], self_test_sample_size=3, minloglevel=2, num_threads=1,
    )  # fmt: skip
    check_pieces((tmp_path / "m.model").read_bytes())


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xff", DAMAGED),
        (b"\x0a\x05ab", DAMAGED),  # five bytes are promised
        (b"\x02\x00", DAMAGED),  # a field of number 0
        (b"\x0a" + b"\xff" * 11, DAMAGED),  # a length without end
        (packed([_piece(b"")]), DAMAGED),
        (packed([_piece(b"\xff")]), DAMAGED),
        (packed([_piece(b"a", float("nan"))]), "not a finite number"),
        (packed([_piece(b"a", float("inf"))]), "not a finite number"),
        (packed([_piece(b"x" * (LONGEST_PIECE + 1))]), "has 1,001 characters; the limit is 1,000"),
        (packed([(2, 2, packed([(44, 2, b"\xff")]))]), DAMAGED),
        (packed([(2, 2, packed([(44, 2, b"x" * 201)]))]), "more than 200 characters for an unknown piece"),
        (packed([(4, 2, b"x" * 100_001)]), "test data is larger than 100,000 bytes"),
        (packed([(3, 2, b""), (3, 2, packed([(2, 2, b"\x04\x00\x00\x00")]))]), DAMAGED),
        (packed([(5, 2, packed([(2, 2, b"\xff\xff\xff\xff" + bytes(9))]))]), DAMAGED),
        (_charsmap(lambda table: table + b"y" * (LONGEST_RULE + 1) + b"\0"), "the limit is 200"),
        (_charsmap(lambda table: table + b"\xff\0"), DAMAGED),
        (_charsmap(lambda table: table[:-1] + b"x"), DAMAGED),
    ],
)  # fmt: skip
def test_invalid_piece_files_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(PieceFileError, match=words):
        check_pieces(data)
    with pytest.raises(TokenizerError, match=words):
        Tokenizer(data)


def test_the_longest_that_is_allowed_passes() -> None:
    check_pieces(packed([_piece(b"x" * LONGEST_PIECE)]))
    check_pieces(_charsmap(lambda table: table + b"y" * LONGEST_RULE + b"\0"))
