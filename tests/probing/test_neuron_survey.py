"""Neurons over many sentence pairs: the numbers are those of single traces, whatever the batches."""

import dataclasses

import pytest
import torch

from tests.support.build import D_FF, pretrained_variant, sentences, tiny_pretrained
from tests.support.reports import Reports
from transformer.analysis.activations import ACTIVE
from transformer.cancellation import Stopped
from transformer.inference.pretrained import InputError, Pretrained
from transformer.model.tap import STACKS
from transformer.probing.neuron_survey import TOP_TOKENS, NeuronStatistics, neuron_statistics, reading
from transformer.training.data import Pair

TEXTS = list(dict.fromkeys(sentences()))
PAIRS: list[Pair] = list(zip(TEXTS[:9], TEXTS[20:29], strict=True))


def plainly(model: Pretrained, stack: str) -> list[torch.Tensor]:
    """The activations of each pair, by a trace of its own: [layer, neuron, token]."""
    traces = [model.trace(*pair) for pair in PAIRS]
    return [getattr(trace, f"{stack}_ff").activation.transpose(1, 2) for trace in traces]


@pytest.mark.parametrize(
    ("changes", "batch_tokens"),
    [({}, 1), ({}, 9_999), ({"activation": "gelu", "encoder_layers": 1}, 40), ({"norm": "pre"}, 40)],
)
def test_the_numbers_are_those_of_single_traces_whatever_the_batches(changes: dict, batch_tokens: int) -> None:
    model = pretrained_variant(**changes)
    statistics = neuron_statistics(model, PAIRS, batch_tokens=batch_tokens)
    above = ACTIVE[model.config.activation]
    assert (statistics.pairs, statistics.threshold) == (9, above)
    for stack in STACKS:
        counted, by_pair = statistics.stack(stack), plainly(model, stack)
        wanted = torch.cat(by_pair, -1)
        assert counted.tokens == wanted.shape[-1]
        close = ((wanted.abs() - above).abs() < 1e-5).sum(-1) if above else 0  # rounding decides
        assert ((counted.counts - (wanted.abs() > above).sum(-1)).abs() <= close).all()
        near = {"rtol": 0, "atol": 1e-5, "check_dtype": False}
        torch.testing.assert_close(counted.mean, wanted.mean(-1), **near)
        torch.testing.assert_close(counted.values, wanted.sort(-1, descending=True).values[..., :TOP_TOKENS], **near)
        starts = torch.tensor([0, *(pair.shape[-1] for pair in by_pair)]).cumsum(0)
        read = wanted.gather(-1, starts[counted.sentences.long()] + counted.positions)
        torch.testing.assert_close(counted.values, read, **near)


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
    reports, stopped = Reports(), Reports(3)
    neuron_statistics(pretrained_variant(), PAIRS, reports, batch_tokens=20)
    assert reports[0] == (0, 9) and reports[-1] == (9, 9)
    assert [done for done, _ in reports] == sorted({done for done, _ in reports})
    with pytest.raises(Stopped):
        neuron_statistics(pretrained_variant(), PAIRS, stopped, batch_tokens=20)
    assert stopped == reports[:3] != reports


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
