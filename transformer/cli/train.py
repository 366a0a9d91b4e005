"""Train a model from parallel text. An interrupted run resumes where it stopped.

To resume, give only --output: the folder remembers the data and every option.
"""

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
from transformer.texts import N_, _, translate
from transformer.training.augmentation import Augmentation
from transformer.training.loop import Trainer
from transformer.training.parallel import join, leave
from transformer.training.preparation import PREPARATIONS
from transformer.training.recipe import MODEL_FIELDS, Table, files_of, task_of
from transformer.training.settings import Progress, Settings

SUMMARY = N_("Train a model from parallel text. An interrupted run resumes where it stopped.")
SHARES = tuple(field.name for field in dataclasses.fields(Augmentation))
SETTINGS_HELP = {
    "steps": N_("number of updates"),
    "batch_tokens": N_("padded tokens per side in a batch"),
    "peak_rate": N_("peak learning rate (default: the paper's, d_model^-0.5 * warmup^-0.5)"),
    "warmup": N_("steps of warm-up until the peak learning rate"),
    "ramp": N_("raise the rate during the warm-up; off: start at the peak (default on)"),
    "cooldown": N_("last steps, during which the rate falls to zero"),
    "gain": N_("factor on the initial value, output and feed-forward matrices; below 1, cross-attention forms sooner"),
    "smoothing": N_("label smoothing"),
    "clip": N_("largest norm of the gradient; 0: no clipping"),
    "augmentation": N_("shares of pairs to vary: {names} (default none)"),
    "sampling": N_(
        "alpha of subword regularisation, with BPE the share of merges left out; 0: always the best segmentation"
    ),
    "r_drop": N_("alpha of R-Drop, which passes every batch twice; 0: one pass"),
    "muon": N_("rate of the matrices of layers with Muon, as a multiple of the rate; 0: Adam"),
    "precision": N_("precision of the matrix products outside attention"),
    "average": N_("number of last saved states to average into the final weights"),
    "save_every": N_("steps between saved states"),
    "validate_every": N_("steps between validations"),
    "validation_sentences": N_("sources to translate for the validation BLEU; 0: none"),
    "snapshots": N_("number of log-spaced snapshots of the weights to keep"),
    "fused": N_("use PyTorch's fused attention kernel: the same up to rounding, and faster (default off)"),
    "seed": N_("seed of the initial weights, the order of the batches and dropout"),
}
INTERRUPTED = 130  # the exit status that shells give a program ended by Ctrl+C
CHOICES = {
    "precision": ("float32", "bfloat16"), "activation": ACTIVATIONS, "norm": NORMS, "positions": POSITIONS,
}  # fmt: skip


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help=_("folder of the run; an existing run resumes")
    )
    add_recipe(parser, _("TOML file with values for the options below; options on the command line win"))
    add_device(parser)
    parser.add_argument(
        "--export", type=Path, metavar="FOLDER", help=_("folder of the checkpoint (default OUTPUT/checkpoint)")
    )
    parser.add_argument(
        "--readers",
        type=whole(0, 64),
        default=0,
        metavar="N",
        help=_("processes that vary and number the text of coming epochs, for a fast GPU (default 0: none)"),
    )
    data = parser.add_argument_group(
        _("data"), _("tab-separated lines SOURCE<tab>TARGET, or paired files; .gz is allowed")
    )
    data.add_argument("--data", type=Path, metavar="FILE", help=_("training pairs, tab-separated"))
    data.add_argument("--source", type=Path, metavar="FILE", help=_("training sources, one per line"))
    data.add_argument("--target", type=Path, metavar="FILE", help=_("training targets, one per line"))
    data.add_argument(
        "--validation",
        type=Path,
        nargs="+",
        metavar="FILE",
        help=_("validation pairs: one tab-separated file, or two files"),
    )
    data.add_argument(
        "--languages", nargs=2, metavar=("FROM", "TO"), help=_("names to show in the app, e.g. English German")
    )
    data.add_argument(
        "--preparation", choices=PREPARATIONS, help=_("change all text before the tokenizer (default none)")
    )
    data.add_argument(
        "--codes", nargs=2, metavar=("FROM", "TO"), help=_("language codes for --preparation, e.g. en de")
    )
    data.add_argument("--tokenizer", choices=TOKENIZER_KINDS, help=_("kind of vocabulary (default unigram)"))
    model = parser.add_argument_group(_("model"), _("a preset, and changes to it; the names are those of the paper"))
    model.add_argument("--preset", choices=list(PRESETS), help=_("sizes to start from (default small)"))
    model.add_argument("--vocab-size", type=whole(5, 1_000_000), metavar="N", help=_("number of pieces (default 8000)"))
    fields = {field.name: field for field in dataclasses.fields(ModelConfig)}
    for name in MODEL_FIELDS:
        default: object = fields[name].default
        if default is None or isinstance(default, bool):
            default = {None: "d_model / heads", True: "on", False: "off"}[default]
        note = _("(default: the preset's)") if name in PRESETS["small"] else _("(default {default})", default=default)
        _option(model, name, fields[name].default, note)
    training = parser.add_argument_group(_("training"), _("defaults are the paper's where it gives one"))
    for field in dataclasses.fields(Settings):
        if field.name == "augmentation":
            training.add_argument(
                "--augmentation",
                type=share,
                nargs="+",
                metavar="NAME=SHARE",
                help=translate(SETTINGS_HELP["augmentation"], names=", ".join(SHARES)),
            )
            continue
        source = SETTINGS_HELP[field.name]
        text = translate(source)
        if "default" not in source:
            text = _("{text} (default {default})", text=text, default=field.default)
        _option(training, field.name, field.default, text)


def _option(group: Any, name: str, default: Any, text: str) -> None:
    """Add one option --some-name. Its argparse default is None: only given options can contradict a saved run."""
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
        raise argparse.ArgumentTypeError(_("{text} is not a setting; choose on or off", text=shown(text)))
    return text == "on"


def share(text: str) -> tuple[str, float]:
    """An argparse type: NAME=SHARE of the augmentation."""
    name, _equals, value = text.partition("=")
    try:
        share_of_pairs = float(value)
        Augmentation(**{name: share_of_pairs})
    except (ValueError, TypeError):
        raise argparse.ArgumentTypeError(
            _(
                "{text} is not NAME=SHARE; choose a name from {shares} and a share from 0 to 1",
                text=shown(text),
                shares=", ".join(SHARES),
            )
        ) from None
    return name, share_of_pairs


def from_recipe(recipe: Table) -> Plan:
    """The plan of a recipe. Raises DataError."""
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
    """The plan of the command line and, where that says nothing, of the recipe. What neither gives comes from the saved
    run or the defaults."""
    given = vars(options)
    if (options.source is None) != (options.target is None):
        raise CommandError("--source and --target need each other; give both, or --data with a tab-separated file")
    if options.data and options.source:
        raise CommandError("--data and --source/--target exclude each other; give only one of them")
    files = [options.data] if options.data else [options.source, options.target] if options.source else None
    recipe = from_recipe(recipe_of(options))
    sizes = {name: given[name] for name in MODEL_FIELDS if given[name] is not None}
    settings = {name: given[name] for name in SETTINGS_HELP if given[name] is not None}
    if "augmentation" in settings:
        settings["augmentation"] = {**recipe.settings.get("augmentation", {}), **dict(settings["augmentation"])}
    options_given = {
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
        **{name: value for name, value in options_given.items() if value is not None},
        model={**recipe.model, **sizes},
        settings={**recipe.settings, **settings},
    )


class Bar:
    """The progress bar: loss, tokens per second, time left; and a line for every validation."""

    def __init__(self, trainer: Trainer) -> None:
        from tqdm import tqdm

        self.bar = tqdm(
            total=trainer.settings.steps,
            initial=trainer.step,
            unit="step",
            dynamic_ncols=True,
            mininterval=0.3 if sys.stderr.isatty() else 30,
            bar_format=_("{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}, {remaining} left{postfix}]"),
        )
        self.seconds = trainer.seconds
        self.speed = self.loss = 0.0

    def update(self, entry: Progress) -> None:
        spent, self.seconds = entry.seconds - self.seconds, entry.seconds
        if entry.validation_loss is None:
            # Moving averages, because single batches vary. `tokens` of an entry with a validation is a sum of many.
            now = entry.tokens / max(spent, 1e-9)
            self.speed = 0.95 * self.speed + 0.05 * now if self.speed else now
            self.loss = 0.98 * self.loss + 0.02 * entry.loss if self.loss else entry.loss
        else:
            line = _(
                "step {step:,}: loss {loss:.3f}, validation loss {validation_loss:.3f}, perplexity {perplexity:.2f}",
                step=entry.step,
                loss=entry.loss,
                validation_loss=entry.validation_loss,
                perplexity=entry.validation_perplexity,
            )
            bleu = "" if entry.validation_bleu is None else f", BLEU {entry.validation_bleu:.2f}"
            self.bar.write(line + bleu, file=sys.stderr)
        postfix = _("loss {loss:.3f}, {speed:,.0f} tokens/s", loss=self.loss, speed=self.speed)
        self.bar.set_postfix_str(postfix, refresh=False)
        self.bar.update()

    def close(self) -> None:
        self.bar.close()


def run(options: argparse.Namespace) -> int:
    if importlib.util.find_spec("tqdm") is None:
        raise CommandError("training needs tqdm; install the project with its extra [train]")
    training_plan = plan(options)
    device = find_device(options.device)
    workers = join(device)
    folder = options.export or options.output / "checkpoint"
    try:
        run = open_run(options.output, training_plan, device, workers, options.readers)
        if workers.first:
            folder.mkdir(parents=True, exist_ok=True)  # an error here comes before hours of training, not after
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
        raise CommandError(
            "{path} cannot be written: {reason}; free some space, or choose another --output. The "
            "run can be resumed from its last saved state",
            path=error.filename or options.output,
            reason=error.strerror or error,
        ) from error
    finally:
        leave()
    if not finished:
        print(
            _(
                "stopped at step {step:,}; the run is saved. Resume with: {command}",
                step=run.trainer.step,
                command=f"python -m transformer train --output {options.output}",
            ),
            file=sys.stderr,
        )
        return INTERRUPTED
    print(_("the checkpoint is in {folder}", folder=folder))
    return 0
