"""The paper's Table 3 in miniature: train every recipe of recipes/table3 with three seeds.

    python -m benchmarks.table3 --output runs/table3 --workers 2

Existing models are not trained again, so you can stop it and continue later. `make docs` puts the numbers into
docs/table3.md.
"""

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import torch

from benchmarks.report import spread
from transformer.__main__ import main as transformer
from transformer.files import write_whole

ROOT = Path(__file__).resolve().parents[1]
RECIPES = ROOT / "recipes" / "table3"
NUMBERS = ROOT / "pages" / "components" / "table3.json"  # the Lab shows them
SEEDS = (1, 2, 3)

# recipe: what it changes, and what the paper (Table 3, newstest2013, base 25.8 BLEU) or another source says of it
ROWS = {
    "base": ("4 heads, post-norm, ReLU, sinusoidal positions, warm-up, label smoothing 0.1", "base 25.8"),
    "heads-1": ("1 head of 64", "(A) 1 head 24.9, 8 heads 25.8"),
    "heads-8": ("8 heads of 8", "(A) 32 heads of 16 instead of 8 of 64: 25.4"),
    "d_k-4": ("queries and keys 4 wide instead of 16", "(B) d_k 16 instead of 64: 25.1"),
    "positions-learned": ("learned positions", "(E) 25.7"),
    "positions-none": ("no positions", "not in the table; section 3.5: order would be unknown"),
    "no-scaling": ("scores not divided by √d_k", "not in the table; section 3.2.1: softmax saturates"),
    "no-warmup": ("the rate at its peak from the first step", "not in the table"),
    "gelu": ("GELU instead of ReLU", "not in the table"),
    "pre-norm": ("LayerNorm before each sub-layer", "not in the table; the authors' later code has it"),
    "no-smoothing": ("label smoothing off", "(D) 25.3 without, 25.8 with 0.1"),
    "dropout": ("dropout 0.1 instead of none", "(D) none 24.6, 0.1 25.8"),
    "gain": ("gain 0.5 on initial sub-layers", "not in the table; DeepNet's beta"),
}


@dataclass(frozen=True)
class Found:
    """One trained model: share of unseen inputs reversed exactly, perplexity of a target token."""

    exact: float
    perplexity: float


def train(name: str, seed: int, folder: Path) -> Found:
    """Train and score one recipe with one seed, on one thread, unless its scores are there."""
    run, scores = folder / f"{name}-{seed}", folder / f"{name}-{seed}.json"
    recipe = RECIPES / f"{name}.toml"
    if not scores.is_file():
        torch.set_num_threads(1)
        for command in (
            ["train", "--recipe", str(recipe), "--seed", str(seed), "--output", str(run)],
            ["evaluate", "--checkpoint", str(run / "checkpoint"), "--recipe", str(recipe), "--json", str(scores)],
        ):
            if transformer(command):
                raise RuntimeError(f"{name}, seed {seed}: {command[0]} failed")
    found = json.loads(scores.read_text(encoding="utf-8"))
    return Found(found["exact"], found["perplexity"])


def table(found: dict[str, list[Found]]) -> str:
    """The rows as Markdown, the base first."""
    lines = ["| recipe | what differs | exact, % | perplexity | the paper |", "|---|---|---|---|---|"]
    for name, (what, paper) in ROWS.items():
        if name in found:
            exact = spread([one.exact for one in found[name]], ".1f", 100)
            perplexity = spread([one.perplexity for one in found[name]], ".3f")
            lines.append(f"| `{name}` | {what} | {exact} | {perplexity} | {paper} |")
    return "\n".join(lines)


def store(found: dict[str, list[Found]]) -> None:
    """The numbers into table3.json, which the app reads."""
    plain = {
        name: {
            "what": ROWS[name][0], "paper": ROWS[name][1],
            "exact": [round(one.exact, 5) for one in runs], "perplexity": [round(one.perplexity, 5) for one in runs],
        }
        for name, runs in found.items()
    }  # fmt: skip
    text = json.dumps({"seeds": SEEDS, "rows": plain}, indent=1, ensure_ascii=False)
    write_whole(NUMBERS, f"{text}\n".encode())


def stored() -> dict[str, list[Found]]:
    """The numbers in table3.json."""
    kept = json.loads(NUMBERS.read_text(encoding="utf-8"))["rows"]
    return {name: list(map(Found, row["exact"], row["perplexity"])) for name, row in kept.items()}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table3", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "table3", metavar="FOLDER")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="trainings side by side, a process each")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    jobs = [(name, seed) for seed in SEEDS for name in ROWS]
    found: dict[str, list[Found]] = {name: [] for name in ROWS}
    with ProcessPoolExecutor(options.workers) as pool:
        results = pool.map(train, *zip(*jobs, strict=True), repeat(options.output))
        for (name, seed), one in zip(jobs, results, strict=True):
            print(f"{name}, seed {seed}: exact {one.exact:.4f}, perplexity {one.perplexity:.4f}", flush=True)
            found[name].append(one)
    store(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
