"""Text to pieces to ids and back, as in Marian: a SentencePiece model makes the pieces, a table gives their ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sentencepiece

from transformer.text.piece_file import LONGEST_PIECE
from transformer.text.tokenizer import PIECE_MARK, TokenizerError, clean

UNKNOWN = "⁇"  # U+2047, SentencePiece's own sign for <unk> in decoded text


class VocabularyTokenizer:
    """The tokenizer of one side of a Marian model, with the interface of `transformer.text.tokenizer.AnyTokenizer`.

    processor: SentencePiece, which divides text into pieces; its ids are not used.
    vocabulary: piece -> id, each id once, from 0 to below size; other pieces become <unk>.
    controls: ids that are not text (<pad>, </s>).
    A language code at the start of a text, ">>deu<<", is one token; models for several target languages have these
    codes in their vocabulary.
    Immutable after construction and safe to share between threads. Raises TokenizerError.
    """

    def __init__(
        self,
        processor: sentencepiece.SentencePieceProcessor,
        vocabulary: Mapping[str, int],
        size: int,
        unknown: int,
        controls: Iterable[int],
    ) -> None:
        self._processor, self._vocabulary, self._unknown = processor, dict(vocabulary), unknown
        self._pieces: list[str | None] = [None] * size
        for piece, token_id in self._vocabulary.items():
            if len(piece) > LONGEST_PIECE:
                raise TokenizerError(
                    "a piece of the vocabulary has {count:,} characters; the limit is {longest:,}",
                    count=len(piece),
                    longest=LONGEST_PIECE,
                )
            if type(token_id) is not int or not 0 <= token_id < size:
                raise TokenizerError(
                    "a piece of the vocabulary has the id {id!r:.40}; choose 0 to {last:,}",
                    id=token_id,
                    last=size - 1,
                )
            if self._pieces[token_id] is not None:
                raise TokenizerError(
                    "two pieces of the vocabulary have the id {id:,}; each id belongs to one piece", id=token_id
                )
            self._pieces[token_id] = piece
        self._controls = frozenset(controls)

    def to_bytes(self) -> bytes:
        """The SentencePiece model in the form of its file."""
        return self._processor.serialized_model_proto()

    def table(self) -> dict[str, Any]:
        """What makes ids of the pieces, for JSON: the arguments after the processor."""
        return {
            "vocabulary": self._vocabulary, "size": len(self), "unknown": self._unknown,
            "controls": sorted(self._controls),
        }  # fmt: skip

    def __len__(self) -> int:
        return len(self._pieces)

    def _split(self, text: str) -> tuple[list[str], str]:
        """The language code at the start, if there is one, and the rest."""
        text = clean(text)
        if text.startswith(">>") and "<<" in text:
            end = text.index("<<") + 2
            return [text[:end]], text[end:]
        return [], text

    def encode(self, text: str) -> list[int]:
        """Ids of the text's pieces, without </s>. Markup such as "</s>" in text stays text."""
        code, rest = self._split(text)
        ids = (self._vocabulary.get(piece, self._unknown) for piece in code + self._processor.EncodeAsPieces(rest))
        return [self._unknown if token_id in self._controls else token_id for token_id in ids]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Pieces as stored, with the piece mark and the names of special tokens; an id without a piece shows itself."""
        pieces = ((int(token_id), self._pieces[int(token_id)]) for token_id in ids)
        return [f"<{token_id}>" if piece is None else piece for token_id, piece in pieces]

    def decode(self, ids: Iterable[int]) -> str:
        """Text of the ids; special tokens are left out, <unk> shows as U+2047."""
        text_ids = [token_id for token_id in map(int, ids) if token_id not in self._controls]
        pieces = zip(text_ids, self.pieces(text_ids), strict=True)
        text = self._processor.DecodePieces(
            [f"{PIECE_MARK}{UNKNOWN}" if token_id == self._unknown else piece for token_id, piece in pieces]
        )
        return text.replace(PIECE_MARK, " ").strip()

    def surfaces(self, text: str) -> list[str]:
        """The text of each piece of `encode(text)`, with the piece mark; for <unk> the typed characters."""
        code, rest = self._split(text)
        return [*code, *self._processor.Encode(rest, return_type="offset_mapping")["pieces"]]
