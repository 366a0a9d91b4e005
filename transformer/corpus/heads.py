"""What the heads do over a corpus: which words a chunk needs to know of, and the sums of all chunks."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from transformer.analysis.heads import HeadStatistics, WordList, from_counts
from transformer.analysis.roles import Roles, whole, word_counts
from transformer.analysis.sums import added
from transformer.corpus.reading import Chunk, Corpus
from transformer.corpus.tasks import CorpusError
from transformer.inference.pretrained import InputError, Pretrained
from transformer.probing.roles import Words, words_of_pair
from transformer.training.data import DataError, Pair


def chunks_with_words(
    model: Pretrained, corpus: Corpus, words: WordList | None, complain: Callable[[str], None]
) -> Iterator[Chunk]:
    """Chunks with what a worker needs of the whole corpus, for the words of the chunk alone: how often they occur, and
    their entries of the list. The corpus is read twice, because a rare word is one that is rare in all of it. complain:
    called with a sentence about each line that is broken or does not fit the model."""
    totals: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    for chunk in corpus.chunks():
        for total, some in zip(totals, _words(model, chunk, complain)[1], strict=True):
            total.update(some)
    before = 0
    for chunk in corpus.chunks():
        pairs, own = _words(model, chunk, lambda line: None)
        rows = {
            "pairs": list(pairs.values()), "places": [before + index for index in pairs],
            "counts": [{word: total[word] for word in some} for total, some in zip(totals, own, strict=True)],
            "words": None if words is None else {word: sorted(words[word]) for word in own[0] if word in words},
        }  # fmt: skip
        before += len(chunk.rows)
        yield replace(chunk, rows=rows)


def _words(
    model: Pretrained, chunk: Chunk, complain: Callable[[str], None]
) -> tuple[dict[int, Pair], list[Counter[str]]]:
    """The pairs that fit the model, by index; and the words of their sources and targets."""
    pairs: dict[int, Pair] = {}
    found: list[tuple[Words, Words]] = []
    for index, row in enumerate(chunk.rows):
        try:
            if isinstance(row, str):
                raise DataError("{error}", error=row)
            found.append(words_of_pair(model, row)[:2])
            pairs[index] = row
        except (InputError, DataError) as error:
            complain(chunk.named(index, str(error)))
    return pairs, [word_counts(side) for side in ([read for read, _ in found], [fed for _, fed in found])]


def total(
    parts: Iterable[Mapping[str, Any]], corpus: Corpus
) -> tuple[dict[str, HeadStatistics], dict[str, Roles], list[Pair], int]:
    """The statistics and roles from the values of all chunks, in order; the pairs that are the evidence, which are the
    sentences of these roles; and how many pairs there are. Raises CorpusError if there is none."""
    sums: dict[str, Any] = {}

    def roles() -> Iterator[Mapping[str, Any]]:
        nonlocal sums
        for part in parts:
            sums = added(sums, {name: part[name] for name in ("pairs", "statistics")})
            if part["pairs"]:
                yield part["roles"]

    found, places = whole(roles())
    if not found:
        raise CorpusError("no line of the corpus is a sentence pair that fits the model")
    wanted = set(places)
    rows = (row for chunk in corpus.chunks() for row in chunk.rows)
    pairs = [row for place, row in enumerate(rows) if place in wanted]
    return from_counts(sums["statistics"]), found, pairs, sums["pairs"]
