"""Text to pieces to ids and back as Marian has it: a SentencePiece model cuts, a table gives the ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sentencepiece

from transformer.text.piece_file import LONGEST_PIECE
from transformer.text.tokenizer import PIECE_MARK, TokenizerError, clean

UNKNOWN = "⁇"  # U+2047, SentencePiece's own sign for <unk> in decoded text


class VocabularyTokenizer:
    """One side of a Marian model; does what `transformer.text.tokenizer.Tokenizer` does in use.

    processor: SentencePiece, which cuts text into pieces; its own ids are not used.
    vocabulary: piece -> id, each id once, from 0 to below size; pieces that are not in it are <unk>.
    controls: ids that are not text (<pad>, </s>).
    A language code in front of a text, ">>deu<<", is one token; models that write several languages have theirs in the
    vocabulary.
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
        for piece, number in self._vocabulary.items():
            if len(piece) > LONGEST_PIECE:
                raise TokenizerError(
                    "a piece of the vocabulary has {count:,} characters; the limit is {longest:,}",
                    count=len(piece),
                    longest=LONGEST_PIECE,
                )
            if type(number) is not int or not 0 <= number < size:
                raise TokenizerError(
                    "a piece of the vocabulary has the id {id!r:.40}; choose 0 to {last:,}",
                    id=number,
                    last=size - 1,
                )
            if self._pieces[number] is not None:
                raise TokenizerError(
                    "two pieces of the vocabulary have the id {id:,}; each id belongs to one piece", id=number
                )
            self._pieces[number] = piece
        self._controls = frozenset(controls)

    def __len__(self) -> int:
        return len(self._pieces)

    def _split(self, text: str) -> tuple[list[str], str]:
        """The language code in front, if there is one, and the rest."""
        text = clean(text)
        if text.startswith(">>") and "<<" in text:
            end = text.index("<<") + 2
            return [text[:end]], text[end:]
        return [], text

    def encode(self, text: str) -> list[int]:
        """Ids of the text's pieces, without </s>. Markup such as "</s>" in text stays text."""
        code, rest = self._split(text)
        found = (self._vocabulary.get(piece, self._unknown) for piece in code + self._processor.EncodeAsPieces(rest))
        return [self._unknown if number in self._controls else number for number in found]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Pieces as stored, with the piece mark and the names of special tokens; an id without a piece shows itself."""
        found = ((int(number), self._pieces[int(number)]) for number in ids)
        return [f"<{number}>" if piece is None else piece for number, piece in found]

    def decode(self, ids: Iterable[int]) -> str:
        """Text of the ids; special tokens are left out, <unk> shows as U+2047."""
        kept = [number for number in map(int, ids) if number not in self._controls]
        shown = zip(kept, self.pieces(kept), strict=True)
        text = self._processor.DecodePieces(
            [f"{PIECE_MARK}{UNKNOWN}" if number == self._unknown else piece for number, piece in shown]
        )
        return text.replace(PIECE_MARK, " ").strip()

    def surfaces(self, text: str) -> list[str]:
        """What each piece of `encode(text)` covers, with the piece mark; for <unk> the characters that were typed."""
        code, rest = self._split(text)
        return [*code, *self._processor.Encode(rest, return_type="offset_mapping")["pieces"]]
