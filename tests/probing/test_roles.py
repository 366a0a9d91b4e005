"""What the statistics of heads need, from batches, is what single traces give."""

import torch

import transformer
from transformer.analysis.heads import seen
from transformer.analysis.tokens import BOX
from transformer.probing.probes import probe_pairs
from transformer.probing.roles import sentences_of, word_list


def test_sentences_from_batches_are_those_of_single_traces() -> None:
    model = transformer.load("en-de")
    pairs = (probe_pairs(model) or [])[:9]
    for pair, found in zip(pairs, sentences_of(model, pairs), strict=True):
        single = seen(model.trace(*pair))
        assert (found.sources, found.targets_in, found.targets_out) == (
            single.sources, single.targets_in, single.targets_out,
        )  # fmt: skip
        for kind, weights in single.weights.items():
            assert torch.allclose(found.weights[kind], weights, atol=1e-5)
            assert torch.equal(found.masks[kind], single.masks[kind])
    words = word_list(model, pairs)
    assert words is not None and words["cat"] == {"katze"}


def test_the_symbols_of_a_toy_are_words_and_align_with_themselves() -> None:
    model = transformer.load("reverse")
    pairs = probe_pairs(model) or []
    (first, *_) = sentences_of(model, pairs[:1])
    source, target = (text.replace(" ", BOX) for text in pairs[0])
    assert first.sources == [*source, None] and first.targets_in == [None, *target]
    assert word_list(model, pairs) == {symbol: {symbol} for pair in pairs for symbol in pair[0].replace(" ", BOX)}
