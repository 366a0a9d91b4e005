"""Train the model of Korean numbers further on long numbers in the spellings that it misses.

    python -m recipes.spellings ko-numbers runs/spellings

Five runs, each from what the one before wrote: the learning rate rises, then decays to zero. About half of the inputs
are drawn as in the training (`draw_text`), the others are numbers of 5 to 12 digits, most of them long, in the
spellings of the run; a share has a counter.
"""

import argparse
import copy
import dataclasses
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from transformer.checkpoints.folder import save_checkpoint
from transformer.inference.pretrained import Pretrained, load
from transformer.text.batching import bucket, make_batch
from transformer.text.numerals import draw_number, draw_text, mixture, other_form, spell
from transformer.text.tokenizer import Tokenizer
from transformer.training.adam import Adam
from transformer.training.data import DataError
from transformer.training.fused_loss import fused_label_smoothed_loss

TOKENS, DRAWN, SMOOTHING = 2000, 12_000, 0.1  # padded tokens a side in a batch; inputs drawn at once
WARMUP, DECAY = 0.04, 0.6  # shares of the updates


@dataclass(frozen=True)
class Run:
    """updates, rate: how many, and the largest learning rate; spellings: of long numbers, with weights; counted: the
    share of inputs with a counter, of `digits` digits; five: the share of numbers of five digits, named one by one or
    in words without a space; of these, `ending` end in 1, whose name, 일, is also the counter of days."""

    updates: int
    rate: float
    spellings: Mapping[str, float]
    counted: float = 0.0
    digits: Sequence[int] = ()
    five: float = 0.0
    ending: float = 0.0


MISSED = {"letters": 4, "zeros": 2, "named zeros": 2, "mixture": 10, "named": 0.5, "commas": 0.5}
RUNS = (
    Run(6000, 6e-4, {**MISSED, "letters": 6, "zeros": 3, "named zeros": 3, "mixture": 4}),
    Run(4000, 4e-4, MISSED, 0.03, (5,)),
    Run(2500, 3e-4, MISSED, 0.1, (5, 6, 9, 10, 11, 12, 12, 12)),
    Run(1500, 1.5e-4, MISSED, 0.08, (5, 6, 9, 10, 11, 12, 12, 12), 0.15),
    Run(800, 1e-4, MISSED, 0.08, (5, 6, 9, 10, 11, 12, 12, 12), 0.15, 0.7),
)


def draw(run: Run, rng: random.Random) -> str:
    """An input."""
    if rng.random() < run.five:
        number = rng.randrange(10_000, 100_000)
        if rng.random() < run.ending:
            number += 1 - number % 10
        return spell(number, rng.choice(("named", "named 영", "joined"))) or ""
    if rng.random() < run.counted:
        digits = rng.choice(run.digits)
        number = rng.randrange(10 ** (digits - 1), 10**digits)
        text = spell(number, rng.choice(("groups", "commas", "joined", "figures joined")), rng.choice("일일개명원년"))
        if text:
            return text
    if rng.random() < 0.55:
        return draw_text(rng.choices(range(1, 13), [1] * 10 + [2, 3])[0], rng)
    digits = rng.choices(range(5, 13), (1, 1, 1, 1, 2, 3, 5, 8))[0]
    number = draw_number(digits, rng) if rng.random() < 0.4 else rng.randrange(10 ** (digits - 1), 10**digits)
    (spelling,) = rng.choices(list(run.spellings), list(run.spellings.values()))
    text = mixture(number, rng) if spelling == "mixture" else spell(number, spelling)
    return text or draw_text(digits, rng)


def train(start: Pretrained, run: Run, seed: int) -> Pretrained:
    """The model after a run. It has no dropout."""
    model = copy.deepcopy(start.model).eval().requires_grad_(True)
    optimizer, rng, done = Adam(model.parameters()), random.Random(seed), 0
    while done < run.updates:
        texts = [draw(run, rng) for _ in range(DRAWN)]
        pairs = start.numbered_pairs([(text, other_form(text)) for text in texts])
        lengths = [(len(source) + 1, len(target) + 1) for source, target in pairs]
        for rows in bucket(lengths, TOKENS, np.random.default_rng(done))[: run.updates - done]:
            batch = make_batch([pairs[row][0] for row in rows], [pairs[row][1] for row in rows], model.config)
            inside = batch.target_out != model.config.pad_id
            hidden = model.decode(batch.target_in, model.encode(batch.source), batch.source)[inside]
            loss, _ = fused_label_smoothed_loss(
                hidden, model.output_table, batch.target_out[inside], SMOOTHING, torch.float32
            )
            (loss / len(hidden)).backward()
            torch.nn.utils.clip_grad_norm_(optimizer.parameters, 1.0)
            place = done / run.updates
            optimizer.step(run.rate * min(place / WARMUP, 1, (1 - place) / DECAY))
            optimizer.forget_gradients()
            done += 1
            if done % 500 == 0:
                print(f"{done} of {run.updates}: loss {loss.item() / len(hidden):.4f}", flush=True)
    return dataclasses.replace(start, model=model.requires_grad_(False))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("start", metavar="CHECKPOINT")
    parser.add_argument("folder", type=Path, help="where the checkpoint is written")
    options = parser.parse_args(arguments)
    model = load(options.start)
    tokenizer = model.tokenizer
    if not isinstance(tokenizer, Tokenizer):
        raise DataError("{name} has the tokenizer of another project", name=model.name)
    for seed, run in enumerate(RUNS, start=11):
        model = train(model, run, seed)
    save_checkpoint(options.folder, model.model, tokenizer, model.languages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
