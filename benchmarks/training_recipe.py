"""What warm-up and label smoothing do to a small model: the runs that the page Training recipe shows.

    python -m benchmarks.training_recipe --output runs/training-recipe

Trains recipes/table3/base.toml with three seeds for every warm-up, at a rate that needs one, and for every smoothing.
Existing models are not trained again. Writes pages/recipe/recorded.json.
"""

import argparse
import csv
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from transformer.__main__ import main as run_command
from transformer.files import write_whole
from transformer.inference.pretrained import Pretrained, load
from transformer.text.batching import bucket, make_batch
from transformer.training.data import Pair
from transformer.training.evaluation import evaluate
from transformer.training.recipe import read_recipe, task_of
from transformer.training.tasks import unseen_pairs

ROOT = Path(__file__).resolve().parents[1]
RECIPE = ROOT / "recipes" / "table3" / "base.toml"
RECORDED = ROOT / "pages" / "recipe" / "recorded.json"
SEEDS = (1, 2, 3)
PEAK = 0.006  # three times the recipe's: without a warm-up it does harm
WARMUPS = (0, 30, 300, 900)  # of 1,000 steps
SMOOTHINGS = (0.0, 0.1, 0.2)
EVERY = 50  # steps between two points of a loss curve
BINS = 10  # of the calibration curve
INPUTS = 2_000  # unseen ones that the smoothed models are scored on


def train(name: str, seed: int, settings: Mapping[str, Any], folder: Path) -> Path:
    """The folder of a finished run."""
    run = folder / f"{name}-{seed}"
    if not (run / "checkpoint" / "model.safetensors").is_file():
        values = {**settings, "seed": seed, "validate_every": EVERY, "validation_sentences": 0}
        changes = [f"training.{key}={str(value).lower()}" for key, value in values.items()]
        command = ["train", "--recipe", str(RECIPE), "--output", str(run), "--set", *changes]
        if run_command(command):
            raise RuntimeError(f"{name}, seed {seed}: the training failed")
    return run


def curve(run: Path) -> dict[str, list[float]]:
    """Steps, learning rates and validation losses of a run."""
    with (run / "training.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        "step": [int(row["step"]) for row in rows],
        "rate": [float(f"{float(row['learning_rate']):.4g}") for row in rows],
        "loss": [round(float(row["validation_loss"]), 4) for row in rows],
    }


@torch.inference_mode()
def calibration(model: Pretrained, pairs: list[Pair]) -> dict[str, Any]:
    """Token accuracy under teacher forcing, and for ten bins of the largest probability its mean, the share of right
    tokens and their number."""
    numbered = [(model.tokenizer.encode(source), model.tokenizer.encode(target)) for source, target in pairs]
    confident, right = [], []
    for rows in bucket([(len(s) + 1, len(t) + 1) for s, t in numbered], 3000, None):
        batch = make_batch([numbered[i][0] for i in rows], [numbered[i][1] for i in rows], model.config)
        real = batch.target_out != model.config.pad_id
        logits = model.model.project(model.hidden(batch.source, batch.target_in)[real]).float()
        best = logits.softmax(-1).max(-1)
        confident.append(best.values)
        right.append(best.indices == batch.target_out[real])
    confidence, hits = torch.cat(confident), torch.cat(right).float()
    bins = (confidence * BINS).long().clamp(max=BINS - 1)
    return {
        "accuracy": round(hits.mean().item(), 5),
        "confidence": round(confidence.mean().item(), 5),
        "bins": [
            [
                round(confidence[bins == b].mean().item(), 4),
                round(hits[bins == b].mean().item(), 4),
                int((bins == b).sum()),
            ]
            for b in range(BINS)
            if (bins == b).any()
        ],
    }


def scores_of(run: Path, pairs: list[Pair]) -> dict[str, Any]:
    model = load(run / "checkpoint")
    scores = evaluate(model, pairs)
    return {"perplexity": round(scores.perplexity, 5), "exact": scores.exact, **calibration(model, pairs)}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training_recipe", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "training-recipe", metavar="FOLDER")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    task = task_of(read_recipe(RECIPE))
    assert task is not None
    pairs = unseen_pairs(task, tuple(task["lengths"]))[:INPUTS]
    found: dict[str, Any] = {"seeds": SEEDS, "peak": PEAK, "inputs": len(pairs), "warmup": {}, "smoothing": {}}
    for warmup in WARMUPS:
        settings = {"peak_rate": PEAK, "warmup": max(1, warmup), "ramp": bool(warmup)}
        if not warmup:
            settings["warmup"] = 300  # only the ramp goes; after it the rate falls as in the recipe
        runs = [curve(train(f"warmup-{warmup}", seed, settings, options.output)) for seed in SEEDS]
        found["warmup"][str(warmup)] = {**runs[0], "loss": [run["loss"] for run in runs]}
        print(f"warm-up {warmup}: last losses {[run['loss'][-1] for run in runs]}", flush=True)
    for epsilon in SMOOTHINGS:
        runs = [
            scores_of(train(f"smoothing-{epsilon}", seed, {"smoothing": epsilon}, options.output), pairs)
            for seed in SEEDS
        ]
        found["smoothing"][str(epsilon)] = runs
        print(
            f"smoothing {epsilon}: {[(one['perplexity'], one['exact'], one['accuracy']) for one in runs]}", flush=True
        )
    write_whole(RECORDED, (json.dumps(found, indent=1) + "\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
