"""Scores of parts of a test set, by hand."""

from __future__ import annotations

import pytest

from transformer.training.evaluation import LONG, SHORT, subsets


def source(words: int) -> str:
    return " ".join(["a"] * words)


def test_subsets_are_by_words_and_by_references() -> None:
    sources = [source(SHORT), source(SHORT + 1), source(LONG), source(LONG + 1)]
    hypotheses = ["a b c d e", "f g h i j", "k l m n o", "p q r s t"]
    references = [["1 2 3 4 5", "a b c d e"], *([text] for text in hypotheses[1:])]
    found = subsets(sources, hypotheses, references)
    assert {name: part["sentences"] for name, part in found.items()} == {
        "all": 4, "one_reference": 4, "short": 1, "middle": 2, "long": 1,
    }  # fmt: skip
    assert {name: part["words"] for name, part in found.items()} == {
        "all": 8.5, "one_reference": 8.5, "short": 6, "middle": 8.5, "long": 11,
    }  # fmt: skip
    # With the first reference only, 3 of 4 sentences match in all their n-grams: each precision is 3/4.
    scores = {name: part["bleu"] for name, part in found.items()}
    assert scores.pop("one_reference") == pytest.approx(75)
    assert list(scores.values()) == pytest.approx([100] * 4)


def test_a_part_without_sentences_is_left_out() -> None:
    assert list(subsets(["a b"], ["x"], [["x"]])) == ["all", "one_reference", "short"]
