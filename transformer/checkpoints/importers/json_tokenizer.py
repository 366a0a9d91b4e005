"""Text to pieces to ids and back with tokenizer.json, the file of Hugging Face's package `tokenizers`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer.checkpoints.importers.vocabulary import UNKNOWN, ImportedTokenizer, tidied
from transformer.files import read_bounded, reading_file
from transformer.text.tokenizer import PIECE_MARK, TokenizerError, clean

if TYPE_CHECKING:
    import tokenizers

LARGEST = 100_000_000  # bytes; that of NLLB, with 256,000 pieces, takes 33 million


def _byte_signs() -> dict[str, int]:
    """Sign -> byte, of byte-level BPE (Radford et al. 2019): a byte that is no visible sign of Latin 1 is written as
    one of the signs from U+0100 on."""
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + place): byte for place, byte in enumerate(others)}


BYTES = _byte_signs()


def _text_of(data: bytes) -> str:
    """UTF-8 as text; of a character that another piece completes, its bytes as SentencePiece writes them: <0xE2>."""
    text = ""
    while data:
        try:
            return text + data.decode()
        except UnicodeDecodeError as error:
            text += data[: error.start].decode() + "".join(f"<0x{byte:02X}>" for byte in data[error.start : error.end])
            data = data[error.end :]
    return text


def _guarded(make: Any, name: str) -> Any:
    """What the package makes of a file. Its own errors are of every kind, down to a panic of Rust."""
    try:
        return make()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise TokenizerError("{name} is not a tokenizer that Hugging Face's tokenizers can read", name=name) from error


def _package() -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise TokenizerError(
            "tokenizer.json and merges.txt need the package tokenizers; install it with: pip install tokenizers, or "
            "install Headscope with its extra [hub]"
        ) from error
    return tokenizers


def read_json_tokenizer(path: Path, *needed: str) -> tokenizers.Tokenizer:
    """needed: tokens that it must have. Raises TokenizerError."""
    package = _package()
    with reading_file(path.name, TokenizerError):
        data = read_bounded(path, LARGEST)
    made = _guarded(lambda: package.Tokenizer.from_str(data.decode()), path.name)
    if lacking := [token for token in needed if made.token_to_id(token) is None]:
        raise TokenizerError("{name} has no token {token}", name=path.name, token=lacking[0])
    return made


def byte_level(vocabulary: dict[str, int], path: Path, prefix_space: bool) -> tokenizers.Tokenizer:
    """Byte-level BPE of a vocabulary and a file of merges. Raises TokenizerError."""
    package = _package()
    try:
        with reading_file(path.name, TokenizerError):
            lines = read_bounded(path, LARGEST).decode().splitlines()
    except UnicodeDecodeError as error:
        raise TokenizerError("{name} is not text in UTF-8", name=path.name) from error
    merges = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]

    def made() -> tokenizers.Tokenizer:
        found = package.Tokenizer(package.models.BPE(vocab=vocabulary, merges=merges))
        found.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
        found.decoder = package.decoders.ByteLevel()
        return found

    return _guarded(made, path.name)


class JsonTokenizer(ImportedTokenizer):
    """A tokenizer of the package `tokenizers`.

    size: rows of the embedding table; unknown: id of <unk>; controls, silent, tidy: as in `VocabularyTokenizer`. With
    silent ids, such as T5's <extra_id_0>, special tokens in a text are not markup: controls among them become <unk>.
    """

    def __init__(
        self,
        tokenizer: tokenizers.Tokenizer,
        size: int,
        unknown: int,
        controls: Collection[int],
        silent: Collection[int] = (),
        tidy: bool = False,
    ) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = not silent  # if True, markup such as "</s>" in a text stays text
        self._tokenizer, self._size, self.unknown, self._tidy = tokenizer, size, unknown, tidy
        self._controls = frozenset(controls) - {unknown}
        self._silent = self._controls.union(silent) - {unknown}
        self._bytes = type(tokenizer.decoder).__name__ == "ByteLevel"
        self._unknown_piece = tokenizer.id_to_token(unknown)
        if (highest := max(tokenizer.get_vocab().values(), default=0)) >= size:
            raise TokenizerError(
                "a piece of the tokenizer has the id {highest:,}, and the embedding table has {size:,} rows; take all "
                "files from the same model",
                highest=highest, size=size,
            )  # fmt: skip

    def to_bytes(self) -> bytes:
        """The content of tokenizer.json."""
        return self._tokenizer.to_str().encode()

    def __len__(self) -> int:
        return self._size

    def _encoded(self, text: str) -> Any:
        return self._tokenizer.encode(clean(text), add_special_tokens=False)

    def _ids(self, text: str) -> list[int]:
        ids = self._encoded(text).ids if text.strip() else []
        return [self.unknown if token_id in self._controls else token_id for token_id in ids]  # unigrams read them

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Pieces with the piece mark and the names of special tokens; an id without a piece shows itself."""
        found = []
        for token_id in map(int, ids):
            piece = self._tokenizer.id_to_token(token_id)
            if piece is not None and self._bytes and token_id not in self._silent and set(piece) <= BYTES.keys():
                piece = _text_of(bytes(BYTES[sign] for sign in piece)).replace(" ", PIECE_MARK)
            found.append(f"<{token_id}>" if piece is None else piece)
        return found

    def decode(self, ids: Iterable[int]) -> str:
        """Text of the ids; special tokens are left out, <unk> shows as U+2047."""
        spoken = [token_id for token_id in map(int, ids) if token_id not in self._silent]
        text = self._tokenizer.decode(spoken, skip_special_tokens=False)
        if self._unknown_piece is not None and self.unknown in spoken:
            text = text.replace(self._unknown_piece, UNKNOWN)
        return tidied(text.strip()) if self._tidy else text.strip()

    def _surfaces(self, text: str) -> list[str]:
        if not text.strip():
            return []
        encoded, typed = self._encoded(text), clean(text)
        return [
            typed[start:end].replace(" ", PIECE_MARK) if token_id in {self.unknown, *self._controls} else piece
            for token_id, (start, end), piece in zip(
                encoded.ids, encoded.offsets, self.pieces(encoded.ids), strict=True
            )
        ]
