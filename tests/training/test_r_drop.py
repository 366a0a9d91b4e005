"""R-Drop: two passes of one batch under different dropout."""

import dataclasses
import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.training.test_loop import CONFIG, _trainer
from transformer.training.r_drop import r_drop_loss
from transformer.training.settings import Settings, TrainingError

LN3 = math.log(3)


def test_by_hand() -> None:
    # Two tokens of the vocabulary; pass 1 says (1/4, 3/4), pass 2 says (3/4, 1/4), and the first is right.
    logits = torch.tensor([[[0.0, LN3]], [[LN3, 0.0]]])
    loss, surprise = r_drop_loss(logits, torch.tensor([0]), 0.0, 5.0)
    likelihood = (math.log(4) + math.log(4 / 3)) / 2
    apart = 2 * (0.25 * math.log(1 / 3) + 0.75 * math.log(3))  # KL is the same in both directions
    assert surprise.item() == pytest.approx(likelihood)
    assert loss.item() == pytest.approx(likelihood + 5 / 4 * apart)


def _loss(folder: Path, **changes: float) -> tuple[float, list[Tensor]]:
    """Loss per token and gradients of a trainer's first batch."""
    dropout = changes.pop("dropout", 0.0)
    trainer = _trainer(folder, dataclasses.replace(CONFIG, dropout=dropout, attention_dropout=0.0), **changes)
    trainer.model.train()
    batch = next(trainer._batches())[2]
    loss, _ = trainer.losses(batch.source, batch.target_in, batch.target_out)
    loss.backward()
    return loss.item(), [parameter.grad for parameter in trainer.model.parameters() if parameter.grad is not None]


def test_without_dropout_training_is_the_same(tmp_path: Path) -> None:
    plain, gradients = _loss(tmp_path / "plain")
    twice, others = _loss(tmp_path / "twice", r_drop=5.0)
    assert twice == pytest.approx(plain, rel=1e-5)
    assert all(torch.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in zip(gradients, others, strict=True))


def test_with_dropout_the_passes_differ_and_alpha_counts(tmp_path: Path) -> None:
    low, _ = _loss(tmp_path / "low", r_drop=1e-6, dropout=0.3)
    high, _ = _loss(tmp_path / "high", r_drop=5.0, dropout=0.3)
    assert high > low * 1.001


def test_a_run_trains_and_alpha_is_checked(tmp_path: Path) -> None:
    trainer = _trainer(tmp_path, dataclasses.replace(CONFIG, dropout=0.1), r_drop=1.0)
    before = trainer.model.embedding.weight.detach().clone()
    trainer.run(until=2)
    assert not torch.equal(before, trainer.model.embedding.weight) and math.isfinite(trainer.latest[0])
    with pytest.raises(TrainingError, match="r_drop"):
        Settings(r_drop=-1.0)
