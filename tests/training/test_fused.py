"""Training with PyTorch's fused attention: the same gradients up to rounding, with padding and without."""

import dataclasses

import pytest
import torch

from tests.support.build import sentences, tiny_config, tiny_tokenizer
from transformer.model.masks import causal_mask, needed
from transformer.training.loop import Trainer
from transformer.training.settings import Settings, TrainingError

COPY = [(text, text) for text in sentences()]
SETTINGS = Settings(
    steps=6, batch_tokens=61, warmup=3, average=1, save_every=6, validate_every=6, validation_sentences=0
)


@pytest.mark.parametrize("changes", [{}, {"causal": False}, {"d_k": 3}, {"scaling": False}], ids=str)
def test_its_gradients_are_the_same_up_to_rounding(changes: dict) -> None:
    config = tiny_config(vocab_size=67, dropout=0.0, encoder_layers=2, decoder_layers=2, **changes)
    found = []
    for fused in (False, True):
        settings = dataclasses.replace(SETTINGS, fused=fused)
        trainer = Trainer(None, config, tiny_tokenizer(), COPY[:30], COPY[30:40], settings)
        batch = next(trainer._batches())[2]
        loss, surprise = trainer.losses(batch.source, batch.target_in, batch.target_out)
        loss.backward()
        found.append({name: parameter.grad for name, parameter in trainer.model.named_parameters()})
        found[-1]["loss"], found[-1]["surprise"] = loss.detach(), surprise.detach()
    plain, fast = found
    for name, gradient in plain.items():
        torch.testing.assert_close(fast[name], gradient, rtol=1e-4, atol=1e-4, msg=name)
    assert any(not torch.equal(fast[name], plain[name]) for name in plain)  # it was another kernel


def test_a_mask_that_hides_nothing_is_left_out_and_one_that_does_is_not() -> None:
    everything = torch.ones(2, 1, 1, 3, dtype=torch.bool)
    assert needed(everything, True) is None and needed(everything, False) is everything
    assert needed(mask := causal_mask(3), True) is mask


def test_fused_is_true_or_false() -> None:
    with pytest.raises(TrainingError, match="fused is 1; choose true or false"):
        dataclasses.replace(SETTINGS, fused=1)  # type: ignore[arg-type]
