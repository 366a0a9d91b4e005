"""An experiment as a recipe of `python -m transformer train`, which the Training page and the command line both use."""

import json
from typing import Any

from transformer.live_training.experiment import Experiment
from transformer.training.data import Pair

RECIPE, PAIRS, UNSEEN = "recipe.toml", "pairs.tsv", "validation.tsv"  # the last two: files of the viewer's own pairs
LANGUAGES = {
    "copy": ("symbols", "copied"),
    "reverse": ("symbols", "reversed"),
    "sort": ("symbols", "sorted"),
    "own": ("input", "answer"),
}
RAMP = 100  # step at which the rate begins to fall without a warm-up, as with the default one
VALIDATIONS = 10  # entries of training.csv


def languages(experiment: Experiment) -> tuple[str, str]:
    """The names of the two sides in the app."""
    return LANGUAGES.get(experiment.task) or ("symbols", f"shifted by {experiment.shift}")


def _data(experiment: Experiment) -> dict[str, Any]:
    spoken = list(languages(experiment))
    if experiment.task == "own":
        return {"train": PAIRS, "validation": UNSEEN, "languages": spoken}
    shift = {"shift": experiment.shift} if experiment.task == "shift" else {}
    return {
        "task": experiment.task,
        "alphabet": experiment.symbols,
        **shift,
        "count": experiment.drawn,
        "held_out": experiment.held_out,
        "lengths": [experiment.shortest, experiment.longest],
        "seed": experiment.seed,
        "languages": spoken,
    }


def recipe_table(experiment: Experiment) -> dict[str, dict[str, Any]]:
    """The sections of the recipe, as `training.recipe.read_recipe` reads them."""
    width = {} if experiment.d_k is None else {"d_k": experiment.d_k}
    return {
        "data": _data(experiment),
        "tokenizer": {"kind": "symbol", "vocab_size": experiment.vocabulary},
        "model": {
            "preset": "tiny",
            "encoder_layers": experiment.layers,
            "decoder_layers": experiment.layers,
            "heads": experiment.heads,
            "d_model": experiment.d_model,
            "d_ff": experiment.d_ff,
            **width,
            "scaling": experiment.scaling,
            "causal": experiment.causal,
            "positions": experiment.positions,
            "residual": experiment.residual,
            "norm": experiment.norm,
            "activation": experiment.activation,
            "dropout": experiment.dropout,
            "max_positions": experiment.max_positions,
        },
        "training": {
            "steps": experiment.steps,
            "batch_tokens": experiment.batch * (1 + max(experiment.lengths)),
            "peak_rate": experiment.peak_rate,
            "warmup": experiment.warmup or RAMP,
            "ramp": experiment.warmup > 0,
            "cooldown": experiment.cooldown,
            "smoothing": experiment.smoothing,
            "average": 1,
            "save_every": experiment.steps,
            "validate_every": max(1, experiment.steps // VALIDATIONS),
            "validation_sentences": 0,
            "fused": True,
            "seed": experiment.seed,
        },
    }


def recipe_text(experiment: Experiment) -> str:
    """The recipe as TOML: on one thread, `python -m transformer train --recipe` gives the same weights, bit for bit.
    Own pairs are in separate files, see `recipe_files`."""
    needs = f", in a folder with {PAIRS} and {UNSEEN}" if experiment.task == "own" else ""
    lines = [
        f"# Trained on the Training page of Headscope. The same weights, bit for bit, on one thread{needs}:",
        "#     OMP_NUM_THREADS=1 python -m transformer train --recipe recipe.toml --output run",
    ]
    for name, values in recipe_table(experiment).items():
        lines += ["", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def _lines(pairs: list[Pair]) -> bytes:
    return "".join(f"{source}\t{target}\n" for source, target in pairs).encode()


def recipe_files(experiment: Experiment) -> dict[str, bytes]:
    """The recipe, and the files of own pairs that it names."""
    files = {RECIPE: recipe_text(experiment).encode()}
    if experiment.task == "own":
        train, unseen = experiment.divided
        files |= {PAIRS: _lines(train), UNSEEN: _lines(unseen)}
    return files
