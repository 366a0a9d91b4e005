"""PyTorch's own nn.Transformer with our weights in it: the same numbers, everywhere the two meet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import transformer
from tests.support.build import HEADS, SOURCE, TARGET, padded_sources, targets_in, tiny_model
from tests.support.reference_torch import (
    ACTIVATION,
    OUTPUTS,
    WEIGHTS,
    Watched,
    check,
    embedded,
    future,
    projected,
    their_pass,
    twin,
)
from transformer.inference.incremental import IncrementalDecoder
from transformer.inference.search import greedy
from transformer.model.config import NORMS
from transformer.model.layers import DecoderLayer
from transformer.model.tap import KINDS
from transformer.model.transformer import Transformer

CHOICES = [(norm, activation) for norm in ("post", "pre") for activation in ACTIVATION]
TRAINED = ("en-de", "reverse", "reverse-gelu")
PAIRS = {
    "en-de": [
        ("The cat is sleeping.", "Die Katze schläft."),
        ("The old man who lives next door sold his red car, didn't he?", "Der alte Mann von nebenan verkaufte es."),
        ("No.", "Nein, das habe ich gestern doch gar nicht gesagt."),
    ],
    "reverse": [("a b c d e", "e d c b a"), ("m k q z", "z q"), ("x", "x y z x y z x")],
}
PAIRS["reverse-gelu"] = PAIRS["reverse"]


def batch_of(name: str, texts: Sequence[tuple[str, str]]) -> tuple[Transformer, Tensor, Tensor]:
    """A trained model with sentence pairs of different lengths as one padded batch: source and what is fed."""
    loaded = transformer.load(name)
    config = loaded.config
    sources = [loaded.encode(source) for source, _ in texts]
    fed = [[config.start_id, *loaded.encode(target, "target")[:-1]] for _, target in texts]
    rows = [
        nn.utils.rnn.pad_sequence([torch.tensor(row) for row in side], True, config.pad_id) for side in (sources, fed)
    ]
    return loaded.model, rows[0], rows[1]


def random_batch(seed: int, **changes: Any) -> tuple[Transformer, Tensor, Tensor]:
    """A random model, and a batch whose sources and targets are both padded."""
    target = targets_in(seed, 4)
    target[1, 3:] = target[3, 1:] = 0
    return tiny_model(seed, **changes), padded_sources(seed, (SOURCE, 4, 2, 5)), target


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
@pytest.mark.parametrize(("norm", "activation"), CHOICES)
def test_random_weights_in_a_padded_batch(norm: str, activation: str, positions: str, seed: int) -> None:
    check(*random_batch(seed, norm=norm, activation=activation, positions=positions, encoder_layers=3))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("norm", NORMS)
def test_random_weights_without_norm_and_without_mask(norm: str, causal: bool, seed: int) -> None:
    check(*random_batch(seed, norm=norm, causal=causal, activation="gelu", encoder_layers=3))


@pytest.mark.parametrize("name", TRAINED)
def test_trained_weights_in_a_padded_batch(name: str) -> None:
    check(*batch_of(name, PAIRS[name]))


@pytest.mark.parametrize("name", TRAINED)
def test_a_traces_weights_are_those_pytorch_returns(name: str) -> None:
    loaded = transformer.load(name)
    theirs = twin(loaded.model)
    watched = Watched(theirs)
    for source, target in PAIRS[name]:
        for given in (target, None):
            trace = loaded.trace(source, given, limit=24)
            ids = torch.tensor([trace.source_ids]), torch.tensor([trace.target_in_ids])
            with torch.no_grad():
                memory, hidden = their_pass(loaded.model, theirs, *ids)
            for kind in KINDS:
                part = trace.attention(kind)
                wanted = torch.cat([watched.of(kind, layer) for layer in range(part.layers)])
                torch.testing.assert_close(part.weights, wanted, **WEIGHTS)
            torch.testing.assert_close(trace.encoder_output, memory[0], **OUTPUTS)
            logits = projected(loaded.model, hidden[0])
            torch.testing.assert_close(trace.logits, logits, **OUTPUTS)
            own = logits.softmax(-1)[range(len(trace.target_out_ids)), list(trace.target_out_ids)]
            torch.testing.assert_close(trace.probabilities, own, **WEIGHTS)


@pytest.mark.parametrize("name", TRAINED)
def test_the_encoders_fast_path_agrees_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, source, _ = batch_of(name, PAIRS[name])
    taken, kernel = [], torch._transformer_encoder_layer_fwd

    def spy(*args: object) -> Tensor:
        taken.append(1)
        return kernel(*args)

    monkeypatch.setattr(torch, "_transformer_encoder_layer_fwd", spy)
    padding = source == model.config.pad_id
    with torch.inference_mode():
        memory = twin(model).encoder(embedded(model, source), src_key_padding_mask=padding)
        ours = model.encode(source)
    assert len(taken) == model.config.encoder_layers  # where it is not taken, nothing would be tested here
    torch.testing.assert_close(ours[~padding], memory[~padding], **OUTPUTS)


def their_greedy(
    model: Transformer, theirs: nn.Transformer, source: Tensor, limit: int
) -> tuple[list[int], list[float]]:
    """Greedy decoding of one source, the whole prefix anew at every step: ids and their log-probabilities."""
    config = model.config
    memory = theirs.encoder(embedded(model, source))
    fed, scores = [config.start_id], []
    while len(scores) < limit and fed[-1] != config.end_id:
        hidden = theirs.decoder(embedded(model, torch.tensor([fed]), "target"), memory, tgt_mask=future(len(fed)))
        log_probs = projected(model, hidden[0, -1]).log_softmax(-1)
        allowed = log_probs.clone()
        allowed[[config.pad_id, config.start_id]] = -math.inf
        fed.append(int(allowed.argmax()))
        scores.append(float(log_probs[fed[-1]]))
    return fed[1:], scores


@pytest.mark.parametrize("name", TRAINED)
def test_decoding_equals_pytorch(name: str) -> None:
    model, source, _ = batch_of(name, PAIRS[name])
    theirs = twin(model)
    for row, found in zip(source, greedy(model, source, 20), strict=True):
        with torch.no_grad():
            ids, scores = their_greedy(model, theirs, row[row != model.config.pad_id][None], 20)
        assert list(found.ids) == ids
        assert found.log_probs == pytest.approx(scores, abs=1e-5)


@pytest.mark.parametrize(("norm", "activation"), CHOICES)
def test_every_step_of_decoding(norm: str, activation: str) -> None:
    model, source, _ = random_batch(4, norm=norm, activation=activation)
    target, theirs = targets_in(5, len(source)), twin(model)
    decoder = IncrementalDecoder(model, model.encode(source), source)
    for fed in range(TARGET):
        step = decoder(target[:, fed : fed + 1])
        with torch.no_grad():
            _, hidden = their_pass(model, theirs, source, target[:, : fed + 1])
        torch.testing.assert_close(step, hidden[:, -1:], **OUTPUTS)


@pytest.mark.parametrize(("norm", "activation"), CHOICES)
def test_gradients_are_pytorchs(norm: str, activation: str) -> None:
    """What training follows: the loss's slope along every weight of the stacks."""
    model, source, target = random_batch(6, norm=norm, activation=activation)
    theirs = twin(model)
    model.requires_grad_(True)
    real = target != 0
    weighing = torch.linspace(-1, 1, model.config.d_model)
    (model.decode(target, model.encode(source), source)[real] * weighing).sum().backward()
    with torch.no_grad():
        fed, read = embedded(model, target, "target"), embedded(model, source)
    memory = theirs.encoder(read, src_key_padding_mask=source == 0)
    hidden = theirs.decoder(
        fed, memory, future(TARGET), tgt_key_padding_mask=~real, memory_key_padding_mask=source == 0
    )
    (hidden[real] * weighing).sum().backward()
    for number, (mine, other) in enumerate(zip(model.decoder, theirs.decoder.layers, strict=True)):
        assert isinstance(mine, DecoderLayer)
        for ours, in_proj in ((mine.self_attention, other.self_attn), (mine.cross_attention, other.multihead_attn)):
            stacked = torch.cat([part.weight.grad for part in (ours.query, ours.key, ours.value)])  # type: ignore[misc]
            torch.testing.assert_close(stacked, in_proj.in_proj_weight.grad, rtol=1e-4, atol=1e-4)
            assert stacked.abs().max() > 1e-3, number
        torch.testing.assert_close(mine.feed_forward.inner.weight.grad, other.linear1.weight.grad, rtol=1e-4, atol=1e-4)
    first = model.encoder[0].feed_forward.outer.weight.grad  # type: ignore[union-attr]
    torch.testing.assert_close(first, theirs.encoder.layers[0].linear2.weight.grad, rtol=1e-4, atol=1e-4)


def test_the_twin_can_tell_models_apart() -> None:
    """A comparison that cannot fail proves nothing: one matrix moved a little, or heads exchanged, show."""
    model, source, target = random_batch(7)
    theirs = twin(model)
    layer = model.decoder[0]
    assert isinstance(layer, DecoderLayer)
    width = model.config.d_model // HEADS
    order = torch.cat([torch.arange(width, 2 * width), torch.arange(width), torch.arange(2 * width, 3 * width)])
    before = layer.cross_attention.key.weight.clone()
    wanted = their_pass(model, theirs, source, target)[1]
    for changed in (before[order], before + 0.01 * torch.eye(len(before))):
        layer.cross_attention.key.weight.copy_(changed)
        found = model.decode(target, model.encode(source), source)
        assert (found - wanted).abs().max() > 1e-3
    layer.cross_attention.key.weight.copy_(before)
    torch.testing.assert_close(model.decode(target, model.encode(source), source), wanted, **OUTPUTS)
