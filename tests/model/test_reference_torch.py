"""PyTorch's own nn.Transformer with our weights in it: the same numbers, everywhere the two meet."""

from typing import Any

import pytest
import torch
from torch import Tensor

import transformer
from tests.support.build import SOURCE, TARGET, padded_sources, targets_in, tiny_model
from tests.support.reference_torch import (
    ACTIVATION,
    OUTPUTS,
    WEIGHTS,
    Watched,
    embedded,
    future,
    projected,
    their_pass,
    twin,
)
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


def random_batch(seed: int, **changes: Any) -> tuple[Transformer, Tensor, Tensor]:
    """A random model, and a batch whose sources and targets are both padded."""
    target = targets_in(seed, 4)
    target[1, 3:] = target[3, 1:] = 0
    return tiny_model(seed, **changes), padded_sources(seed, (SOURCE, 4, 2, 5)), target


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
