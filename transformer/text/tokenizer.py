"""Text to pieces to ids and back, with SentencePiece."""

from __future__ import annotations

import bisect
import functools
import io
import itertools
import math
import random
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import sentencepiece

from transformer.files import read_bounded, reading_file, write_whole
from transformer.text.piece_file import PieceFileError, check_pieces, is_bpe
from transformer.texts import Text, UserError

PIECE_MARK = "▁"  # how SentencePiece writes the space before a word
TOKENIZER_KINDS = ("unigram", "bpe", "char", "symbol")
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")  # ids 0 to 3
SPECIAL_TEXT = re.compile(r"<(?=(?:pad|unk|s|/s)>)")
UNKNOWN = 1
LARGEST_TOKENIZER = 5_000_000  # bytes; en-de takes 380,000, and the largest known model, with 250,000 pieces, 5 million
MARKS = 30  # largest number of combining marks on one letter; no language has more (Unicode, annex 15, section 13)


class TokenizerError(UserError):
    """A tokenizer file that cannot be read, or a text that is too small to train a tokenizer."""


def clean(text: str) -> str:
    """The text as the tokenizer reads it: lone surrogates become U+FFFD; control characters, line breaks and runs of
    blanks become one blank; NFC."""
    if text.isascii() and text.isprintable():  # 0.2 us per word instead of 1.6; a training reads 100,000 words first
        return " ".join(text.split())
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = "".join(" " if unicodedata.category(c) == "Cc" else c for c in text)
    return composed(" ".join(text.split()))


def composed(text: str) -> str:
    """The text in NFC, for whatever compares texts: a letter and its mark are one character, while files of macOS may
    write two (NFD)."""
    return unicodedata.normalize("NFC", _joined(text))


def equal(text: str, other: str) -> bool:
    """Whether two texts are the same, however their letters are composed."""
    return text == other or composed(text) == composed(other)


def _joined(text: str) -> str:
    """The text with the invisible joiner U+034F after every MARKS combining marks on a letter. Sorting n marks takes
    n^2 steps: 100,000 of them would block the server for 8 seconds."""
    if text.isascii() or len(text) <= MARKS:
        return text
    joined, marks = [], 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > MARKS:
            joined.append("\u034f")
            marks = 1
        joined.append(character)
    return "".join(joined)


class AnyTokenizer(Protocol):
    """The methods of a tokenizer that a loaded model needs; see `Tokenizer` for their documentation."""

    def to_bytes(self) -> bytes: ...

    def __len__(self) -> int: ...

    def encode(self, text: str) -> list[int]: ...

    def pieces(self, ids: Iterable[int]) -> list[str]: ...

    def decode(self, ids: Iterable[int]) -> str: ...

    def surfaces(self, text: str) -> list[str]: ...


def read_processor(path: Path, largest: int) -> sentencepiece.SentencePieceProcessor:
    """A SentencePiece model of at most `largest` bytes, with any special pieces. Raises TokenizerError."""
    name = path.name
    with reading_file(name, TokenizerError):
        model = read_bounded(path, largest)
    try:
        check_pieces(model)
    except PieceFileError as error:
        raise TokenizerError("{name}: {error}", name=name, error=error) from error
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except (RuntimeError, TypeError, ValueError) as error:
        raise TokenizerError("{name} is not a SentencePiece model", name=name) from error
    return processor


class Tokenizer:
    """A SentencePiece model with <pad>, <unk>, <s>, </s> as ids 0 to 3.

    Immutable after construction and safe to share between threads. Raises TokenizerError.
    """

    def __init__(self, model: bytes) -> None:
        try:
            check_pieces(model)
        except PieceFileError as error:
            raise TokenizerError(str(error)) from error
        self._model = model
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(model)
        except (RuntimeError, TypeError, ValueError) as error:
            raise TokenizerError("this is not a SentencePiece model") from error
        first = tuple(self._processor.IdToPiece(i) for i in range(min(4, len(self))))
        if first != SPECIALS:
            raise TokenizerError(
                "the tokenizer has {first} as ids 0 to 3; they must be {specials}", first=first, specials=SPECIALS
            )
        processor = self._processor
        ordinary = [i for i in range(4, len(self)) if not (processor.IsControl(i) or processor.IsUnused(i))]
        self._scores = {processor.IdToPiece(i): (i, processor.GetScore(i)) for i in ordinary}
        self._longest = max(map(len, self._scores), default=1)
        # SentencePiece's score of a character that is in no piece
        self._unknown_score = min((score for _, score in self._scores.values()), default=0.0) - 10
        self._lattice = functools.lru_cache(60_000)(self._build_lattice)  # words repeat; 20,000 took a quarter longer

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """Raises TokenizerError if the file cannot be read as a SentencePiece model."""
        with reading_file(path, TokenizerError):
            return cls(read_bounded(Path(path), LARGEST_TOKENIZER))

    @classmethod
    def train(cls, lines: Iterable[str], vocab_size: int, kind: str = "unigram") -> Tokenizer:
        """Learn a vocabulary of vocab_size pieces from lines of text.

        kind: "unigram" (Kudo 2018), "bpe" (Sennrich et al. 2016), "char": every character is a token, in lower case, or
        "symbol": every character as typed. For the last two vocab_size is only a limit.
        Raises TokenizerError for an unknown kind, or if the text is too small for vocab_size.
        """
        if kind not in TOKENIZER_KINDS:
            raise TokenizerError(
                "unknown tokenizer {kind!r}; choose {kinds}",
                kind=kind,
                kinds=", ".join(TOKENIZER_KINDS),
            )
        characters = kind in ("char", "symbol")
        rule = {"char": "nmt_nfkc_cf", "symbol": "identity"}.get(kind, "nmt_nfkc")
        seen: set[str] = set()

        def training_lines() -> Iterator[str]:
            for line in lines:
                line = composed(line)  # as `encode` reads it
                seen.update(line)
                # SentencePiece skips "</s>" in text with all its characters, but it learns "<" and "/s>".
                yield from SPECIAL_TEXT.sub("<\n", line).split("\n") if characters else (line,)

        written = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.Train(
                sentence_iterator=training_lines(),
                model_writer=written,
                vocab_size=vocab_size,
                model_type="char" if characters else kind,
                hard_vocab_limit=not characters,
                add_dummy_prefix=not characters,
                normalization_rule_name=rule,
                character_coverage=1.0,
                split_digits=True,
                num_threads=1,
                pad_id=0,
                unk_id=1,
                bos_id=2,
                eos_id=3,
                pad_piece="<pad>",
                minloglevel=2,
            )
        except (RuntimeError, ValueError) as error:
            # "Vocabulary size is smaller than required_chars. 8 vs 17", "... too high (9000) ... a value <= 31"
            least, most = re.search(r"required_chars\. \d+ vs (\d+)", str(error)), re.search(r"<= (\d+)", str(error))
            if least:
                reason = Text("it has {count} different characters, choose more pieces", count=least[1])
            elif most:
                reason = Text("it has at most {count} pieces, choose fewer", count=most[1])
            else:
                reason = Text("it is too short or too uniform, choose fewer pieces")
            raise TokenizerError(
                "this text does not suit a vocabulary of {vocab_size} pieces: {reason} (--vocab-size)",
                vocab_size=vocab_size,
                reason=reason,
            ) from error
        tokenizer = cls(written.getvalue())
        if characters and any(UNKNOWN in tokenizer.encode(character) for character in seen):
            raise TokenizerError(
                "this text has {count} different characters, too many for a vocabulary of {vocab_size}; "
                "choose a larger one (--vocab-size)",
                count=len(seen),
                vocab_size=vocab_size,
            )
        return tokenizer

    def to_bytes(self) -> bytes:
        """The SentencePiece model in the form of its file."""
        return self._model

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        write_whole(Path(path), self._model)

    def __len__(self) -> int:
        return self._processor.GetPieceSize()

    def encode(self, text: str) -> list[int]:
        """Ids of the text's pieces, without <s> and </s>. Markup such as "</s>" in text stays text."""
        return self._processor.EncodeAsIds(clean(text))

    def sample(self, texts: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Ids of one random segmentation of every text (subword regularisation, Kudo 2018), the same for the same seed.

        alpha: smoothing, above 0; a smaller alpha is more random: the probability is P(segmentation)^alpha, normalised
        over all segmentations. With BPE pieces, which have no probabilities, alpha is the dropout of merges, from 0 to
        1, and a larger one is more random. A resumed run must repeat the samples, which SentencePiece's own sampling
        does not do after a seed is set (0.2.3, findings/sentencepiece-seed.sh). Raises TokenizerError.
        """
        rng, draw = random.Random(seed), self._draw
        if is_bpe(self._model):
            if not 0 <= alpha <= 1:
                raise TokenizerError(
                    "sampling is {alpha:g}; with a BPE tokenizer it is the share of merges to leave out, from 0 to 1",
                    alpha=alpha,
                )
            draw = self._merge
        result = []
        for text in texts:
            ids: list[int] = []
            words = self._processor.Normalize(clean(text)).split(PIECE_MARK)  # no piece contains parts of two words
            for word in words[0:1] + [PIECE_MARK + word for word in words[1:]]:
                for piece in draw(word, alpha, rng):
                    if piece != UNKNOWN or ids[-1:] != [
                        UNKNOWN
                    ]:  # one <unk> for neighbouring unknown pieces, like `encode`
                        ids.append(piece)
            result.append(ids)
        return result

    def _draw(self, word: str, alpha: float, rng: random.Random) -> list[int]:
        """Ids of one random segmentation of a word, drawn from its end: each piece by its share of the weight."""
        lattice, ids, end = self._lattice(word, alpha), [], len(word)
        while end:
            shares, pieces = lattice[end - 1]
            start, piece = pieces[min(bisect.bisect(shares, rng.random()), len(pieces) - 1)]
            ids.append(piece)
            end = start
        return ids[::-1]

    def _merge(self, word: str, alpha: float, rng: random.Random) -> list[int]:
        """Ids of one segmentation of a word by BPE-dropout (Provilkov et al. 2020, algorithm 1): at every step each
        possible merge is left out with probability alpha, and the best of the others is made."""
        scores, parts = self._scores, list(word)
        while merges := [
            (scores[pair][1], -start)
            for start, pair in enumerate(map("".join, itertools.pairwise(parts)))
            if pair in scores and rng.random() >= alpha
        ]:
            start = -max(merges)[1]
            parts[start : start + 2] = [parts[start] + parts[start + 1]]
        return [scores[part][0] if part in scores else UNKNOWN for part in parts]

    def _build_lattice(self, word: str, alpha: float) -> list[tuple[list[float], list[tuple[int, int]]]]:
        """For every end in the word: the running shares, up to 1, of the pieces that end there, and these pieces as
        (start, id)."""
        scores, longest = self._scores, self._longest
        reach, lattice = [0.0], []  # log of the total weight of all segmentations up to each position
        for end in range(1, len(word) + 1):
            pieces, weights = [], []
            for start in range(max(0, end - longest), end):
                piece = scores.get(word[start:end])
                if piece is None and start == end - 1:
                    piece = UNKNOWN, self._unknown_score
                if piece is not None:
                    pieces.append((start, piece[0]))
                    weights.append(reach[start] + alpha * piece[1])
            top = max(weights)
            running = list(itertools.accumulate(math.exp(weight - top) for weight in weights))
            lattice.append(([share / running[-1] for share in running], pieces))
            reach.append(top + math.log(running[-1]))
        return lattice

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Pieces as stored, with the piece mark and the names of special tokens."""
        return [self._processor.IdToPiece(int(i)) for i in ids]

    def decode(self, ids: Iterable[int]) -> str:
        """Text of the ids; special tokens are left out, <unk> shows as U+2047."""
        return self._processor.DecodeIds([int(i) for i in ids])

    def surfaces(self, text: str) -> list[str]:
        """The text of each piece of `encode(text)`, with the piece mark; for <unk> the typed characters."""
        return list(self._processor.Encode(clean(text), return_type="offset_mapping")["pieces"])
