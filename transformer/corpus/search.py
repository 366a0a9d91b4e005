"""Where a head or a neuron shows something, over a corpus."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from transformer.corpus.reading import open_corpus
from transformer.corpus.running import computed
from transformer.corpus.shards import Computed, Shards, values_of
from transformer.corpus.tasks import job
from transformer.inference.pretrained import load
from transformer.probing.search import Collected, Found


def search_corpus(
    checkpoint: str,
    files: Sequence[str | Path],
    what: str,
    *,
    complain: Callable[[str], None],
    folder: str | Path | None = None,
    device: str = "cpu",
    workers: int = 1,
    scheduler: str | None = None,
    **question: Any,
) -> Found:
    """What `probing.search.search_attention` or `search_neuron` finds in all pairs of a corpus. The pair of a hit is
    its line, from 0, counted through all files.

    checkpoint: a name or path; files: as in `open_corpus`; what: "attention" or "neuron", with the arguments of that
    search as keywords; complain: called with a sentence about each line that is broken or does not fit the model;
    folder: for what is found, in shards; a second call goes on where the first stopped. workers, scheduler: as in
    `running.computed`. Raises CorpusError, DataError.
    """
    task = job("search", [(checkpoint, load(checkpoint, device))], device, what=what, question=question)
    corpus = open_corpus([Path(file) for file in files])
    shards = Shards(Path(folder), task, corpus, "json") if folder else None

    def told() -> Iterator[Computed]:
        for one in computed(task, corpus.chunks(), shards, workers, scheduler):
            for line in one[2]:
                complain(line)
            yield one

    found, before = Collected(), 0
    for value in values_of(told(), shards):
        found.extend(value, [before + index for index in value["places"]])
        before += value["lines"]
    return found.found()
