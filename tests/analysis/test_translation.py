"""Perplexity, words with their probabilities, what differs, what repeats: each by hand."""

import dataclasses
import math

import pytest
import torch

from tests.support.build import tiny_pretrained
from transformer.analysis.translation import differing, mean_probability, perplexity, repetition, words


def test_perplexity_by_hand_and_where_floats_end() -> None:
    trace = tiny_pretrained().trace("ka lo", "mi")
    vocab, count = trace.logits.shape[1], len(trace.target_out_ids)
    flat = dataclasses.replace(trace, logits=torch.zeros(count, vocab))
    assert perplexity(flat) == pytest.approx(vocab)  # every token alike
    steep = torch.zeros(count, vocab)
    steep[range(count), [1 if one != 1 else 2 for one in trace.target_out_ids]] = 200.0
    # p is about e^-200: 0 in floats, where the logarithm would be -inf
    assert perplexity(dataclasses.replace(trace, logits=steep)) == pytest.approx(math.exp(200.0))


PIECES = ("▁Kat", "ze", "▁schläft", ".", "</s>")
LABELS = ("Kat", "ze", "schläft", ".", "</s>")


def test_a_words_probability_is_the_product_over_its_pieces() -> None:
    found = words(PIECES, LABELS, (0.5, 0.4, 0.9, 0.8, 0.7))
    assert [word.text for word in found] == ["Katze", "schläft", ".", "</s>"]
    assert [word.probability for word in found] == pytest.approx([0.2, 0.9, 0.8, 0.7])
    assert found[0].pieces == ("▁Kat", "ze") and found[0].probabilities == (0.5, 0.4)
    assert words((), (), ()) == ()
    with pytest.raises(ValueError):
        words(PIECES, LABELS, (0.5,))


def test_letters_are_the_words_of_models_that_read_letters() -> None:
    found = words(("c", "b", "a", "</s>"), ("c", "b", "a", "</s>"), (0.1, 0.2, 0.3, 0.4))
    assert [word.text for word in found] == ["c", "b", "a", "</s>"]


@pytest.mark.parametrize(
    ("before", "after", "left", "right"),
    [
        ("a b c", "a b c", "...", "..."),
        ("a b c", "a x c", ".#.", ".#."),
        ("a b c", "a c", ".#.", ".."),
        ("a c", "a b c d", "..", ".#.#"),
        ("a b", "c d e", "##", "###"),
        ("", "a", "", "#"),
    ],
)
def test_differing_words_are_marked(before: str, after: str, left: str, right: str) -> None:
    found = differing(before.split(), after.split())
    assert tuple("".join("#" if one else "." for one in side) for side in found) == (left, right)


def test_common_words_are_compared_too() -> None:
    """difflib's autojunk leaves words out that make up 1% of 200 or more."""
    many = ["da"] * 300
    assert differing(many, many) == ((False,) * 300, (False,) * 300)


def test_mean_probability_is_geometric() -> None:
    assert mean_probability([0.9, 0.1]) == pytest.approx(0.3)
    assert mean_probability([0.5, 0.0]) == 0.0
    assert mean_probability([1e-3] * 200) == pytest.approx(1e-3)  # the product itself is below the smallest double
    with pytest.raises(ValueError):
        mean_probability([])


def test_repetition_by_hand() -> None:
    assert repetition("abcd") == 0.0 and repetition("abc") == 0.0 and repetition("") == 0.0
    assert repetition("abcdabcd") == pytest.approx(1 - 4 / 5)  # abcd bcda cdab dabc abcd
    assert repetition("aaaaaaa") == pytest.approx(1 - 1 / 4)
    assert repetition(["du"] * 103) == pytest.approx(0.99)
    assert repetition("aab", n=1) == pytest.approx(1 / 3)
