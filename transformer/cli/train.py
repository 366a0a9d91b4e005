"""Train a model from parallel text; a run that was interrupted goes on where it stopped.

To go on, give --output alone: the folder remembers the data and every option.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import sys
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from transformer.cli.common import CommandError, add_device, add_recipe, find_device, positive, recipe_of, whole
from transformer.cli.run_folder import Plan, open_run
from transformer.model.config import ACTIVATIONS, NORMS, POSITIONS, PRESETS, ModelConfig
from transformer.text.tokenizer import TOKENIZER_KINDS
from transformer.texts import _
from transformer.training.augmentation import Augmentation
from transformer.training.loop import Trainer
from transformer.training.parallel import join, leave
from transformer.training.preparation import PREPARATIONS
from transformer.training.recipe import MODEL_FIELDS, Table, files_of, task_of
from transformer.training.settings import Progress, Settings

SHARES = tuple(field.name for field in dataclasses.fields(Augmentation))
SETTINGS_HELP = {
    "steps": "updates in all",
    "batch_tokens": "padded tokens a side in a batch",
    "peak_rate": "largest learning rate (default: the paper's, d_model^-0.5 * warmup^-0.5)",
    "warmup": "steps until the largest learning rate",
    "ramp": "whether the rate rises over the warm-up; off: it is at its largest from the first step (default on)",
    "cooldown": "last steps, over which the rate falls to zero",
    "gain": "factor on the initial value, output and feed-forward matrices; below 1 wakes cross-attention sooner",
    "smoothing": "label smoothing",
    "clip": "largest norm of the gradient, 0: no clipping",
    "augmentation": f"shares of pairs to vary: {', '.join(SHARES)} (default none)",
    "sampling": "alpha of subword regularisation, 0: always the best segmentation",
    "precision": "of the matrix products outside attention",
    "average": "how many of the last saved states make the final weights",
    "save_every": "steps between saved states",
    "validate_every": "steps between validations",
    "validation_sentences": "sources translated for the validation BLEU, 0: none",
    "snapshots": "how many log-spaced states of the weights to keep for looking at training",
    "fused": "attention by PyTorch's fused kernel, the same up to rounding and faster (default off)",
    "seed": "of the initial weights, the order of the batches and dropout",
}
INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl+C
CHOICES = {
    "precision": ("float32", "bfloat16"), "activation": ACTIVATIONS, "norm": NORMS, "positions": POSITIONS,
}  # fmt: skip


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="the run; resumed if it exists")
    add_recipe(parser, "a TOML file with values for all options below; options win")
    add_device(parser)
    parser.add_argument("--export", type=Path, metavar="FOLDER", help="final checkpoint (default OUTPUT/checkpoint)")
    data = parser.add_argument_group("data", "tab-separated lines SOURCE<tab>TARGET, or paired files; .gz is unpacked")
    data.add_argument("--data", type=Path, metavar="FILE", help="training pairs, tab-separated")
    data.add_argument("--source", type=Path, metavar="FILE", help="training sources, one a line")
    data.add_argument("--target", type=Path, metavar="FILE", help="training targets, one a line")
    data.add_argument(
        "--validation", type=Path, nargs="+", metavar="FILE", help="one tab-separated file, or two paired files"
    )
    data.add_argument(
        "--languages", nargs=2, metavar=("FROM", "TO"), help="names that the app shows, e.g. English German"
    )
    data.add_argument("--preparation", choices=PREPARATIONS, help="of all text, before the tokenizer (default none)")
    data.add_argument("--codes", nargs=2, metavar=("FROM", "TO"), help="language codes, for --preparation, e.g. en de")
    data.add_argument("--tokenizer", choices=TOKENIZER_KINDS, help="kind of vocabulary (default unigram)")
    model = parser.add_argument_group("model", "a preset, and changes to it; d_model and the like are the paper's")
    model.add_argument("--preset", choices=list(PRESETS), help="sizes to start from (default small)")
    model.add_argument("--vocab-size", type=whole(5, 1_000_000), metavar="N", help="pieces (default 8000)")
    fields = {field.name: field for field in dataclasses.fields(ModelConfig)}
    for name in MODEL_FIELDS:
        default: object = fields[name].default
        if default is None or isinstance(default, bool):
            default = {None: "d_model / heads", True: "on", False: "off"}[default]
        note = "the preset's" if name in PRESETS["small"] else default
        _option(model, name, fields[name].default, f"(default {note})")
    training = parser.add_argument_group("training", "defaults are the paper's where it says one")
    for field in dataclasses.fields(Settings):
        if field.name == "augmentation":
            training.add_argument(
                "--augmentation", type=share, nargs="+", metavar="NAME=SHARE", help=SETTINGS_HELP["augmentation"]
            )
            continue
        text = SETTINGS_HELP[field.name]
        _option(training, field.name, field.default, text if "default" in text else f"{text} (default {field.default})")


def _option(group: Any, name: str, default: Any, text: str) -> None:
    """One option --some-name. Its argparse default is None: only what a person gave may contradict a saved run."""
    kinds: dict[type, Any] = {int: whole(0), float: positive, str: str, bool: switch, type(None): positive}
    kind = whole(1) if name == "d_k" else kinds[type(default)]
    choices = CHOICES.get(name)
    group.add_argument(
        f"--{name.replace('_', '-')}",
        type=kind,
        choices=choices,
        metavar=None if choices else "on|off" if type(default) is bool else "X" if kind is positive else "N",
        help=text,
    )


def switch(text: str) -> bool:
    """An argparse type: on or off."""
    if text not in ("on", "off"):
        raise argparse.ArgumentTypeError(_("{text} arrived; on and off are allowed", text=shown(text)))
    return text == "on"


def share(text: str) -> tuple[str, float]:
    """An argparse type: NAME=SHARE of the augmentation."""
    name, _equals, value = text.partition("=")
    try:
        number = float(value)
        Augmentation(**{name: number})
    except (ValueError, TypeError):
        raise argparse.ArgumentTypeError(
            _(
                "{text} arrived; NAME=SHARE is allowed, with one of {shares} and a number from 0 to 1",
                text=shown(text),
                shares=", ".join(SHARES),
            )
        ) from None
    return name, number


def from_recipe(recipe: Table) -> Plan:
    """What a recipe asks for. Raises DataError."""
    data, tokenizer = recipe.get("data", {}), recipe.get("tokenizer", {})
    model, training = dict(recipe.get("model", {})), recipe.get("training", {})
    return Plan(
        data=files_of(recipe, "train"),
        task=task_of(recipe),
        validation=files_of(recipe, "validation"),
        languages=tuple(data["languages"]) if "languages" in data else None,
        codes=tuple(data["codes"]) if "codes" in data else None,
        preparation=data.get("preparation"),
        tokenizer=tokenizer.get("kind"),
        vocab_size=tokenizer.get("vocab_size"),
        preset=model.pop("preset", None),
        model=model,
        settings=dict(training),
    )


def plan(options: argparse.Namespace) -> Plan:
    """What was asked for on the command line and, behind it, in the recipe; what was in neither is left to the saved
    run or the defaults."""
    given = vars(options)
    if (options.source is None) != (options.target is None):
        raise CommandError("--source and --target belong together; give both, or --data with a tab-separated file")
    if options.data and options.source:
        raise CommandError("--data and --source/--target both arrived; give one of them")
    files = [options.data] if options.data else [options.source, options.target] if options.source else None
    recipe = from_recipe(recipe_of(options))
    sizes = {name: given[name] for name in MODEL_FIELDS if given[name] is not None}
    settings = {name: given[name] for name in SETTINGS_HELP if given[name] is not None}
    if "augmentation" in settings:
        settings["augmentation"] = {**recipe.settings.get("augmentation", {}), **dict(settings["augmentation"])}
    said = {
        "data": files,
        "validation": options.validation,
        "languages": tuple(options.languages) if options.languages else None,
        "codes": tuple(options.codes) if options.codes else None,
        "preparation": options.preparation,
        "tokenizer": options.tokenizer,
        "preset": options.preset,
        "vocab_size": options.vocab_size,
    }
    return dataclasses.replace(
        recipe,
        **{name: value for name, value in said.items() if value is not None},
        model={**recipe.model, **sizes},
        settings={**recipe.settings, **settings},
    )


class Bar:
    """The progress bar: loss, tokens per second of training, time left; a line for every validation."""

    def __init__(self, trainer: Trainer) -> None:
        from tqdm import tqdm

        self.bar = tqdm(
            total=trainer.settings.steps,
            initial=trainer.step,
            unit="step",
            dynamic_ncols=True,
            mininterval=0.3 if sys.stderr.isatty() else 30,
            bar_format="{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}, {remaining} left{postfix}]",
        )
        self.seconds = trainer.seconds
        self.speed = self.loss = 0.0

    def update(self, entry: Progress) -> None:
        spent, self.seconds = entry.seconds - self.seconds, entry.seconds
        if entry.validation_loss is None:
            # Means that forget: a single batch says little. tokens of an entry with a validation are a sum of many.
            now = entry.tokens / max(spent, 1e-9)
            self.speed = 0.95 * self.speed + 0.05 * now if self.speed else now
            self.loss = 0.98 * self.loss + 0.02 * entry.loss if self.loss else entry.loss
        else:
            bleu = "" if entry.validation_bleu is None else f", BLEU {entry.validation_bleu:.2f}"
            self.bar.write(
                f"step {entry.step:,}: loss {entry.loss:.3f}, validation loss {entry.validation_loss:.3f}, "
                f"perplexity {entry.validation_perplexity:.2f}{bleu}",
                file=sys.stderr,
            )
        self.bar.set_postfix_str(f"loss {self.loss:.3f}, {self.speed:,.0f} tokens/s", refresh=False)
        self.bar.update()

    def close(self) -> None:
        self.bar.close()


def run(options: argparse.Namespace) -> int:
    if importlib.util.find_spec("tqdm") is None:
        raise CommandError("training needs tqdm; install the project with its extra [train]")
    asked = plan(options)
    device = find_device(options.device)
    workers = join(device)
    folder = options.export or options.output / "checkpoint"
    try:
        run = open_run(options.output, asked, device, workers)
        if workers.first:
            folder.mkdir(parents=True, exist_ok=True)  # said now, not after hours of training
        if not workers.first:
            return 0 if run.train(lambda entry: None) else INTERRUPTED
        for line in run.notes:
            print(line, file=sys.stderr)
        bar = Bar(run.trainer)
        try:
            finished = run.train(bar.update)
        finally:
            bar.close()
        if finished:
            run.trainer.export(folder)
    except OSError as error:
        where = error.filename or options.output
        raise CommandError(
            "{where} cannot be written: {reason}; make room there, or choose another --output (a run "
            "goes on from its last saved state)",
            where=where,
            reason=error.strerror or error,
        ) from error
    finally:
        leave()
    if not finished:
        print(
            f"stopped and saved at step {run.trainer.step:,}; resume with: "
            f"python -m transformer train --output {options.output}",
            file=sys.stderr,
        )
        return INTERRUPTED
    print(f"the checkpoint is in {folder}")
    return 0
