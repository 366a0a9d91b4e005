"""A corpus in chunks: tab-separated text, packed with gzip or not, Parquet, or a folder of such files."""

import gzip
import hashlib
import itertools
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from transformer.files import open_regular
from transformer.texts import _, comma_list
from transformer.training.data import DataError, Pair

SUFFIXES = (".tsv", ".txt", ".gz", ".parquet")
CHUNK = 500  # lines; the same for any number of processes, because sums of floats depend on their order
# Each alone leaves a whole row group in memory, which may be the whole file (pyarrow 26).
PARQUET: dict[str, Any] = {"pre_buffer": False, "buffer_size": 65_536}
LONGEST = 65_536  # bytes of a line; a chunk has at most 33 MB
ENDED = b"\n"  # which no line contains
Row = Pair | str  # a sentence pair, or what is wrong with its line


@dataclass(frozen=True)
class Chunk:
    """number: from 0; file, first: where its first line stands, from 1; rows: what one process computes at once, of a
    `Corpus` a list of Row; read: how many bytes of the corpus have been read so far."""

    number: int
    file: str
    first: int
    rows: Any
    read: int

    def named(self, index: int, error: str) -> str:
        """A sentence about one of its rows."""
        return _("{file}, line {number}: {error}", file=self.file, number=self.first + index, error=error)


@dataclass(frozen=True)
class Corpus:
    """files: in order; or two, source and target, line by line (paired). size: bytes to read; of the source alone."""

    files: tuple[Path, ...]
    paired: bool
    size: int

    def identity(self) -> list[list[Any]]:
        """Name, size and SHA-256 of every file. Raises OSError."""
        found = []
        for path in self.files:
            file: Any
            with open_regular(path) as file:
                found.append([path.name, path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()])
        return found

    def chunks(self) -> Iterator[Chunk]:
        """Chunks of rows; none spans two files. Raises DataError for a file that cannot be read to its end."""
        number = before = 0
        for path in self.files[:1] if self.paired else self.files:
            first = 1
            try:
                read = _parquet(path) if path.suffix == ".parquet" else _text(*(self.files if self.paired else [path]))
                for rows, position in read:
                    yield Chunk(number, path.name, first, rows, before + position)
                    number, first = number + 1, first + len(rows)
            except DataError:
                raise
            # EOFError, zlib.error: a damaged .gz; ValueError: pyarrow's errors
            except (OSError, EOFError, zlib.error, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                raise DataError("{path} cannot be read: {reason}", path=path, reason=reason) from error
            before += path.stat().st_size

    def pairs(self, complain: Callable[[str], None]) -> Iterator[Pair]:
        """All pairs, one by one. complain: called with a sentence about each broken line."""
        for chunk in self.chunks():
            for index, row in enumerate(chunk.rows):
                if isinstance(row, str):
                    complain(chunk.named(index, row))
                else:
                    yield row


def open_corpus(paths: Sequence[Path]) -> Corpus:
    """A file, a folder with the files whose ending is known in the order of their names, or two files line by line.
    Raises DataError."""
    if len(paths) > 2:
        raise DataError(
            "{count} files are too many; give one tab-separated file, or a source file and a target file",
            count=len(paths),
        )
    files = list(paths)
    if len(paths) == 1 and paths[0].is_dir():
        files = sorted(one for one in paths[0].iterdir() if one.suffix in SUFFIXES and one.name[0] not in "._")
        if not files:
            raise DataError(
                "{path} holds no corpus; put files there that end in {endings}",
                path=paths[0], endings=comma_list(SUFFIXES),
            )  # fmt: skip
    paired = len(paths) == 2
    try:
        sizes = [path.stat().st_size for path in files]
    except OSError as error:
        raise DataError("{path} cannot be read: {reason}", path=error.filename, reason=error.strerror) from error
    return Corpus(tuple(files), paired, sizes[0] if paired else sum(sizes))


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """The lines without their ends; None for one that is longer than LONGEST."""
    mark = b"\xef\xbb\xbf"  # the byte order mark some editors write
    while line := file.readline(LONGEST):
        whole = line.endswith(b"\n") or len(line) < LONGEST
        yield line.removeprefix(mark).removesuffix(b"\n").removesuffix(b"\r") if whole else None
        mark = b""
        while not whole:
            whole = len(line := file.readline(LONGEST)) < LONGEST or line.endswith(b"\n")


def _row(*lines: bytes | None) -> Row:
    """The pair of one line SOURCE<tab>TARGET, further columns ignored, or of two lines; or what is wrong with it."""
    try:
        texts = [line.decode() for line in lines if line is not None]
    except UnicodeDecodeError as error:
        return _("byte {byte:#x} is not UTF-8; save the file as UTF-8", byte=error.object[error.start])
    if len(texts) < len(lines):
        return _("it is longer than {most:,} bytes; shorten it", most=LONGEST)
    source, *others = texts if len(lines) == 2 else texts[0].split("\t")
    return (source, others[0]) if others else _("there is no tab; write SOURCE<tab>TARGET")


def _text(*paths: Path) -> Iterator[tuple[list[Row], int]]:
    with ExitStack() as stack:
        plain = [stack.enter_context(open_regular(path)) for path in paths]
        files = [
            cast(BinaryIO, stack.enter_context(gzip.open(file))) if path.suffix == ".gz" else file
            for path, file in zip(paths, plain, strict=True)
        ]
        together = itertools.zip_longest(*map(_lines, files), fillvalue=ENDED)
        while chunk := list(itertools.islice(together, CHUNK)):
            if ENDED in chunk[-1]:
                raise DataError("{path} and {target} have different numbers of lines; they must have equally many",
                                path=paths[0], target=paths[1])  # fmt: skip
            yield [_row(*lines) for lines in chunk], plain[0].tell()


def _parquet(path: Path) -> Iterator[tuple[list[Row], int]]:
    from pyarrow import parquet  # Streamlit needs it, too

    with parquet.ParquetFile(path, **PARQUET) as file:
        names = file.schema_arrow.names
        chosen = ["source", "target"] if {"source", "target"} <= set(names) else names[:2]
        if len(chosen) < 2:
            raise DataError("{path} has one column; it needs the columns source and target", path=path)
        done, size = 0, path.stat().st_size
        batches = file.iter_batches(CHUNK, columns=chosen)
        pairs = (pair for batch in batches for pair in zip(*(batch[name].to_pylist() for name in chosen), strict=True))
        while chunk := [_pair(*pair) for pair in itertools.islice(pairs, CHUNK)]:
            done += len(chunk)
            yield chunk, size * done // file.metadata.num_rows


def _pair(source: object, target: object) -> Row:
    if not (isinstance(source, str) and isinstance(target, str)):
        return _("it has no text in both columns; write the source in one and the target in the other")
    return (source, target) if len(source) + len(target) < LONGEST else _row(None)


def grouped(chunks: Iterable[Chunk], complain: Callable[[str], None]) -> Iterator[Chunk]:
    """Chunks of every distinct source, in order of appearance, with all its targets: rows (source, [target, ...]), as
    `group_references` makes them. The pairs wait in a temporary file, so that memory stays bounded. complain: called
    with a sentence about each broken line."""
    with closing(sqlite3.connect("")) as store:
        store.execute("CREATE TABLE pairs (source TEXT, target TEXT)")
        read = 0
        for chunk in chunks:
            for index, row in enumerate(chunk.rows):
                if isinstance(row, str):
                    complain(chunk.named(index, row))
            store.executemany(
                "INSERT INTO pairs VALUES (?, ?)", (row for row in chunk.rows if not isinstance(row, str))
            )
            read = chunk.read
        (count,) = store.execute("SELECT count(*) FROM pairs").fetchone()
        rows = store.execute(
            "SELECT source, target FROM (SELECT *, rowid AS place, min(rowid) OVER (PARTITION BY source) AS start "
            "FROM pairs) ORDER BY start, place"
        )
        groups = (
            (source, [target for _source, target in some])
            for source, some in itertools.groupby(rows, lambda row: row[0])
        )
        number = done = 0
        while some := list(itertools.islice(groups, CHUNK)):
            done += sum(len(targets) for _source, targets in some)
            yield Chunk(number, "", number * CHUNK + 1, some, read * done // count)
            number += 1
