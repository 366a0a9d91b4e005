"""Neurons over many sentence pairs: the numbers equal those of a plain loop over traces, whatever the batches."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from tests.support.build import D_FF, pretrained_variant, sentences, tiny_pretrained
from transformer.analysis.activations import ACTIVE
from transformer.inference.pretrained import InputError, Pretrained
from transformer.model.tap import STACKS
from transformer.probing.neuron_survey import TOP_TOKENS, NeuronStatistics, neuron_statistics, reading
from transformer.probing.probes import Stopped
from transformer.training.data import Pair

TEXTS = list(dict.fromkeys(sentences()))
PAIRS: list[Pair] = list(zip(TEXTS[:9], TEXTS[20:29], strict=True))


def plainly(model: Pretrained, stack: str) -> dict[tuple[int, int], list[tuple[float, int, int]]]:
    """(layer, neuron) -> (activation, sentence, token) of every token, over traces of one pair at a time."""
    strongest: dict[tuple[int, int], list[tuple[float, int, int]]] = {}
    for sentence, (source, target) in enumerate(PAIRS):
        trace = model.trace(source, target)
        rows = (trace.encoder_ff if stack == "encoder" else trace.decoder_ff).activation.tolist()
        for layer, tokens in enumerate(rows):
            for token, values in enumerate(tokens):
                for neuron, value in enumerate(values):
                    strongest.setdefault((layer, neuron), []).append((value, sentence, token))
    return strongest


@pytest.mark.parametrize(
    ("changes", "batch_tokens"),
    [({}, 1), ({}, 9_999), ({"activation": "gelu", "encoder_layers": 1}, 40), ({"norm": "pre"}, 40)],
)
def test_the_numbers_are_those_of_a_loop_whatever_the_batches(changes: dict, batch_tokens: int) -> None:
    model = pretrained_variant(**changes)
    statistics = neuron_statistics(model, PAIRS, batch_tokens=batch_tokens)
    above = ACTIVE[model.config.activation]
    assert (statistics.pairs, statistics.threshold) == (9, above)
    for stack in STACKS:
        counted, wanted = statistics.stack(stack), plainly(model, stack)
        layers = max(layer for layer, _ in wanted) + 1
        assert counted.counts.shape == (layers, D_FF) and counted.values.shape == (layers, D_FF, TOP_TOKENS)
        for (layer, neuron), values in wanted.items():
            assert counted.tokens == len(values)
            close = sum(abs(abs(value) - above) < 1e-5 for value, _, _ in values) if above else 0
            count = sum(abs(value) > above for value, _, _ in values)
            assert abs(counted.counts[layer, neuron].item() - count) <= close
            mean = sum(value for value, _, _ in values) / len(values)
            assert counted.mean[layer, neuron].item() == pytest.approx(mean, abs=1e-5)
            first = sorted((value for value, _, _ in values), reverse=True)[:TOP_TOKENS]
            assert counted.values[layer, neuron].tolist() == pytest.approx(first, abs=1e-5)
            value_at = {(sentence, token): value for value, sentence, token in values}
            where = zip(
                counted.sentences[layer, neuron].tolist(), counted.positions[layer, neuron].tolist(), strict=True
            )  # fmt: skip
            read = [value_at[position] for position in where]
            assert read == pytest.approx(counted.values[layer, neuron].tolist(), abs=1e-5)


def test_no_token_stands_twice_among_the_strongest() -> None:
    statistics = neuron_statistics(pretrained_variant(), PAIRS, batch_tokens=30)
    for stack in STACKS:
        side = statistics.stack(stack)
        for layer in range(2):
            for neuron in range(D_FF):
                positions = list(
                    zip(side.sentences[layer, neuron].tolist(), side.positions[layer, neuron].tolist(), strict=True)
                )
                assert len(set(positions)) == TOP_TOKENS


def test_never_and_always() -> None:
    model = pretrained_variant()
    with torch.no_grad():
        inner = model.model.encoder[1].feed_forward.inner
        inner.bias[3], inner.bias[5], inner.bias[6] = -1e3, 1e3, 1e3
    neurons = neuron_statistics(model, PAIRS).encoder
    assert neurons.counts[1, 3] == 0 and neurons.counts[1, 5] == neurons.counts[1, 6] == neurons.tokens
    assert neurons.never.tolist() == [(neurons.counts[layer] == 0).sum().item() for layer in range(2)]
    assert neurons.never[1] >= 1 and neurons.always[1] >= 2
    assert neurons.values[1, 3].tolist() == [0.0] * TOP_TOKENS


def test_a_small_probe_set_gives_all_its_tokens() -> None:
    statistics = neuron_statistics(pretrained_variant(), [("ka", "lo")])
    for stack in STACKS:
        side = statistics.stack(stack)
        assert side.values.shape == (2, D_FF, side.tokens) and 2 <= side.tokens < TOP_TOKENS


def test_another_threshold() -> None:
    model = pretrained_variant()
    low, high = (neuron_statistics(model, PAIRS, threshold=threshold) for threshold in (0.0, 0.5))
    assert high.threshold == 0.5 and (high.encoder.counts <= low.encoder.counts).all()
    assert high.encoder.counts.sum() < low.encoder.counts.sum() and torch.equal(high.encoder.mean, low.encoder.mean)


def test_progress_is_reported_and_can_stop() -> None:
    reports: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> bool:
        reports.append((done, total))
        return done < 4

    with pytest.raises(Stopped):
        neuron_statistics(pretrained_variant(), PAIRS, progress, batch_tokens=20)
    assert reports[0] == (0, 9) and reports[-1][0] >= 4 and all(done < 4 for done, _ in reports[:-1])
    reports.clear()
    neuron_statistics(
        pretrained_variant(), PAIRS, lambda done, total: reports.append((done, total)) or True, batch_tokens=20
    )
    assert reports[-1] == (9, 9) and [done for done, _ in reports] == sorted({done for done, _ in reports})


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="no sentence pair"):
        neuron_statistics(pretrained_variant(), [])
    with pytest.raises(InputError, match="target text is empty"):
        neuron_statistics(pretrained_variant(), [("ka", " ")])
    statistics = neuron_statistics(pretrained_variant(), PAIRS[:2])
    with pytest.raises(ValueError, match="'middle'"):
        statistics.stack("middle")
    with pytest.raises(ValueError, match="'middle'"):
        reading(pretrained_variant(), PAIRS[0], "middle")
    with pytest.raises(dataclasses.FrozenInstanceError):
        statistics.pairs = 3  # type: ignore[misc]
    assert isinstance(statistics, NeuronStatistics)


@pytest.mark.parametrize("pair", [*PAIRS[:3], ("ka <b>☃</b> lo", "nu ☃")])
def test_readings_are_the_tokens_of_a_trace(pair: Pair) -> None:
    model = tiny_pretrained()
    trace = model.trace(*pair)
    source, target = reading(model, pair, "encoder"), reading(model, pair, "decoder")
    assert (source.ids, source.labels) == (trace.source_ids, trace.source_labels)
    assert (target.ids, target.labels) == (trace.target_in_ids, trace.target_in_labels)
    assert target.following == trace.target_out_ids
    assert source.following == (*trace.source_ids[1:], model.config.end_id)
    assert len(source.pieces) == len(source.ids) and target.pieces[0] == "<s>"
