"""Toy tasks: right answers, no test input among the training ones."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from transformer.training.data import DataError
from transformer.training.tasks import task_pairs


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


@pytest.mark.parametrize(
    ("name", "count", "lengths", "message"),
    [("add", 1, (1, 2), "no task 'add'"), ("sort", 0, (1, 2), "0 inputs"), ("sort", 1, (3, 2), "3 to 2")],
)
def test_bad_tasks_are_said(name: str, count: int, lengths: tuple[int, int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        task_pairs(name, count, lengths, 1)
