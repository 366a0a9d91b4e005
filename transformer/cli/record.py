"""Record how a checkpoint's heads formed: attention on its examples, from the snapshots of its training run."""

import argparse
import json
from pathlib import Path

from transformer.cli.common import CommandError, add_checkpoint, add_device, find_device, read
from transformer.files import write_whole
from transformer.inference.pretrained import load
from transformer.texts import N_, _
from transformer.training.recipe import read_recipe, task_of
from transformer.training.recording import record
from transformer.training.tasks import training_pairs

SUMMARY = N_(
    "Record how a checkpoint's heads formed: attention on its examples, from the snapshots of its training run."
)


def add(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser)
    parser.add_argument("--run", type=Path, required=True, metavar="FOLDER", help=_("run trained with --snapshots"))
    parser.add_argument(
        "--validation",
        type=Path,
        nargs="+",
        metavar="FILE",
        help=_("sentence pairs for loss and BLEU at each snapshot"),
    )
    parser.add_argument(
        "--recipe",
        type=Path,
        metavar="FILE",
        help=_("of a toy task instead: its validation pairs, for loss and exactness"),
    )
    add_device(parser)
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help=_("recording (default: learning.npz of the checkpoint)")
    )


def run(options: argparse.Namespace) -> int:
    model = load(options.checkpoint, find_device(options.device))
    examples = model.path / "examples.json"
    if not examples.is_file():
        raise CommandError("{path} has no examples.json with sentences to record", path=model.path)
    try:
        entries = json.loads(examples.read_text(encoding="utf-8"))
        sentences = list(dict.fromkeys((str(entry["source"]), str(entry.get("target", ""))) for entry in entries))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CommandError(
            "{examples} is not a list of examples with a source each; correct it or remove it", examples=examples
        ) from error
    task = task_of(read_recipe(options.recipe)) if options.recipe else None
    if (task is None) == (options.validation is None):
        raise CommandError("give either sentence pairs with --validation, or the recipe of a toy task with --recipe")
    pairs = read(options.validation) if task is None else training_pairs(task)[1]
    recording = record(options.run, model, sentences, pairs, "bleu" if task is None else "exact")
    output = options.output or model.path / "learning.npz"
    data = recording.to_bytes()
    write_whole(output, data)
    print(
        _(
            "{file}: {snapshots} snapshots, {sentences} sentences, {size:.1f} MB",
            file=output,
            snapshots=len(recording.steps),
            sentences=len(sentences),
            size=len(data) / 1e6,
        )
    )
    return 0
