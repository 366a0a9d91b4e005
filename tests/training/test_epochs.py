"""Epochs of varied pairs, made in this process or in readers."""

import itertools
from collections.abc import Iterator

import pytest

from transformer.text.tokenizer import Tokenizer
from transformer.training.augmentation import Augmentation
from transformer.training.epochs import PARTS, Varied, epochs, one_ahead

PAIRS = [(f"the dog number {n} sleeps", f"der Hund Nummer {n} schläft") for n in range(2 * PARTS + 5)]
TOKENIZER = Tokenizer.train((text for pair in PAIRS for text in pair), 38)


def _varied(sampling: float = 0.0, **shares: float) -> Varied:
    return Varied(PAIRS, TOKENIZER, Augmentation(**shares), sampling, seed=3)


def _texts(numbered: list[tuple[list[int], list[int]]]) -> list[tuple[str, str]]:
    return [(TOKENIZER.decode(source), TOKENIZER.decode(target)) for source, target in numbered]


def test_every_pair_comes_once_an_epoch() -> None:
    assert sorted(_texts(_varied(sampling=0.1).epoch(0))) == sorted(PAIRS)


def test_every_epoch_differs_and_can_be_repeated() -> None:
    varied = _varied(sampling=0.1, joined=0.5)
    assert varied.epoch(4) == varied.epoch(4) != varied.epoch(5)
    assert sorted(_texts(varied.epoch(4))) != sorted(_texts(varied.epoch(5)))  # other pairs are joined


def test_joined_sentences_come_from_all_pairs() -> None:
    numbered = _varied(joined=1.0).part(0, 0)
    own = {target for _, target in PAIRS[::PARTS]}
    added = " ".join(target for _, target in _texts(numbered))
    assert any(target in added for _, target in PAIRS if target not in own)


@pytest.mark.parametrize("first", [0, 2])
def test_readers_make_the_same_epochs(first: int) -> None:
    varied = _varied(sampling=0.1, upper=0.3, joined=0.2)
    here = list(itertools.islice(epochs(varied, first, 0), 3))
    made = epochs(varied, first, 2)
    assert list(itertools.islice(made, 3)) == here
    made.close()  # ends the processes


def test_an_item_is_made_while_the_one_before_is_used() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in itertools.count():
            made.append(number)
            yield number

    ahead = one_ahead(items())
    assert [next(ahead) for _ in range(3)] == [0, 1, 2]
    ahead.close()  # waits for the one that was being made
    assert made == [0, 1, 2, 3]


def test_an_error_reaches_the_trainer() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("no sentence pair")

    ahead = one_ahead(broken())
    assert next(ahead) == 1
    with pytest.raises(ValueError, match="no sentence pair"):
        next(ahead)
