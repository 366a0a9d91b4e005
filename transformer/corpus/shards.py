"""The output of a job over a corpus: a folder of shards, each written whole, and a manifest of what made them."""

import io
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from transformer.corpus.reading import CHUNK, Chunk, Corpus
from transformer.corpus.tasks import CorpusError, Job
from transformer.files import read_bounded, write_whole

SHARD = 20  # chunks: 10,000 lines
MANIFEST = "_manifest.json"  # readers of Parquet leave out names that begin with _
LARGEST = 100_000_000  # bytes of a manifest
ENDINGS = {"text": "txt", "parquet": "parquet", "json": "jsonl"}
Computed = tuple[Chunk, Any, Sequence[str]]  # a chunk, the value of its result, and a line for each broken row


class Shards:
    """A folder of shards part-00000.txt, .. of a job over a corpus; _errors-00000.txt names the broken lines of a
    shard. kind: of ENDINGS; chunks: in a shard.

    Raises CorpusError if the folder holds the shards of another job, or other files; OSError.
    """

    def __init__(self, folder: Path, job: Job, corpus: Corpus, kind: str, chunks: int | None = None) -> None:
        self.folder, self.kind, self.chunks = folder, kind, chunks or SHARD
        about = {
            "input": corpus.identity(), "model": [digest for _name, digest in job["models"]], "task": job["task"],
            "options": job["options"] | {"device": job["device"], "format": kind}, "version": version("headscope"),
            "lines": [CHUNK, self.chunks],
        }  # fmt: skip
        text = json.dumps(about, indent=1) + "\n"
        folder.mkdir(parents=True, exist_ok=True)
        manifest = folder / MANIFEST
        if not manifest.exists():
            if any(one for one in folder.iterdir() if one.name != f".{MANIFEST}.partial"):
                raise CorpusError("{folder} is not empty; choose a new folder", folder=folder)
            write_whole(manifest, text.encode())
        try:
            before = json.loads(read_bounded(manifest, LARGEST))
            changed = [name for name, value in json.loads(text).items() if before.get(name) != value]
        except (ValueError, AttributeError):
            changed = [MANIFEST]
        if changed:
            raise CorpusError(
                "{folder} belongs to another run, with another value of {name} in its {manifest}; choose a new folder, "
                "or repeat that run",
                folder=folder, name=", ".join(changed), manifest=MANIFEST,
            )  # fmt: skip

    def path(self, number: int) -> Path:
        return self.folder / f"part-{number:05}.{ENDINGS[self.kind]}"

    def has(self, chunk: Chunk) -> bool:
        """Whether the shard of the chunk is there already."""
        return self.path(chunk.number // self.chunks).exists()

    def write(self, computed: Iterable[Computed]) -> None:
        """Write each shard as soon as its last chunk is there. computed: in order."""
        for number, some in itertools.groupby(computed, lambda one: one[0].number // self.chunks):
            chunks = list(some)
            broken = [line for *_chunk, lines in chunks for line in lines]
            if broken:
                write_whole(self.folder / f"_errors-{number:05}.txt", "".join(f"{line}\n" for line in broken).encode())
            write_whole(self.path(number), self._packed([(chunk, value) for chunk, value, _broken in chunks]))

    def _packed(self, chunks: Sequence[tuple[Chunk, Any]]) -> bytes:
        if self.kind == "text":
            return "".join(f"{line}\n" for _chunk, value in chunks for line in next(iter(value.values()))).encode()
        if self.kind == "json":
            return "".join(f"{json.dumps(value)}\n" for _chunk, value in chunks).encode()
        import pyarrow
        from pyarrow import parquet

        columns: dict[str, list[Any]] = {
            "file": [chunk.file for chunk, _value in chunks for _row in chunk.rows],
            "line": [chunk.first + index for chunk, _value in chunks for index in range(len(chunk.rows))],
        }
        for name in chunks[0][1]:
            columns[name] = [one for _chunk, value in chunks for one in value[name]]
        parquet.write_table(pyarrow.table(columns), packed := io.BytesIO())
        return packed.getvalue()

    def values(self, first: int = 0) -> Iterator[Any]:
        """The values of the shards of kind "json" in order, from this one on."""
        for path in sorted(self.folder.glob("part-*"))[first:]:
            with path.open(encoding="utf-8") as file:
                yield from map(json.loads, file)

    def broken(self) -> bool:
        """Whether a line of the corpus is broken."""
        return any(self.folder.glob("_errors-*"))


def values_of(found: Iterable[Computed], shards: Shards | None, first: int = 0) -> Iterator[Any]:
    """The values that are found; with shards of kind "json" from these, from this one on, after all are written."""
    if shards is None:
        yield from (value for _chunk, value, _broken in found)
    else:
        shards.write(found)
        yield from shards.values(first)
