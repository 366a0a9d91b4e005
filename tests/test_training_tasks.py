"""Toy tasks: right answers, no test input among the training ones."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from transformer.training.data import DataError
from transformer.training.tasks import task_pairs, training_pairs, unseen_pairs


def test_answers_are_right() -> None:
    for source, target in task_pairs("reverse", 300, (1, 12), 1):
        assert list(reversed(source)) == list(target)
        assert source == " ".join(source.split())  # as the tokenizer would clean it
    for source, target in task_pairs("sort", 300, (1, 12), 1):
        assert Counter(source) == Counter(target)
        assert all(a <= b for a, b in pairwise(target))


def test_lengths_are_even_and_inputs_differ() -> None:
    pairs = task_pairs("reverse", 1200, (5, 10), 1)
    assert Counter(len(source) for source, _ in pairs) == dict.fromkeys(range(5, 11), 200)
    assert len({source for source, _ in pairs}) == 1200


def test_the_seed_decides() -> None:
    assert task_pairs("sort", 50, (1, 8), 3) == task_pairs("sort", 50, (1, 8), 3) != task_pairs("sort", 50, (1, 8), 4)


def test_held_out_inputs_never_appear() -> None:
    held_out = frozenset(source for source, _ in task_pairs("sort", 100, (1, 3), 9))
    pairs = task_pairs("sort", 3000, (1, 3), 1, held_out)
    assert pairs and held_out.isdisjoint(source for source, _ in pairs)


@pytest.mark.parametrize("name", ["reverse", "sort"])
def test_every_length_is_trained_and_no_input_is_in_two_sets(name: str) -> None:
    spec = {"name": name, "count": 6000, "lengths": [1, 6], "seed": 1}
    train, validation = training_pairs(spec)
    sets = [{source for source, _ in pairs} for pairs in (train, validation, unseen_pairs(spec, (1, 6), 600))]
    lengths = [Counter(map(len, inputs)) for inputs in sets]
    assert set(lengths[0]) == set(range(1, 7))
    assert lengths[0][1] == {"reverse": 26, "sort": 10}[name]  # all there are
    assert min(lengths[1]) == {"reverse": 3, "sort": 4}[name] and max(lengths[1]) == 6
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert sets[one].isdisjoint(sets[other])


def test_what_cannot_be_held_out_is_said() -> None:
    spec = {"name": "sort", "count": 500, "lengths": [1, 2], "seed": 1}
    with pytest.raises(DataError, match="1 to 2 symbols are too few to keep 500 of them"):
        training_pairs(spec)
    with pytest.raises(DataError, match="seen every input of 1 to 1 symbols"):
        unseen_pairs({**spec, "lengths": [1, 6]}, (1, 1), 20)


@pytest.mark.parametrize(
    ("name", "count", "lengths", "message"),
    [("add", 1, (1, 2), "no task 'add'"), ("sort", 0, (1, 2), "0 inputs"), ("sort", 1, (3, 2), "3 to 2")],
)
def test_bad_tasks_are_said(name: str, count: int, lengths: tuple[int, int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        task_pairs(name, count, lengths, 1)
