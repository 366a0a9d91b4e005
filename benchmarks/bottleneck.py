"""What attention removed: models with and without it on inputs of growing length (Anatomy, Before the Transformer).

    python -m benchmarks.bottleneck --output runs/bottleneck

Trains the recurrent model without attention, the recurrent model with it and the Transformer on the task of
recipes/reverse.toml with three seeds each: the same batches, loss, updates and rates for all. Models that are there
already are not trained again. Writes pages/anatomy/recorded.json, the share of unseen inputs written backwards without
an error, by length, and transformer/rnn/checkpoints/reverse-no-attention, the first seed.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer import rnn
from transformer.checkpoints.folder import ARCHITECTURE, WEIGHTS, save_checkpoint
from transformer.files import write_whole
from transformer.inference.pretrained import load
from transformer.inference.search import greedy
from transformer.model.config import preset
from transformer.model.transformer import Transformer
from transformer.rnn import RecurrentConfig, RecurrentModel
from transformer.rnn.decoding import greedy as recurrent_greedy
from transformer.rnn.pretrained import ARCHITECTURE as RECURRENT
from transformer.rnn.pretrained import BUNDLED
from transformer.text.batching import Batch, bucket, make_batch, pad
from transformer.text.tokenizer import Tokenizer
from transformer.training.adam import Adam
from transformer.training.data import Pair
from transformer.training.loss import label_smoothed_loss
from transformer.training.recipe import read_recipe, task_of
from transformer.training.schedule import learning_rate
from transformer.training.tasks import training_pairs, unseen_pairs

ROOT = Path(__file__).resolve().parents[1]
RECIPE = ROOT / "recipes" / "reverse.toml"
NUMBERS = ROOT / "pages" / "anatomy" / "recorded.json"
CHECKPOINT = "reverse-no-attention"
SEEDS = (1, 2, 3)
LENGTHS = tuple(range(4, 25, 2))  # of the inputs that are written; training has 1 to 16, and all of 1 and 2
INPUTS = 200  # of each length
SMOOTHING, CLIP = 0.1, 1.0
LANGUAGES = ("letters", "reversed")
KINDS = ("no-attention", "attention", "transformer")
Model = Transformer | RecurrentModel


def build(kind: str, vocab_size: int, values: Mapping[str, Any]) -> Model:
    if kind == "transformer":
        return Transformer(preset(values["preset"], vocab_size, dropout=0.0, max_positions=values["max_positions"]))
    attention = kind == "attention"
    return RecurrentModel(RecurrentConfig(vocab_size, attention=attention, max_positions=values["max_positions"]))


def batches(pairs: list[tuple[list[int], list[int]]], tokens: int, seed: int, config: Any) -> Iterator[Batch]:
    """Endless batches of pairs of like length, in a new order every time; the same ones for every model."""
    lengths, epoch = [(len(source) + 1, len(target) + 1) for source, target in pairs], 0
    while True:
        for rows in bucket(lengths, tokens, np.random.default_rng((seed, epoch))):
            yield make_batch([pairs[i][0] for i in rows], [pairs[i][1] for i in rows], config)
        epoch += 1


def train(model: Model, pairs: list[tuple[list[int], list[int]]], settings: Mapping[str, Any], seed: int) -> float:
    """Train in place. Returns the mean smoothed loss of a token in the last 100 steps."""
    optimizer, last = Adam(model.parameters()), []
    steps, pad_id = settings["steps"], model.config.pad_id
    for step, batch in enumerate(batches(pairs, settings["batch_tokens"], seed, model.config), 1):
        real = batch.target_out != pad_id
        loss = label_smoothed_loss(model(batch.source, batch.target_in)[real], batch.target_out[real], SMOOTHING)
        loss = loss / int(real.sum())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(optimizer.parameters, CLIP)
        rate = learning_rate(step, settings["peak_rate"], settings["warmup"], steps, settings["cooldown"])
        optimizer.step(rate)
        model.zero_grad(set_to_none=True)
        last = [*last[-99:], loss.item()]
        if step == steps:
            break
    return sum(last) / len(last)


def written(model: Model, source: Tensor, limit: int) -> list[tuple[int, ...]]:
    """Greedy outputs, ids with </s>."""
    search = greedy if isinstance(model, Transformer) else recurrent_greedy
    return [hypothesis.ids for hypothesis in search(model, source, limit)]


@torch.inference_mode()
def exact(model: Model, tokenizer: Tokenizer, pairs: list[Pair]) -> float:
    """Share of pairs whose whole output is right."""
    end = model.config.end_id
    source = pad([[*tokenizer.encode(text), end] for text, _ in pairs], model.config.pad_id)
    right = [(*tokenizer.encode(text), end) for _, text in pairs]
    outputs = written(model, source, model.config.max_positions)
    return sum(ids == wanted for ids, wanted in zip(outputs, right, strict=True)) / len(pairs)


def save(path: Path, model: Model, tokenizer: Tokenizer) -> None:
    architecture = ARCHITECTURE if isinstance(model, Transformer) else RECURRENT
    save_checkpoint(path, model, tokenizer, LANGUAGES, torch.float32, architecture)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bottleneck", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bottleneck", metavar="FOLDER")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    recipe = read_recipe(RECIPE)
    task, settings = task_of(recipe), recipe["training"]
    assert task is not None
    pairs, _ = training_pairs(task)
    tokenizer = Tokenizer.train((text for pair in pairs for text in pair), 8000, "char")
    numbered = [(tokenizer.encode(source), tokenizer.encode(target)) for source, target in pairs]
    tests = {length: unseen_pairs(task, (length, length), INPUTS) for length in LENGTHS}
    found: dict[str, Any] = {"seeds": SEEDS, "inputs": INPUTS, "lengths": LENGTHS, "trained": task["lengths"][1]}
    for kind in KINDS:
        found[kind] = {"exact": []}
        for seed in SEEDS:
            path = options.output / f"{kind}-{seed}"
            if not (path / WEIGHTS).is_file():
                torch.manual_seed(seed)
                model, start = build(kind, len(tokenizer), recipe["model"]), time.process_time()
                loss = train(model.train(), numbered, settings, seed)
                save(path, model, tokenizer)
                print(f"{kind}, seed {seed}: loss {loss:.4f}, {time.process_time() - start:.0f} s of CPU", flush=True)
            model = (load if kind == "transformer" else rnn.load)(path).model
            shares = [exact(model, tokenizer, tests[length]) for length in LENGTHS]
            print(f"{kind}, seed {seed}: {dict(zip(LENGTHS, shares, strict=True))}", flush=True)
            found[kind]["exact"].append(shares)
            found[kind]["parameters"] = model.parameter_count()
            if kind == KINDS[0] and seed == SEEDS[0]:
                save(BUNDLED / CHECKPOINT, model, tokenizer)
    write_whole(NUMBERS, (json.dumps(found, indent=1) + "\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
