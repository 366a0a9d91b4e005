"""Summaries, words and checks, against cases solved by hand."""

import dataclasses
import itertools
import math

import pytest
import torch

from tests.support.build import tiny_pretrained
from transformer.analysis.attention import (
    WordLink,
    check,
    entropy,
    merge_words,
    strongest_word_link,
    summarise,
)
from transformer.analysis.tokens import is_special, word_labels, word_numbers
from transformer.inference.pretrained import readable


def test_summaries_are_means_and_maxima_over_unset_axes() -> None:
    weights = torch.arange(2 * 3 * 5 * 7.0).view(2, 3, 5, 7)
    assert torch.equal(summarise(weights, 1, 2), weights[1, 2])
    assert torch.equal(summarise(weights, 1, None), weights[1].mean(0))
    assert torch.equal(summarise(weights, None, 2, "max"), weights[:, 2].amax(0))
    assert torch.allclose(summarise(weights, None, None), weights.mean((0, 1)))
    for layer, head in ((2, 0), (0, 3), (-1, 0), (0, -1)):
        with pytest.raises(IndexError):
            summarise(weights, layer, head)
    with pytest.raises(ValueError, match="unknown summary 'median'"):
        summarise(weights, 0, 0, "median")
    with pytest.raises(ValueError, match="layer must be an index from 0, or None for all; this is 'x', of type str"):
        summarise(weights, "x", 0)  # type: ignore[arg-type]


def test_words_take_the_sum_of_keys_and_the_mean_of_queries() -> None:
    matrix = torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.0, 0.4, 0.6]])
    merged = merge_words(matrix, [0, 0, 1], [0, 1, 1])
    assert torch.allclose(merged, torch.tensor([[0.3, 0.7], [0.0, 1.0]]))


def test_entropy_by_hand() -> None:
    weights = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.25] * 4, [0.5, 0.5, 0.0, 0.0]])
    assert torch.allclose(entropy(weights), torch.tensor([0.0, math.log(4), math.log(2)]))


def test_checks_hold_and_notice_each_kind_of_damage() -> None:
    attention = tiny_pretrained().trace("ka lo mi", "nu re").decoder_self
    assert check(attention).hold
    future = attention.weights.clone()
    future[0, 0, 0, 1] = 0.001
    halved = attention.weights.clone()
    halved[1, 2, 1] /= 2
    moved = attention.weights.roll(1, 1)
    assert check(dataclasses.replace(attention, weights=future)).masked == pytest.approx(0.001)
    assert check(dataclasses.replace(attention, weights=halved)).row_sum == pytest.approx(0.5, abs=1e-6)
    assert check(dataclasses.replace(attention, weights=moved)).recomputed > 1e-4
    assert not check(dataclasses.replace(attention, weights=moved)).hold


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (["▁The", "▁bro", "ther", ".", "</s>"], ["The", "brother", ".", "</s>"]),
        (["<s>", "Der", "▁Mann", ",", "▁der"], ["<s>", "Der", "Mann", ",", "der"]),
        (["▁don", "'", "t", "!", "?", "</s>"], ["don't", "!", "?", "</s>"]),
        (['▁"', "Is", "▁he", '"', "</s>"], ['"', "Is", "he", '"', "</s>"]),
        (["▁", "<unk>", "▁x"], ["<unk>", "x"]),
        (["▁", "k", "a", "▁lo", "</s>"], ["ka", "lo", "</s>"]),
        (["h", "i", "▁", "y", "o", "</s>"], ["hi", "yo", "</s>"]),
        (["h", "▁", "</s>"], ["h", "␣", "</s>"]),
        (["</s>"], ["</s>"]),
    ],
)
def test_words_of_pieces(pieces: list[str], words: list[str]) -> None:
    labels = readable(pieces)
    assert list(word_labels(labels, word_numbers(pieces, labels))) == words


def test_unknown_is_a_word_and_control_tokens_are_special() -> None:
    assert all(is_special(["<pad>", "<s>", "</s>", "__en__", "eng_Latn", "en_XX"]))
    assert not any(is_special(["<unk>", "▁a", "▁en_XX", ">>deu<<", "__", "<mask>"]))


def test_the_strongest_link_between_two_words_is_found_over_all_heads_and_their_tokens() -> None:
    trace = tiny_pretrained().trace("ka lo minu", "re")
    words = word_labels(trace.source_labels, numbers := word_numbers(trace.source_tokens, trace.source_labels))
    cells = {word: [i for i, number in enumerate(numbers) if words[number] == word] for word in ("ka", "minu")}
    every = [
        (float(trace.encoder_self.weights[layer, head, i, j]), layer, head, (i, j))
        for layer, head in itertools.product(range(trace.encoder_self.layers), range(trace.encoder_self.heads))
        for i, j in itertools.product(cells["ka"], cells["minu"])
    ]
    weight, layer, head, cell = max(every)
    assert strongest_word_link(trace, "ka", ("nowhere", "minu")) == WordLink("minu", layer, head, weight, cell)
    assert strongest_word_link(trace, "nowhere", ("minu",)) is None
