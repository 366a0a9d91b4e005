"""Train a checkpoint further on what it lacks, and keep what it knows.

    python -m recipes.further en-de runs/en-de.tsv runs/further --steps 400

Every update draws pairs of text that is copied and of clock times (`training.symbols`, `training.clock`), with the
smoothed cross-entropy as their loss, and pairs of the whole text, varied as in its recipe. On the latter the model
keeps the probabilities it had: the loss is the Kullback-Leibler divergence from its first weights (Li and Hoiem 2016).
The result is the mean of the weights after each of the last updates. A stopped run resumes; an update depends on its
number alone.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import functools
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save
from torch import Tensor

from benchmarks import typed
from transformer.checkpoints.folder import save_checkpoint
from transformer.files import write_whole
from transformer.inference.pretrained import Pretrained, load
from transformer.model.tap import FUSED
from transformer.text.batching import Batch, bucket, make_batch
from transformer.text.tokenizer import SPECIALS, Tokenizer
from transformer.training.adam import STATE, Adam
from transformer.training.augmentation import Augmentation, name_part, other_name
from transformer.training.clock import clock_time
from transformer.training.data import Pair, read_pairs
from transformer.training.fused_loss import fused_label_smoothed_loss
from transformer.training.recipe import read_recipe
from transformer.training.speed import prepare_for_training
from transformer.training.symbols import symbols

RECIPE = Path(__file__).parent / "en-de.toml"
KEPT, COPIED, TIMES, NAMED = 72, 52, 4, 12  # pairs of an update
KEEP = 3.0  # weight of the divergence
BATCH = 2_500  # padded tokens a side of one pass
WARMUP, SAVE_EVERY = 30, 20
SMOOTHING, CLIP = 0.1, 1.0
SAMPLED = (0.3, 1.5, None)  # alpha of the segmentations, in turn; None: the best one, which translating uses


def drawn(pairs: Sequence[Pair], augmentation: Augmentation, step: int) -> tuple[list[Pair], list[Pair]]:
    """The new pairs of an update, and those of the text. No source is of the list that it is measured with."""
    rng, new, listed = random.Random(step), list[Pair](), {one.source for one in typed.listed("symbols.tsv")}
    while len(new) < COPIED:
        pair = symbols(rng, functools.partial(name_part, rng, pairs), pairs)
        if pair[0] not in listed:
            new.append(pair)
    new += [clock_time(rng) for _ in range(TIMES)]
    while len(new) < COPIED + TIMES + NAMED:
        pair = pairs[rng.randrange(len(pairs))]
        if (named := other_name(pair, pairs, rng)) != pair:
            new.append(named)
    return new, augmentation.apply(rng.sample(pairs, KEPT), step, pairs)


@torch.no_grad()
def wake(embedding: Tensor) -> None:
    """Gives pieces that training hardly saw directions of their own. Their rows, pushed away from every output alike,
    are short and nearly parallel: the model would have to tell them apart before it can copy any."""
    lengths = embedding.norm(dim=1)
    asleep = (lengths < lengths.median() / 2).nonzero().flatten()
    asleep = asleep[asleep >= len(SPECIALS)]
    noise = torch.randn(len(asleep), embedding.shape[1], generator=torch.Generator().manual_seed(1))
    embedding[asleep] += 0.7 * lengths.median() * noise / noise.norm(dim=1, keepdim=True)


class Further:
    """A model on its way from its first weights."""

    def __init__(self, start: Pretrained, pairs: Sequence[Pair], folder: Path, steps: int, mean: int, rate: float):
        self.start, self.pairs, self.folder = start, pairs, folder
        self.steps, self.mean, self.peak = steps, mean, rate
        assert isinstance(start.tokenizer, Tokenizer)  # one of this package: others draw no segmentations
        self.tokenizer = start.tokenizer
        self.first = start.model.float()
        self.model = copy.deepcopy(self.first)
        self.model.requires_grad_(True)
        prepare_for_training(self.model)
        self.parameters = dict(self.model.named_parameters())
        for parameter in self.parameters.values():  # `load` may have turned them for its products; files have rows
            parameter.data = parameter.data.contiguous()
        wake(self.parameters["embedding.weight"])
        self.optimizer = Adam(self.parameters.values())
        self.sums = {name: torch.zeros_like(tensor) for name, tensor in self.parameters.items()}
        self.step = 0
        varied = Augmentation(**read_recipe(RECIPE)["training"]["augmentation"])
        self.augmentation = dataclasses.replace(varied, symbols=0, times=0)  # these it is to learn, not to keep
        if self._state.is_file():
            self._resume()

    def rate(self, step: int) -> float:
        """Up in WARMUP updates, then down to zero in a straight line."""
        return self.peak * min(step / WARMUP, (self.steps - step + 1) / self.steps)

    def batches(self, pairs: Sequence[Pair], step: int) -> list[Batch]:
        texts, alpha = [text for pair in pairs for text in pair], SAMPLED[step % len(SAMPLED)]
        tokenizer = self.tokenizer
        ids = tokenizer.sample(texts, alpha, step) if alpha else [tokenizer.encode(text) for text in texts]
        rows = list(zip(ids[::2], ids[1::2], strict=True))
        order = bucket([(len(source) + 1, len(target) + 1) for source, target in rows], BATCH, None)
        return [make_batch([rows[i][0] for i in each], [rows[i][1] for i in each], self.first.config) for each in order]

    def update(self) -> tuple[float, float]:
        """One update. Returns the loss a token on the new pairs, and the divergence a token on the text."""
        self.step += 1
        torch.manual_seed(self.step)
        self.model.train()
        new, kept = (self.batches(pairs, self.step) for pairs in drawn(self.pairs, self.augmentation, self.step))
        found = (self._pass(new, self._surprise), self._pass(kept, self._divergence))
        torch.nn.utils.clip_grad_norm_(self.optimizer.parameters, CLIP)
        self.optimizer.step(self.rate(self.step))
        self.optimizer.forget_gradients()
        if self.step > self.steps - self.mean:
            for name, tensor in self.parameters.items():
                self.sums[name] += tensor.detach()
        return found

    def _pass(self, batches: Sequence[Batch], loss: Callable[[Batch, Tensor], Tensor]) -> float:
        """Adds the gradient of the mean loss a token. Returns that mean."""
        tokens, total = sum(int((batch.target_out != self.first.config.pad_id).sum()) for batch in batches), 0.0
        for batch in batches:
            with torch.autocast("cpu", torch.bfloat16):
                hidden = self.model.decode(batch.target_in, self.model.encode(batch.source, FUSED), batch.source, FUSED)
            each = loss(batch, hidden) / tokens
            each.backward()
            total += each.item()
        return total

    def _surprise(self, batch: Batch, hidden: Tensor) -> Tensor:
        real = batch.target_out != self.first.config.pad_id
        return fused_label_smoothed_loss(
            hidden[real].float(), self.model.embedding.weight, batch.target_out[real], SMOOTHING, torch.bfloat16
        )[0]

    def _divergence(self, batch: Batch, hidden: Tensor) -> Tensor:
        real = batch.target_out != self.first.config.pad_id
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            before = self.first.decode(batch.target_in, self.first.encode(batch.source, FUSED), batch.source, FUSED)
            wanted = F.linear(before[real], self.first.embedding.weight).float().log_softmax(-1)
        with torch.autocast("cpu", torch.bfloat16):
            logits = F.linear(hidden[real], self.model.embedding.weight)
        return F.kl_div(logits.float().log_softmax(-1), wanted, reduction="sum", log_target=True) * KEEP

    @property
    def _state(self) -> Path:
        return self.folder / "state.safetensors"

    def save(self) -> None:
        tensors = {"number": torch.tensor(self.step)}
        for name, parameter in self.parameters.items():
            tensors |= {f"model.{name}": parameter.detach(), f"sum.{name}": self.sums[name]}
            tensors |= {f"{key}.{name}": value for key, value in self.optimizer.state[parameter].items()}
        write_whole(self._state, save(tensors))

    def _resume(self) -> None:
        tensors = load_file(self._state)
        self.step = int(tensors["number"])
        for name, parameter in self.parameters.items():
            parameter.data.copy_(tensors[f"model.{name}"])
            if self.step > self.steps - self.mean:  # else they are of a shorter run
                self.sums[name] = tensors[f"sum.{name}"]
            self.optimizer.state[parameter] = {key: tensors[f"{key}.{name}"] for key in STATE}

    def export(self) -> None:
        for name, parameter in self.parameters.items():
            parameter.data.copy_(self.sums[name] / self.mean)
        save_checkpoint(self.folder / "checkpoint", self.model.eval(), self.tokenizer, self.start.languages)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("pairs", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--steps", type=int, default=400, metavar="N")
    parser.add_argument("--mean", type=int, default=100, metavar="N", help="updates whose weights are averaged")
    parser.add_argument("--rate", type=float, default=3e-4, metavar="R", help="the highest learning rate")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    run = Further(load(options.checkpoint), read_pairs(options.pairs), options.output, options.steps, options.mean,
                  options.rate)  # fmt: skip
    while run.step < run.steps:
        loss, divergence = run.update()
        print(f"{run.step}\t{loss:.4f}\t{divergence:.4f}", flush=True)
        if run.step % SAVE_EVERY == 0 or run.step == run.steps:
            run.save()
    run.export()
    return 0


if __name__ == "__main__":
    sys.exit(main())
