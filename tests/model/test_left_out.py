"""Models that a part of the paper was taken away from: no residual connections, no LayerNorm, no causal mask.

What each module does is tested beside it; here is what they do together: gradients and training.
"""

from __future__ import annotations

import copy
import itertools
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.build import random_ids, tiny_model, tiny_tokenizer, variant_name
from tests.support.reference import reference
from transformer.inference.pretrained import load
from transformer.model.config import NORMS, ModelConfig
from transformer.training.loop import Trainer
from transformer.training.settings import Settings

COMBINATIONS: list[dict[str, Any]] = [  # every pair of values
    {"norm": norm, "residual": residual, "causal": residual == (norm != "pre")}
    for norm, residual in itertools.product(NORMS, (True, False))
]
every = pytest.mark.parametrize("changes", COMBINATIONS, ids=variant_name)


def _loss(logits: torch.Tensor, out: list[int]) -> torch.Tensor:
    """Negative log-likelihood of the target, summed. logits: [target, vocab]"""
    return -logits.log_softmax(-1)[range(len(out)), out].sum()


@pytest.mark.slow
@every
def test_gradients_are_the_slope_of_the_loss_worked_out_in_loops(changes: dict[str, Any]) -> None:
    """Along a random direction of every parameter: backpropagation in float32, and the difference of the loss that the
    reference gives in float64 a little to either side, which knows nothing of derivatives."""
    model = tiny_model(5, d_model=6, heads=3, d_ff=5, vocab_size=13, encoder_layers=1, decoder_layers=2, **changes)
    source, fed, out = [*random_ids(1, 3, vocab=13).tolist(), 3], [2, 7, 9], [7, 9, 3]
    exact = copy.deepcopy(model).double()
    model.requires_grad_(True)
    _loss(model(torch.tensor([source]), torch.tensor([fed]))[0], out).backward()
    weights, step = dict(exact.named_parameters()), 1e-6
    for number, (name, parameter) in enumerate(model.named_parameters()):
        direction = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(number), dtype=torch.float64)
        at, kept = weights[name], weights[name].clone()
        values = []
        for side in (step, -step):
            at.copy_(kept + side * direction)
            values.append(_loss(torch.stack(reference(exact, source, fed).logits), out).item())
        at.copy_(kept)
        assert parameter.grad is not None, name
        found = float((parameter.grad.double() * direction).sum())
        assert found == pytest.approx((values[0] - values[1]) / (2 * step), rel=2e-3, abs=2e-4), name


@every
def test_each_of_them_trains(changes: dict[str, Any], tmp_path: Path) -> None:
    """A few steps of the trainer: the loss falls, every weight moves, and the checkpoint is that model."""
    tokenizer = tiny_tokenizer()
    config = ModelConfig(
        vocab_size=len(tokenizer), d_model=16, d_ff=24, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.1,
        max_positions=32, **changes,
    )  # fmt: skip
    pairs = [("ka lo mi", "mi lo ka"), ("lo mi", "mi lo"), ("nu re sta", "sta re nu"), ("ka", "ka")]
    settings = Settings(
        steps=30, batch_tokens=200, peak_rate=0.01, warmup=3, save_every=30, validate_every=10, average=1, snapshots=0
    )
    trainer = Trainer(tmp_path / "run", config, tokenizer, pairs, pairs, settings)
    before = {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}
    trainer.run()
    log = (tmp_path / "run" / "training.csv").read_text().splitlines()
    losses = [float(line.split(",")[log[0].split(",").index("loss")]) for line in log[1:]]
    assert len(losses) >= 3 and losses[-1] < losses[0] - 0.3 and all(map(math.isfinite, losses)), losses
    weights = trainer.model.state_dict()
    still = {name for name, tensor in before.items() if torch.equal(weights[name], tensor)}
    # The softmax does not move when every score of a row does, so a bias of the keys has no slope but rounding's.
    assert not {name for name in still if not name.endswith("key.bias")}
    trainer.export(tmp_path / "checkpoint")
    found = load(tmp_path / "checkpoint")
    assert found.config == config
    source, fed = torch.tensor([found.encode("ka lo mi")]), torch.tensor([[2, *found.encode("mi lo ka")[:-1]]])
    with torch.inference_mode():
        wanted = trainer.model.eval()(source, fed)
    torch.testing.assert_close(
        found.trace("ka lo mi", "mi lo ka").logits, wanted[0], rtol=2e-2, atol=2e-2
    )  # in 16 bits
