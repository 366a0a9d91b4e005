"""Models that a part of the paper was taken away from train: no residual connections, no LayerNorm, no causal mask."""

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.build import tiny_tokenizer, variant_name
from transformer.inference.pretrained import load
from transformer.model.config import NORMS, ModelConfig
from transformer.training.loop import Trainer
from transformer.training.settings import Settings

COMBINATIONS: list[dict[str, Any]] = [  # every pair of values
    {"norm": norm, "residual": residual, "causal": residual == (norm != "pre")}
    for norm, residual in itertools.product(NORMS, (True, False))
]
every = pytest.mark.parametrize("changes", COMBINATIONS, ids=variant_name)


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
