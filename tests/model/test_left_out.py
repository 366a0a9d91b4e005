"""Models that a part of the paper was taken away from: no residual connections, no LayerNorm, no causal mask.

What each module does is tested beside it; here is what they do together: gradients, training, and decoding.
"""

from __future__ import annotations

import copy
import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.build import padded_sources, random_ids, tiny_model, tiny_tokenizer, variant_name
from tests.support.reference import reference
from transformer.inference.pretrained import Pretrained, load
from transformer.inference.search import Hypothesis, beam, greedy
from transformer.interventions.sets import NONE, Interventions, Scale, Unmask, Where
from transformer.model.config import NORMS, ModelConfig
from transformer.model.transformer import Transformer
from transformer.training.loop import Trainer
from transformer.training.settings import Settings

COMBINATIONS: list[dict[str, Any]] = [  # every pair of values
    {"norm": norm, "residual": residual, "causal": residual == (norm != "pre")}
    for norm, residual in itertools.product(NORMS, (True, False))
]
every = pytest.mark.parametrize("changes", COMBINATIONS, ids=variant_name)
OFF = Interventions((Unmask("causal"),))


# -- gradients and training -----------------------------------------------------------------------------------------


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


# -- decoding -------------------------------------------------------------------------------------------------------


def _alive(seed: int, **changes: Any) -> Transformer:
    """A random model that writes different pieces and ends: sharp attention, no biases, which drown what is read, and
    an output matrix of its own, for what is tied repeats what it is fed."""
    model = tiny_model(seed, vocab_size=len(tiny_tokenizer()), tied_output=False, encoder_layers=1, **changes)
    for name, parameter in model.named_parameters():
        parameter *= 10 if "query.weight" in name else 0 if name.endswith("bias") else 1
    model.output_table[model.config.end_id] *= 3
    return model


def _anew(model: Transformer, source: torch.Tensor, limit: int) -> tuple[list[int], list[float]]:
    """Greedy decoding in six lines: the whole prefix from the first token at every step, source and all."""
    fed, scores = [model.config.start_id], []
    while len(scores) < limit and fed[-1] != model.config.end_id:
        log_probs = model(source, torch.tensor([fed]))[0, -1].log_softmax(-1)
        allowed = log_probs.clone()
        allowed[[model.config.pad_id, model.config.start_id]] = -math.inf
        fed.append(int(allowed.argmax()))
        scores.append(float(log_probs[fed[-1]]))
    return fed[1:], scores


@pytest.mark.parametrize("seed", range(2))
@every
def test_greedy_is_the_whole_prefix_from_scratch(changes: dict[str, Any], seed: int) -> None:
    model, lengths = _alive(seed, **changes), (7, 4, 2, 5)
    source = padded_sources(seed, lengths)
    for row, found in enumerate(greedy(model, source, 12)):
        ids, scores = _anew(model, source[row : row + 1, : lengths[row]], 12)
        assert list(found.ids) == ids
        assert found.log_probs == pytest.approx(scores, abs=1e-3)  # sharp attention makes much of rounding


def test_random_models_write_varied_outputs() -> None:
    models = [_alive(seed, **changes) for changes in COMBINATIONS for seed in range(5)]
    found = [one.ids for model in models for one in greedy(model, padded_sources(3), 12)]
    assert len({len(ids) for ids in found}) > 4 and sum(len(set(ids)) > 3 for ids in found) > 15


def _best_of_all(model: Transformer, source: torch.Tensor, limit: int) -> float:
    """The largest sum of log-probabilities of any output, by trying each: breadth first, each prefix from scratch."""
    config, best = model.config, -math.inf
    open_: list[tuple[list[int], float]] = [([config.start_id], 0.0)]
    for step in range(1, limit + 1):
        coming = []
        for fed, total in open_:
            log_probs = model(source, torch.tensor([fed]))[0, -1].log_softmax(-1).tolist()
            for token, score in enumerate(log_probs):
                if token in (config.pad_id, config.start_id):
                    continue
                if token == config.end_id:
                    best = max(best, total + score)
                elif step < limit:
                    coming.append(([*fed, token], total + score))
        open_ = coming
    return best


@pytest.mark.parametrize(("norm", "seed"), [(norm, seed) for seed, norm in enumerate(NORMS, 1)])
def test_a_wide_beam_without_the_mask_is_an_exhaustive_search(norm: str, seed: int) -> None:
    model = tiny_model(seed, 0.25, vocab_size=7, tied_output=False, norm=norm, causal=False)
    source = padded_sources(seed, (4,), 7)
    (found,) = beam(model, source, beam=200, alpha=0.0, limit=3)
    assert found.score == pytest.approx(_best_of_all(model, source, 3), abs=1e-4)


def _named(model: Transformer) -> Pretrained:
    return Pretrained("left", Path("left"), model, tiny_tokenizer(), ("Invented", "Imagined"), {})


def _without_mask(model: Pretrained) -> Pretrained:
    """The same weights in a model that has no causal mask."""
    other = copy.deepcopy(model.model)
    other.config = replace(model.config, causal=False)
    return _named(other)


@pytest.mark.parametrize(
    ("changes", "more"), [({}, (Scale(1.0, Where("cross")),)), ({"norm": "pre", "residual": False}, ()),
                          ({"norm": "none"}, ())], ids=str,
)  # fmt: skip
def test_the_switch_and_the_model_without_the_mask_are_one(changes: dict[str, Any], more: tuple[Scale, ...]) -> None:
    """Same traces, to the last bit, and same translations, greedy and by beams; there the switch changes nothing."""
    masked = _named(_alive(2, **changes))
    bare, rest = _without_mask(masked), Interventions(more)
    for text in ("ka lo mi nu", "sta", "zen pol vu ti re"):
        for target in (None, "mi lo"):
            wanted = masked.trace(text, target, interventions=rest + OFF)
            for switched in (rest, rest + OFF):
                found = bare.trace(text, target, interventions=switched)
                assert found.target_out == wanted.target_out and torch.equal(found.logits, wanted.logits)
                for kind in ("encoder_self", "decoder_self", "cross"):
                    ours, theirs = found.attention(kind), wanted.attention(kind)
                    assert torch.equal(ours.weights, theirs.weights) and torch.equal(ours.mask, theirs.mask)
                assert found.decoder_self.mask.all()
        for beams in (1, 3):
            written = masked.translate(text, beams, interventions=rest + OFF)
            assert bare.translate(text, beams, interventions=rest) == written
            assert bare.translate(text, beams, interventions=rest + OFF) == written
    texts = ["ka lo mi nu", "sta", "", "zen pol vu ti re"]
    assert [one.text for one in bare.translate_all(texts, interventions=OFF)] == [
        one.text for one in masked.translate_all(texts, interventions=OFF)
    ]


def test_the_mask_matters_to_these_models() -> None:
    """Else the comparison above would prove nothing. What a cache would write is what the model with the mask writes: a
    kept row saw only what came before it."""
    masked = _named(_alive(2))
    bare = _without_mask(masked)
    found, wanted = (one.trace("ka lo mi nu", "mi lo ka", interventions=NONE) for one in (bare, masked))
    assert not torch.equal(found.logits, wanted.logits)
    assert any(bare.translate(text) != masked.translate(text) for text in ("ka lo mi nu", "sta", "zen pol vu ti re"))


def test_many_sources_are_written_as_each_alone() -> None:
    model = _named(_alive(4, causal=False, norm="pre"))
    texts = ["ka lo mi nu", "sta", "zen pol vu ti re", "mi"]
    assert [one.text for one in model.translate_all(texts)] == [model.translate(text).text for text in texts]
    assert isinstance(greedy(model.model, torch.tensor([model.encode("ka")]))[0], Hypothesis)
