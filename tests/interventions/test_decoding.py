"""Switches over many passes: step by step in decoding, back and forth in retracing, side by side in threads."""

import functools
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.support.build import tiny_model, tiny_pretrained, tiny_tokenizer
from tests.support.reference import COMBINED, OPEN
from transformer.analysis.attention import check
from transformer.inference.pretrained import Pretrained
from transformer.inference.search import Hypothesis, beam, greedy
from transformer.interventions.edits import edits_of
from transformer.interventions.sets import (
    Hide,
    Interventions,
    KnockOut,
    Pad,
    Replace,
    Reposition,
    Scale,
    Silence,
    Skip,
    Unmask,
    Where,
)
from transformer.model.tap import KINDS, Tap
from transformer.model.transformer import Transformer
from transformer.tracing.trace import Trace

FIELDS = ("enters", "queries", "keys", "values", "mask", "scores", "weights", "head_outputs", "update", "sum", "leaves")


# -- decoding -------------------------------------------------------------------------------------------------------

WRITTEN = [(OPEN,), (Scale(1.0),), (Pad(3), Unmask("padding")), (KnockOut(Where("cross", 0)), Replace("argmax")),
           (Hide("source", 1), Replace("uniform", Where("decoder_self"))),
           (Hide("target", 2), OPEN, Scale(0.5)),
           (Reposition("remove", "source"), Reposition("shift", "target", 3)),
           (Reposition("reverse"), Reposition("scale", "target", 0.5)), (Reposition("shuffle", None, 3),),
           (Skip("encoder", 1, "self"), Skip("decoder", 0, "cross"), Skip("decoder", 1, "self")),
           (Skip("decoder", 1, "ff"), *(Silence("decoder", 0, neuron) for neuron in range(20)),
            Silence("encoder", 0, 3)),
           ]  # fmt: skip
NAMES = [str(Interventions(switches)).replace(" ", "+") for switches in WRITTEN]


def log_probs_after(model: Transformer, source: list[int], fed: list[int], value: Interventions) -> Tensor:
    """log P(next token), [vocab], from one whole pass without any decoding."""
    padded = [*source, *[model.config.pad_id] * value.pads]
    tap = Tap(edits_of(value, model.config))
    with torch.inference_mode():
        return model(torch.tensor([padded]), torch.tensor([fed]), tap)[0, -1].log_softmax(-1)


def naive_greedy(
    model: Transformer, source: list[int], limit: int, value: Interventions
) -> tuple[list[int], list[float]]:
    config, fed, scores = model.config, [model.config.start_id], []
    while len(fed) <= limit and (len(fed) == 1 or fed[-1] != config.end_id):
        log_probs = log_probs_after(model, source, fed, value)
        allowed = [
            token_id for token_id in range(config.vocab_size) if token_id not in (config.pad_id, config.start_id)
        ]
        best = max(allowed, key=lambda token_id: float(log_probs[token_id]))
        fed, scores = [*fed, best], [*scores, float(log_probs[best])]
    return fed[1:], scores


def naive_beam(
    model: Transformer, source: list[int], beams: int, alpha: float, limit: int, value: Interventions
) -> list[int]:
    """Textbook beam search: the best `beams` open hypotheses of every step; a finished one counts if it is among the
    best `beams` of its step; the best one by score / ((5 + length) / 6)^alpha in the end."""
    config = model.config
    open_: list[tuple[float, list[int]]] = [(0.0, [config.start_id])]
    done: list[tuple[float, list[int]]] = []
    for step in range(1, limit + 1):
        grown = []
        for score, fed in open_:
            log_probs = log_probs_after(model, source, fed, value)
            grown += [(score + float(log_probs[token_id]), [*fed, token_id]) for token_id in range(config.vocab_size)
                      if token_id not in (config.pad_id, config.start_id)]  # fmt: skip
        grown.sort(key=lambda pair: -pair[0])
        done += [pair for pair in grown[:beams] if pair[1][-1] == config.end_id]
        open_ = [pair for pair in grown if pair[1][-1] != config.end_id][:beams]
        if step == limit and not done:
            done = open_[:1]
    return max(done, key=lambda pair: pair[0] / ((5 + len(pair[1]) - 1) / 6) ** alpha)[1][1:]


@functools.cache
def writer() -> Pretrained:
    """A random model that writes different pieces and ends at different steps, as in `tests.inference.test_search`."""
    model = tiny_model(seed=2, vocab_size=len(tiny_tokenizer()))
    last = model.decoder[-1].feed_forward_residual.norm
    last.weight.copy_(torch.randn(last.weight.shape, generator=torch.Generator().manual_seed(2)))
    for name, parameter in model.named_parameters():
        if "cross_attention" in name:
            parameter *= 3
    model.positions.table *= 3
    model.embedding.weight[3] *= 3
    return Pretrained("writer", Path("writer"), model, tiny_tokenizer(), ("a", "b"), {})


def test_the_writer_ends_some_sentences_and_not_others() -> None:
    lengths = {len(writer().translate("nu re sta ti vu", beams, limit=12, interventions=Interventions(many)).tokens)
               for many in WRITTEN for beams in (1, 3)}  # fmt: skip
    assert 1 in lengths and 12 in lengths and len(lengths) > 4


@pytest.mark.parametrize("many", WRITTEN, ids=NAMES)
def test_decoding_under_switches_is_a_loop_of_whole_passes(many: tuple) -> None:
    model, value, limit = writer(), Interventions(many), 12
    for text in ("ka lo mi", "nu re sta ti vu"):
        source = model.encode(text)
        wanted, scores = naive_greedy(model.model, source, limit, value)
        translation = model.translate(text, limit=limit, interventions=value)
        assert translation.tokens == tuple(model.tokenizer.pieces(wanted))
        assert [math.log(probability) for probability in translation.probabilities] == pytest.approx(scores, abs=1e-4)
        (direct,) = greedy(model.model, torch.tensor([model.pad(source, value)]), limit, tap=model.tap(value))
        assert list(direct.ids) == wanted and isinstance(direct, Hypothesis)
        trace = model.trace(text, limit=limit, interventions=value)
        assert trace.own and list(trace.target_out_ids) == wanted and trace.interventions == value
        assert len(trace.source_labels) == len(trace.source_ids) == len(source) + value.pads
        # Teacher forcing what was written gives back its probabilities, unless what follows a token changes it.
        if not value.replays:
            assert trace.probabilities.log().tolist() == pytest.approx(scores, abs=1e-4)


@pytest.mark.parametrize("many", WRITTEN, ids=NAMES)
def test_beams_under_switches_are_a_loop_of_whole_passes(many: tuple) -> None:
    model, value, limit = writer(), Interventions(many), 12
    source = model.encode("nu re sta ti vu")
    wanted = naive_beam(model.model, source, 3, 0.6, limit, value)
    assert model.translate("nu re sta ti vu", 3, 0.6, limit, value).tokens == tuple(model.tokenizer.pieces(wanted))
    (direct,) = beam(model.model, torch.tensor([model.pad(source, value)]), 3, 0.6, limit, model.tap(value))
    assert list(direct.ids) == wanted


# -- retracing ------------------------------------------------------------------------------------------------------


def test_retracing_feeds_another_token_and_predicts_the_same() -> None:
    model = tiny_pretrained()
    first = model.trace("ka lo mi", "re sta ti")
    position, token_id = 2, 4 + (first.target_in_ids[2] - 3) % 30
    after = model.retrace(first, fed={position: token_id})
    assert after.target_in_ids == (*first.target_in_ids[:2], token_id, *first.target_in_ids[3:])
    assert after.target_in[position] == model.tokenizer.pieces([token_id])[0] and after.id != first.id
    assert after.target_out_ids == first.target_out_ids and after.target_out == first.target_out
    for fed in ({-1: 4}, {99: 4}, {0: -1}, {0: 10_000}):
        with pytest.raises(ValueError, match="there are"):
            model.retrace(first, fed=fed)


def test_retracing_reads_another_source_token() -> None:
    model = tiny_pretrained()
    first = model.trace("ka lo mi", "re sta ti")
    token_id = model.encode("sta")[0]
    after = model.retrace(first, read={3: token_id})
    assert after.source_ids == (*first.source_ids[:3], token_id, *first.source_ids[4:])
    assert (after.source_tokens[3], after.source_labels[3]) == ("▁sta", "sta")
    assert after.target_in_ids == first.target_in_ids and after.id != first.id
    typed = model.trace("ka sta mi", "re sta ti")
    assert typed.source_ids == after.source_ids and torch.equal(typed.logits, after.logits)
    order = list(reversed(range(len(first.source_ids))))
    assert model.retrace(first, read={3: token_id}, order=order).source_ids == after.source_ids[::-1]
    for read in ({-1: 4}, {len(first.source_ids): 4}, {0: -1}, {0: 10_000}):
        with pytest.raises(ValueError, match=r"no id -?\d+ at position -?\d+: there are 67 ids and 6 positions"):
            model.retrace(first, read=read)


def test_a_trace_has_its_switches() -> None:
    model = tiny_pretrained()
    value = Interventions((Scale(2.0, Where("cross", 1, 0)), Replace("argmax", Where("encoder_self", 0)), Pad(2),
                           KnockOut(Where("decoder_self", 0, 1))))  # fmt: skip
    trace = model.trace("ka lo", "re", interventions=value)
    assert trace.interventions == value and trace.source_tokens[-2:] == trace.source_labels[-2:] == ("<pad>", "<pad>")
    assert trace.cross.scale[1, 0] == 2 and (trace.cross.scale[0] == model.config.scale).all()
    assert trace.encoder_self.rule.tolist() == [[2] * 3, [0] * 3]
    assert trace.decoder_self.zero.tolist() == [[False, True, False], [False] * 3]
    assert all(check(trace.attention(kind)).hold for kind in KINDS)


# -- there and back -----------------------------------------------------------------------------------------------


def same(one: Trace, two: Trace) -> bool:
    """Whether all tensors of two traces are equal to the last bit."""
    parts = [(getattr(one, kind), getattr(two, kind)) for kind in KINDS]
    return all(torch.equal(getattr(a, name), getattr(b, name)) for a, b in parts for name in FIELDS) and torch.equal(
        one.logits, two.logits
    )


def test_a_switch_in_the_last_layer_changes_the_id_though_no_weight_changes() -> None:
    model = tiny_pretrained()
    first = model.trace("ka lo", "re sta")
    cut = model.retrace(first, Interventions((KnockOut(Where("cross", 1, 0)),)))
    assert torch.equal(cut.cross.weights, first.cross.weights) and cut.id != first.id


# -- many viewers ---------------------------------------------------------------------------------------------------


def test_viewers_with_different_switches_get_their_own_traces() -> None:
    model, rounds = tiny_pretrained(), 12
    viewers = [Interventions(many) for many in COMBINED[1:9]]
    assert len(viewers) == 8
    first = model.trace("ka lo mi nu", "re sta ti")
    alone = [model.retrace(first, value) for value in viewers]
    written = [model.translate("ka lo mi", limit=12, interventions=value) for value in viewers]
    gate = threading.Barrier(len(viewers))

    def look(number: int) -> None:
        gate.wait()
        for turn in range(rounds):
            trace = model.retrace(first, viewers[number])
            assert same(trace, alone[number]) and trace.id == alone[number].id
            if turn % 4 == 0:
                again = model.translate("ka lo mi", limit=12, interventions=viewers[number])
                assert again == written[number]

    with ThreadPoolExecutor(len(viewers)) as threads:
        list(threads.map(look, range(len(viewers))))
    assert len({trace.id for trace in alone}) == len(viewers)
