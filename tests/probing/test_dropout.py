"""Passes with dropout: the same weights, other values dropped in every pass."""

import torch

from tests.support.build import tiny_pretrained
from transformer.model.tap import KINDS
from transformer.probing.dropout import dropout_passes, training_copy

MODEL = tiny_pretrained()
TRACE = MODEL.trace("ka lo minu", "re sta vu")


def test_without_dropout_every_pass_is_the_trace() -> None:
    found = dropout_passes(MODEL, TRACE, 0.0, 3)
    assert torch.allclose(found.probabilities, found.plain.double().expand(3, -1), atol=1e-6)
    for kind in KINDS:
        assert torch.allclose(found.mean[kind], TRACE.attention(kind).weights, atol=1e-6)
        assert found.deviation[kind].abs().max() < 1e-6


def test_more_dropout_scatters_more_and_a_seed_repeats_itself() -> None:
    little, much = (dropout_passes(MODEL, TRACE, p, 30, seed=1) for p in (0.05, 0.5))
    assert 0 < little.probabilities.std(0).mean() < much.probabilities.std(0).mean()
    assert 0 < little.deviation["cross"].mean() < much.deviation["cross"].mean()
    assert torch.equal(dropout_passes(MODEL, TRACE, 0.05, 30, seed=1).probabilities, little.probabilities)
    assert not torch.equal(dropout_passes(MODEL, TRACE, 0.05, 30, seed=2).probabilities, little.probabilities)
    assert not dropout_passes(MODEL, TRACE, 0.5, 1).deviation["cross"].any()  # one pass has no spread


def test_the_shared_model_and_the_random_numbers_of_others_stay_as_they_are() -> None:
    torch.manual_seed(7)
    wanted = torch.rand(3)
    torch.manual_seed(7)
    copy = training_copy(MODEL.model, 0.3)
    dropout_passes(MODEL, TRACE, 0.3, 2)
    assert torch.equal(torch.rand(3), wanted)
    assert copy.training and not MODEL.model.training and MODEL.config.dropout != 0.3
    mine = dict(MODEL.model.named_parameters())
    assert all(other.data_ptr() == mine[name].data_ptr() for name, other in copy.named_parameters())
