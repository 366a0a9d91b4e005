"""Text to pieces to ids and back, for models of other projects: a SentencePiece model makes the pieces, a table gives
their ids."""

import copy
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Self

import sentencepiece

from transformer.text.piece_file import LONGEST_PIECE
from transformer.text.tokenizer import PIECE_MARK, TokenizerError, clean

CODE = re.compile(r"(>>.*?<<)?(.*)")  # a language code, and the rest
# What transformers' `clean_up_tokenization` writes without blanks.
TIDIED = (" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're")
UNKNOWN = "⁇"  # U+2047, SentencePiece's own sign for <unk> in decoded text


class ImportedTokenizer:
    """What the tokenizers of imported models have in common; the interface is
    `transformer.text.tokenizer.AnyTokenizer`. Immutable after construction and safe to share between threads."""

    before: tuple[int, ...] = ()  # ids before every text: a language code, <s>
    after: tuple[int, ...] = ()  # ids after every text, and before what ends it

    def around(self, before: tuple[int, ...], after: tuple[int, ...] = ()) -> Self:
        """The same tokenizer with these ids around every text."""
        other = copy.copy(self)
        other.before, other.after = before, after
        return other

    def to_bytes(self) -> bytes:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def pieces(self, ids: Iterable[int]) -> list[str]:
        raise NotImplementedError

    def decode(self, ids: Iterable[int]) -> str:
        raise NotImplementedError

    def _ids(self, text: str) -> list[int]:
        raise NotImplementedError

    def _surfaces(self, text: str) -> list[str]:
        raise NotImplementedError

    def encode(self, text: str) -> list[int]:
        """Ids of the text's pieces, and of those around every text, without the </s> that ends it. Markup such as
        "</s>" in text stays text."""
        ids = self._ids(text)
        return [*self.before, *ids, *self.after] if ids else []

    def surfaces(self, text: str) -> list[str]:
        """The text of each piece of `encode(text)`, with the piece mark; for <unk> the typed characters."""
        surfaces = self._surfaces(text)
        return [*self.pieces(self.before), *surfaces, *self.pieces(self.after)] if surfaces else []


def tidied(text: str) -> str:
    """The text without the blanks of TIDIED."""
    for blank in TIDIED:
        text = text.replace(blank, blank.strip())
    return text


class VocabularyTokenizer(ImportedTokenizer):
    """The tokenizer of one side of a model whose pieces SentencePiece makes.

    processor: SentencePiece, which divides text into pieces; its ids are not used.
    vocabulary: piece -> id, each id once, from 0 to below size; other pieces become <unk>.
    controls: ids that are not text (<pad>, </s>).
    added: pieces that are one token wherever they stand in a text; SentencePiece divides what is between them.
    silent: further ids that a decoded text leaves out.
    tidy: whether a decoded text loses the blanks of TIDIED.
    codes: whether a language code at the start of a text, ">>deu<<", is one token; Marian's models for several target
    languages have these codes in their vocabulary.
    Raises TokenizerError.
    """

    def __init__(
        self,
        processor: sentencepiece.SentencePieceProcessor,
        vocabulary: Mapping[str, int],
        size: int,
        unknown: int,
        controls: Iterable[int],
        added: Collection[str] = (),
        silent: Iterable[int] = (),
        tidy: bool = False,
        codes: bool = True,
    ) -> None:
        self._processor, self._vocabulary, self.unknown, self._codes = processor, dict(vocabulary), unknown, codes
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
        self._added, self._silent, self._tidy = list(added), self._controls | set(silent), tidy
        longest_first = map(re.escape, sorted(added, key=len, reverse=True))
        self._whole = re.compile(f"({'|'.join(longest_first) or '(?!)'})")  # (?!) is nowhere

    def to_bytes(self) -> bytes:
        """The SentencePiece model in the form of its file."""
        return self._processor.serialized_model_proto()

    def table(self) -> dict[str, Any]:
        """What makes ids of the pieces, for JSON: the arguments after the processor."""
        return {
            "vocabulary": self._vocabulary, "size": len(self), "unknown": self.unknown,
            "controls": sorted(self._controls), "added": self._added, "silent": sorted(self._silent),
            "tidy": self._tidy, "codes": self._codes,
        }  # fmt: skip

    def __len__(self) -> int:
        return len(self._pieces)

    def lacking(self) -> tuple[int, int]:
        """How many pieces of the SentencePiece model are not in the vocabulary, and how many pieces it has."""
        model = self._processor
        pieces = [
            model.IdToPiece(number)
            for number in range(len(model))
            if not (model.IsControl(number) or model.IsUnused(number) or model.IsUnknown(number))
        ]
        return sum(piece not in self._vocabulary for piece in pieces), len(pieces)

    def _divide(self, text: str, divide: Callable[[str], list[str]]) -> list[str]:
        """The tokens of a text: added ones and language codes, and what `divide` makes of the parts between them."""
        tokens = []
        for index, part in enumerate(self._whole.split(clean(text))):
            whole, rest = (part, "") if index % 2 else CODE.findall(part)[0] if self._codes else ("", part)
            tokens += [whole] * bool(whole) + divide(rest)
        return tokens

    def _ids(self, text: str) -> list[int]:
        ids = (
            self._vocabulary.get(piece, self.unknown) for piece in self._divide(text, self._processor.EncodeAsPieces)
        )
        return [self.unknown if token_id in self._controls else token_id for token_id in ids]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Pieces as stored, with the piece mark and the names of special tokens; an id without a piece shows itself."""
        pieces = ((int(token_id), self._pieces[int(token_id)]) for token_id in ids)
        return [f"<{token_id}>" if piece is None else piece for token_id, piece in pieces]

    def decode(self, ids: Iterable[int]) -> str:
        """Text of the ids; special tokens are left out, <unk> shows as U+2047."""
        text_ids = [token_id for token_id in map(int, ids) if token_id not in self._silent]
        pieces = zip(text_ids, self.pieces(text_ids), strict=True)
        text = self._processor.DecodePieces(
            [f"{PIECE_MARK}{UNKNOWN}" if token_id == self.unknown else piece for token_id, piece in pieces]
        )
        text = text.replace(PIECE_MARK, " ").strip()
        return tidied(text) if self._tidy else text

    def _surfaces(self, text: str) -> list[str]:
        return self._divide(
            text, lambda part: list(self._processor.Encode(part, return_type="offset_mapping")["pieces"])
        )
