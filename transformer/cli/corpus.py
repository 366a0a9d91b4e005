"""Options of commands that run over a corpus, and their run."""

import argparse
import contextlib
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from transformer.cli.common import CommandError, complain, whole
from transformer.corpus.reading import Chunk, Corpus, open_corpus
from transformer.corpus.running import can_have_workers, computed, cores
from transformer.corpus.shards import Computed, Shards, values_of
from transformer.corpus.tasks import Job
from transformer.texts import _

LARGE = 1_000_000  # bytes, about 15,000 sentence pairs: from here on all cores work
TOLD = {True: 0.2, False: 60.0}  # seconds between two lines of progress: for a terminal, for a log


def add_corpus(parser: argparse.ArgumentParser, default: str) -> None:
    """Options of a run over a corpus. default: what is read without --data."""
    parser.add_argument(
        "--data",
        type=Path,
        nargs="+",
        metavar="FILE",
        help=_(
            "sentence pairs: SOURCE<tab>TARGET, .gz or Parquet; a folder of such files; or a source file and a target "
            "file ({default})",
            default=default,
        ),
    )
    group = parser.add_argument_group(_("large inputs"))
    group.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help=_("keep what is computed in this folder, in shards; the same command goes on where it stopped"),
    )
    group.add_argument(
        "--workers",
        type=whole(1, 1_000),
        metavar="N",
        help=_("processes on this machine (default: one for each core if --data is large, which needs '.[cluster]')"),
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help=_("compute on a cluster: the address of its Dask scheduler, for example tcp://10.0.0.1:8786"),
    )


def corpus_of(files: Sequence[Path] | None, options: argparse.Namespace) -> Corpus | None:
    """The files as a corpus, if they are large or an option asks for it; None: they are small enough to be read whole.
    Raises CommandError for such an option without files, DataError."""
    asked = any(value is not None for value in (options.output, options.workers, options.scheduler))
    if asked and not files:
        raise CommandError("--output, --workers and --scheduler need --data; name a file or a folder there")
    with contextlib.suppress(OSError):  # whoever reads them says what is wrong
        folder = any(path.is_dir() or path.suffix == ".parquet" for path in files or ())
        if asked or folder or sum(path.stat().st_size for path in files or ()) >= LARGE:
            return open_corpus(files or ())
    return None


def _workers(options: argparse.Namespace, corpus: Corpus) -> int:
    if options.workers is not None:
        return int(options.workers)
    large = corpus.size >= LARGE and options.device == "cpu" and can_have_workers()
    return cores() if large else 1


class Progress:
    """Shows progress with the time left, on stderr. size: bytes of the corpus."""

    def __init__(self, size: int) -> None:
        self.size, self.terminal = size, sys.stderr.isatty()
        self.began = self.last = time.monotonic()

    def __call__(self, read: int, before: int) -> None:
        now = time.monotonic()
        ended = self.terminal and read >= self.size
        if (now - self.last < TOLD[self.terminal] and not ended) or read <= before:
            return
        self.last = now
        left = timedelta(seconds=round((now - self.began) * (self.size - read) / (read - before)))
        text = _("{percent:.1f}%, {left} left", percent=100 * read / self.size, left=left)
        start, end = ("\r", " " + "\n" * ended) if self.terminal else ("", "\n")
        print(start + text, end=end, file=sys.stderr, flush=True)


class Broken:
    """Names broken lines on stderr. status: of the command, 1 if there is one."""

    status = 0

    def __call__(self, line: str) -> None:
        complain(line)
        self.status = 1


def values_over(job: Job, corpus: Corpus, chunks: Iterable[Chunk], options: argparse.Namespace) -> Iterator[Any]:
    """What the job gives for each chunk, in order; from the shards of --output, if that is given."""
    shards = Shards(options.output, job, corpus, "json") if options.output else None
    yield from values_of(run_over(job, corpus, chunks, options, shards), shards)


def run_over(
    job: Job, corpus: Corpus, chunks: Iterable[Chunk], options: argparse.Namespace, shards: Shards | None
) -> Iterator[Computed]:
    """What the job gives for the chunks that no shard has yet, in order; broken lines are named on stderr."""
    many = _workers(options, corpus)
    for chunk, value, broken in computed(job, chunks, shards, many, options.scheduler, Progress(corpus.size)):
        for line in broken:
            complain(line)
        yield chunk, value, broken
