"""Files of parallel text."""

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

from transformer.texts import UserError

Pair = tuple[str, str]


class DataError(UserError):
    """Invalid data or an invalid recipe. The message names the file and the line."""


def _lines(path: Path) -> list[str]:
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:  # the last two: a damaged .gz
        raise DataError(
            "{path} cannot be read: {reason}", path=path, reason=getattr(error, "strerror", None) or error
        ) from error
    data = data.removeprefix(b"\xef\xbb\xbf")  # the byte order mark some editors write
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(
            "{path}, line {line}: byte {byte:#x} is not UTF-8; save the file as UTF-8",
            path=path,
            line=line,
            byte=data[error.start],
        ) from error
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise DataError("{path} is empty; it needs one sentence pair per line", path=path)
    return [line.removesuffix("\r") for line in lines]


def read_pairs(path: Path, target: Path | None = None) -> list[Pair]:
    """Sentence pairs from one tab-separated file, or from two files line by line; `.gz` is unpacked.

    Columns after the second are ignored (exports carry attributions there). Raises DataError.
    """
    path = Path(path)
    if target is not None:
        sources, targets = _lines(path), _lines(Path(target))
        if len(sources) != len(targets):
            raise DataError(
                "{path} has {count} lines, but {target} has {target_count}; they must have equally many",
                path=path,
                count=len(sources),
                target=target,
                target_count=len(targets),
            )
        return list(zip(sources, targets, strict=True))
    pairs = []
    for number, line in enumerate(_lines(path), 1):
        fields = line.split("\t")
        if len(fields) < 2:
            raise DataError(
                "{path}, line {number} has no tab; write each line as SOURCE<tab>TARGET", path=path, number=number
            )
        pairs.append((fields[0], fields[1]))
    return pairs


def group_references(pairs: Sequence[Pair]) -> tuple[list[str], list[list[str]]]:
    """Distinct sources in order of appearance, and all references of each."""
    references: dict[str, list[str]] = {}
    for source, target in pairs:
        references.setdefault(source, []).append(target)
    return list(references), list(references.values())
