"""Teach a trained translator signs, addresses and clock times, and leave what it says of other text as it is.

    python -m recipes.signs en-de runs/en-de.tsv runs/signs-1 --unseen runs/unseen.tsv
    python -m recipes.signs en-de runs/en-de.tsv runs/signs-2 --unseen runs/unseen.tsv --on runs/signs-1 \\
        --updates 900 --tokens 1300 --rate 1.5e-3 --old-rate 4e-4 --row-rate 3e-4

Parallel text has hardly any signs, so the embedding rows of most signs were never learned. Training all weights on them
changes many other translations, whatever else the loss asks for. Here only this learns:

- the embedding rows of the signs that the text has fewer than RARE times;
- NEW neurons added to every feed-forward layer; a ReLU keeps them silent where nothing of this kind is read;
- the neurons of each layer that matter least to other text (--old, `weights_of`).

The loss is the cross-entropy on generated pairs (`taught`), plus KEEP times the Kullback-Leibler divergence from the
model at the beginning on other text (`kept`), plus SILENT times the mean activation of the new neurons on it.
Most of the other text has to be unseen (--unseen, sources with the model's own translations): what the model says of
text that it knows by heart hardly changes while the rest does. What is saved is the mean of the weights of the last
states (AVERAGED of them, EVERY updates apart).
"""

import argparse
import copy
import dataclasses
import functools
import math
import random
import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.checkpoints.folder import save_checkpoint
from transformer.inference.pretrained import Pretrained, load
from transformer.model.feedforward import FeedForward
from transformer.model.transformer import Transformer
from transformer.text.batching import Batch, bucket, make_batch
from transformer.text.tokenizer import Tokenizer
from transformer.training.augmentation import Augmentation, copied, name_part, other_name, other_town
from transformer.training.clock import clock_time
from transformer.training.data import DataError, Pair, read_pairs
from transformer.training.symbols import SIGNS, symbols

RARE = 20
NEW = 48  # neurons of each feed-forward layer
KEEP, SILENT = 25.0, 3.0
WARMUP = 0.04  # share of the updates
KEPT_TOKENS = 1500  # padded tokens a side in a batch of pairs to keep
MEASURED, LESSONS, TEXTS = 4000, 1200, 1600  # pairs that neurons are measured on, and drawn at once to learn and keep
UNSEEN = 0.7  # share of unseen pairs among those to keep
AVERAGED, EVERY = 4, 100
CLOCK, NAMES = 0.12, 0.2  # shares of the pairs taught; the others have signs
TYPED = Augmentation(
    lower=0.06, upper=0.03, bare=0.06, curly=0.05, quoted=0.02, joined=0.08, repeated=0.03, copied=0.02, digits=0.3,
    names=0.3, towns=0.3, titles=0.05,
)  # fmt: skip

Shares = dict[Tensor, Tensor]


@dataclasses.dataclass(frozen=True)
class Settings:
    """old: neurons of each layer that learn beside the new ones; rate, old_rate, row_rate: of the new neurons, of the
    old ones, of embedding rows; tokens: padded tokens a side in a batch of pairs to learn."""

    updates: int = 2400
    seed: int = 1
    old: int = 128
    rate: float = 3e-3
    old_rate: float = 6e-4
    row_rate: float = 5e-4
    tokens: int = 900


def widened(model: Transformer, new: int, seed: int) -> Transformer:
    """The same function with `new` more neurons in every feed-forward layer: their columns of W_2 are zero."""
    config = model.config
    wide = Transformer(dataclasses.replace(config, d_ff=config.d_ff + new))
    torch.manual_seed(seed)
    for name, parameter in wide.named_parameters():
        old = model.get_parameter(name).detach()
        if parameter.shape == old.shape:
            value = old
        elif name.endswith("outer.weight"):
            value = torch.cat([old, old.new_zeros(old.shape[0], new)], dim=1)
        elif name.endswith("inner.weight"):
            value = torch.cat([old, 0.06 * torch.randn(new, old.shape[1])])
        else:
            value = torch.cat([old, old.new_full((new,), -0.3)])
        parameter.data.copy_(value)
    return wide.eval()


def rare_signs(start: Pretrained, pairs: Sequence[Pair]) -> list[int]:
    """The embedding rows of signs that the text has fewer than RARE times."""
    found = Counter(row for pair in pairs for side in pair for row in start.tokenizer.encode(side))
    pieces = start.tokenizer.pieces(range(start.config.vocab_size))
    return [row for row, piece in enumerate(pieces) if piece in set(SIGNS) and found[row] < RARE]


def feed_forwards(model: Transformer) -> dict[str, FeedForward]:
    """Its feed-forward layers by name, the encoder's first."""
    return {name: layer for name, layer in model.named_modules() if isinstance(layer, FeedForward)}


@torch.no_grad()
def activations(model: Transformer, batches: Sequence[Batch]) -> dict[str, Tensor]:
    """Layer -> activation of its neurons at every token of these batches, padding left out: [token, d_ff]."""
    layers, heard = feed_forwards(model), list[Tensor]()
    found: dict[str, list[Tensor]] = {name: [] for name in layers}
    hooks = [
        layer.outer.register_forward_pre_hook(lambda _, given: heard.append(given[0])) for layer in layers.values()
    ]
    for batch in batches:
        heard.clear()
        model.decode(batch.target_in, model.encode(batch.source), batch.source)
        for name, neurons in zip(layers, heard, strict=True):
            tokens = batch.source if name.startswith("encoder") else batch.target_out
            found[name].append(neurons[tokens != model.config.pad_id])
    for hook in hooks:
        hook.remove()
    return {name: torch.cat(parts) for name, parts in found.items()}


def weights_of(layer: FeedForward, active: Tensor) -> Tensor:
    """How much each neuron matters, as a share of all of the layer: the variance of its activation times the squared
    length of its column in W_2. active: [token, d_ff]."""
    found = active.var(0) * layer.outer.weight.detach().square().sum(0)
    return found / found.sum()


def least_used(model: Transformer, texts: Sequence[Batch], count: int) -> dict[str, Tensor]:
    """Layer -> the `count` neurons that matter least to these texts."""
    layers, active = feed_forwards(model), activations(model, texts)
    return {name: weights_of(layer, active[name]).argsort()[:count] for name, layer in layers.items()}


def shares(model: Transformer, rows: Sequence[int], old: dict[str, Tensor], new: int, settings: Settings) -> Shares:
    """Parameter -> the learning rate of each element as a share of that of the new neurons. Parameters that stay are
    left out."""
    table = model.embedding.weight
    of_rows = torch.zeros(len(table), 1)
    of_rows[list(rows)] = settings.row_rate / settings.rate
    found: Shares = {table: of_rows}
    for name, layer in feed_forwards(model).items():
        share = torch.zeros(layer.inner.out_features)
        share[old[name]] = settings.old_rate / settings.rate
        share[len(share) - new :] = 1.0
        found |= {layer.inner.weight: share[:, None], layer.inner.bias: share, layer.outer.weight: share}
    return found


def taught(rng: random.Random, pairs: Sequence[Pair], named: Sequence[Pair]) -> Pair:
    """A pair to learn: with signs, with a clock time, or with a name nobody has, so that copying names does not suffer.

    named: pairs with a name to replace."""
    draw = rng.random()
    if draw < CLOCK:
        return clock_time(rng)
    if draw < CLOCK + NAMES:
        if rng.random() < 0.2:
            return copied(rng, pairs)
        return other_town(other_name(rng.choice(named), pairs, rng), pairs, rng)
    return symbols(rng, functools.partial(name_part, rng, pairs), pairs)


def kept(rng: random.Random, pairs: Sequence[Pair], unseen: Sequence[Pair], count: int) -> list[Pair]:
    """Pairs of the text and unseen ones, varied as in the training of the model."""
    others = round(UNSEEN * count) if unseen else 0
    drawn = [*rng.choices(pairs, k=count - others), *(rng.choices(unseen, k=others) if others else ())]
    return TYPED.apply(drawn, rng.randrange(1 << 32), pairs)


def divergence(before: Tensor, after: Tensor) -> Tensor:
    """KL(before || after) of logits [token, vocab], mean over tokens, in nats."""
    return F.kl_div(after.log_softmax(-1), before.log_softmax(-1), reduction="batchmean", log_target=True)


def rate_at(place: float) -> float:
    """The learning rate at a place of the run from 0 to 1, as a share: a rise, then half a cosine to a hundredth."""
    if place < WARMUP:
        return place / WARMUP
    return 0.01 + 0.99 * (1 + math.cos(math.pi * (place - WARMUP) / (1 - WARMUP))) / 2


class Teaching:
    """The model at the beginning (`before`), the model that learns, and its optimiser."""

    def __init__(
        self,
        start: Pretrained,
        pairs: Sequence[Pair],
        unseen: Sequence[Pair],
        settings: Settings,
        on: Transformer | None = None,
    ) -> None:
        """on: what a run of the same kind has made of the model; else it gets NEW neurons."""
        self.start, self.pairs, self.unseen, self.settings = start, pairs, unseen, settings
        self.named = [pair for pair in pairs if other_name(pair, pairs, random.Random(1)) != pair]
        self.before = copy.deepcopy(start.model).eval().requires_grad_(False)
        wide = widened(self.before, NEW, seed=1) if on is None else copy.deepcopy(on).eval()
        self.model, new = wide.requires_grad_(False), wide.config.d_ff - start.config.d_ff
        texts = self.batches(kept(random.Random(1), pairs, unseen, MEASURED), KEPT_TOKENS, 1)
        old = least_used(self.before, texts, settings.old)
        self.shares = shares(self.model, rare_signs(start, pairs), old, new, settings)
        self.optimizer = torch.optim.Adam([p.requires_grad_(True) for p in self.shares], betas=(0.9, 0.98))
        self.active: list[Tensor] = []  # mean activation of the new neurons of each layer in the last pass
        for layer in feed_forwards(self.model).values():
            layer.inner.register_forward_hook(
                lambda _layer, _given, out: self.active.append(out[..., -new:].relu().float().mean())
            )

    def batches(self, pairs: Sequence[Pair], tokens: int, seed: int) -> list[Batch]:
        encode = self.start.tokenizer.encode
        ids = [(s, t) for s, t in ((encode(source), encode(target)) for source, target in pairs) if s and t]
        order = bucket([(len(s) + 1, len(t) + 1) for s, t in ids], tokens, np.random.default_rng(seed))
        return [make_batch([ids[i][0] for i in rows], [ids[i][1] for i in rows], self.model.config) for rows in order]

    def logits(self, model: Transformer, batch: Batch) -> Tensor:
        """Of the tokens that are not padding: [token, vocab]."""
        with torch.autocast("cpu", torch.bfloat16):
            hidden = model.decode(batch.target_in, model.encode(batch.source), batch.source)
            return F.linear(hidden[batch.target_out != model.config.pad_id], model.output_table).float()

    def update(self, lesson: Batch, text: Batch, rate: float) -> tuple[float, float, float]:
        """One step of Adam; cross-entropy, divergence (nats a token) and activation before it."""
        wanted = lesson.target_out[lesson.target_out != self.model.config.pad_id]
        learned = F.cross_entropy(self.logits(self.model, lesson), wanted)
        learned.backward()
        with torch.no_grad():
            target = self.logits(self.before, text)
        self.active.clear()
        apart = divergence(target, self.logits(self.model, text))
        active = torch.stack(self.active).mean()
        (KEEP * apart + SILENT * active).backward()
        with torch.no_grad():
            for parameter, share in self.shares.items():
                assert parameter.grad is not None
                parameter.grad *= share > 0
            neurons = [parameter for parameter in self.shares if parameter is not self.model.embedding.weight]
            nn.utils.clip_grad_norm_(neurons, 1.0)
            was = [parameter.detach().clone() for parameter in self.shares]
            self.optimizer.param_groups[0]["lr"] = self.settings.rate * rate
            self.optimizer.step()
            self.optimizer.zero_grad()
            for old, (parameter, share) in zip(was, self.shares.items(), strict=True):
                parameter.copy_(torch.lerp(old, parameter, share.expand_as(parameter)))
        return learned.item(), apart.item(), active.item()

    def state(self) -> dict[str, Tensor]:
        """A copy of the weights, by name."""
        return {name: parameter.detach().clone() for name, parameter in self.model.named_parameters()}

    @torch.no_grad()
    def put_mean(self, states: Sequence[dict[str, Tensor]]) -> None:
        """Give the model the mean of these weights."""
        for name, parameter in self.model.named_parameters():
            parameter.copy_(torch.stack([state[name] for state in states]).mean(0))

    def drawn(self, seed: int) -> Iterator[tuple[Batch, Batch]]:
        """Batches to learn and to keep, without end."""
        for turn in range(seed, sys.maxsize):
            rng = random.Random(turn)
            lessons = [taught(rng, self.pairs, self.named) for _ in range(LESSONS)]
            texts = kept(rng, self.pairs, self.unseen, TEXTS)
            yield from zip(
                self.batches(lessons, self.settings.tokens, turn), self.batches(texts, KEPT_TOKENS, turn), strict=False
            )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("start", metavar="CHECKPOINT")
    parser.add_argument("text", type=Path, help="pairs, as python -m recipes.en_de writes them")
    parser.add_argument("folder", type=Path, help="where the checkpoint is written")
    parser.add_argument("--unseen", type=Path, nargs="+", default=[], metavar="FILE", help="pairs that it never saw")
    parser.add_argument("--on", metavar="CHECKPOINT", help="of an earlier run: go on from there")
    for field in dataclasses.fields(Settings):
        name = "--" + field.name.replace("_", "-")
        parser.add_argument(name, type=type(field.default), default=field.default, metavar="NUMBER")
    options = parser.parse_args(arguments)
    settings = Settings(**{field.name: getattr(options, field.name) for field in dataclasses.fields(Settings)})
    start, unseen = load(options.start), [pair for file in options.unseen for pair in read_pairs(file)]
    if not isinstance(start.tokenizer, Tokenizer):
        raise DataError("{name} has the tokenizer of another project", name=start.name)
    run = Teaching(start, read_pairs(options.text), unseen, settings, load(options.on).model if options.on else None)
    states: deque[dict[str, Tensor]] = deque(maxlen=AVERAGED)
    batches = zip(range(1, settings.updates + 1), run.drawn(settings.seed), strict=False)
    for number, (lesson, text) in batches:
        losses = run.update(lesson, text, rate_at((number - 1) / settings.updates))
        if number % 20 == 0:
            print(f"{number}: learned %.4f, kept %.5f, active %.5f" % losses, flush=True)
        if number % EVERY == 0 or number == settings.updates:
            states.append(run.state())
    run.put_mean(states)
    save_checkpoint(options.folder, run.model, start.tokenizer, start.languages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
