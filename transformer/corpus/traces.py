"""Tensors of a corpus: `trace_all`, in shards of Parquet."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from transformer.corpus.reading import PARQUET, open_corpus
from transformer.corpus.running import computed
from transformer.corpus.shards import Shards
from transformer.corpus.tasks import IDS, SHAPE, job
from transformer.inference.pretrained import load
from transformer.tracing.batch import Kept


def trace_corpus(
    checkpoint: str,
    files: Sequence[str | Path],
    folder: str | Path,
    keep: Sequence[str] | str = ("cross.weights",),
    batch_tokens: int = 1000,
    device: str = "cpu",
    workers: int = 1,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] = lambda read, before: None,
) -> Shards:
    """What `Pretrained.trace_all` keeps of every pair of a corpus, into the folder; a second call goes on where the
    first stopped. checkpoint: a name or path; files: as in `open_corpus`; workers, scheduler, progress: as in
    `running.computed`. The columns of a line that is broken are null; `_errors-*.txt` say why. Raises CorpusError,
    DataError, KeepError."""
    corpus = open_corpus([Path(file) for file in files])
    names = [keep] if isinstance(keep, str) else list(keep)
    task = job("trace", [(checkpoint, load(checkpoint, device))], device, keep=names, batch_tokens=batch_tokens)
    shards = Shards(Path(folder), task, corpus, "parquet", 1)
    shards.write(computed(task, corpus.chunks(), shards, workers, scheduler, progress))
    return shards


def read_traces(folder: str | Path) -> Iterator[Kept | None]:
    """Every line of such a folder, in order; None for a broken line."""
    from pyarrow import parquet

    for path in sorted(Path(folder).glob("part-*")):
        with parquet.ParquetFile(path, **PARQUET) as file:
            for batch in file.iter_batches(64):
                yield from (_kept(batch, row) for row in range(batch.num_rows))


def _kept(batch: Any, row: int) -> Kept | None:
    cells = {name: batch[name][row].values for name in batch.schema.names[2:]}  # without file and line
    if None in cells.values():
        return None
    numbers = {name: torch.from_numpy(one.to_numpy(zero_copy_only=False).copy()) for name, one in cells.items()}
    read, fed, out = (tuple(numbers.pop(name).tolist()) for name in IDS)
    names = [name for name in numbers if not name.endswith(SHAPE)]
    return Kept(read, fed, out, {name: numbers[name].reshape(numbers[name + SHAPE].tolist()) for name in names})
