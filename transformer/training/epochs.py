"""The sentence pairs of an epoch as ids: varied, segmented at random, and numbered by the tokenizer.

An epoch is made in PARTS parts, each with random numbers of its own, so that several processes can make them: drawing
the segmentations of 220,000 pairs takes 25 s on one CPU core, and a GPU trains on them in less.
"""

import multiprocessing
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from transformer.text.tokenizer import Tokenizer
from transformer.training.augmentation import Augmentation
from transformer.training.data import Pair

PARTS = 16
AHEAD = 2  # epochs made before they are needed
Numbered = list[tuple[list[int], list[int]]]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Varied:
    """The pairs of a training run and how they vary from epoch to epoch; the same for the same seed and epoch."""

    pairs: Sequence[Pair]
    tokenizer: Tokenizer
    augmentation: Augmentation
    sampling: float
    seed: int

    def part(self, epoch: int, number: int) -> Numbered:
        """Source and target ids of every PARTS-th pair, from pair `number` on."""
        seed = (self.seed * 1_000 + epoch) * PARTS + number
        pairs = self.augmentation.apply(self.pairs[number::PARTS], seed, self.pairs)
        texts = [text for pair in pairs for text in pair]
        if self.sampling:
            ids = self.tokenizer.sample(texts, self.sampling, seed)
        else:
            ids = [self.tokenizer.encode(text) for text in texts]
        return list(zip(ids[::2], ids[1::2], strict=True))

    def epoch(self, epoch: int) -> Numbered:
        return [pair for number in range(PARTS) for pair in self.part(epoch, number)]


_varied: Varied  # of this process, if it is a reader


def _begin(pairs: Sequence[Pair], tokenizer: bytes, augmentation: Augmentation, sampling: float, seed: int) -> None:
    global _varied
    _varied = Varied(pairs, Tokenizer(tokenizer), augmentation, sampling, seed)


def _part(epoch: int, number: int) -> Numbered:
    return _varied.part(epoch, number)


def epochs(varied: Varied, first: int, readers: int) -> Generator[Numbered, None, None]:
    """Endless epochs from `first` on. readers: processes that make them ahead; 0: none. The result is the same."""
    if not readers:
        while True:
            yield varied.epoch(first)
            first += 1
    given = varied.pairs, varied.tokenizer.to_bytes(), varied.augmentation, varied.sampling, varied.seed
    with ProcessPoolExecutor(readers, multiprocessing.get_context("spawn"), _begin, given) as pool:
        coming: deque[list[Future[Numbered]]] = deque()
        try:
            while True:
                while len(coming) <= AHEAD:
                    coming.append([pool.submit(_part, first, number) for number in range(PARTS)])
                    first += 1
                yield [pair for part in coming.popleft() for pair in part.result()]
        finally:
            pool.shutdown(cancel_futures=True)


def one_ahead(items: Iterator[Item]) -> Generator[Item, None, None]:
    """The items of an endless iterator, each made in a thread while the one before it is used."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items)
        while True:
            item = coming.result()
            coming = pool.submit(next, items)
            yield item
