"""Record how a checkpoint's heads formed: attention on its examples, from the snapshots of its training run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from transformer.cli.common import CommandError, add_checkpoint, add_device, find_device, read
from transformer.files import write_whole
from transformer.inference.pretrained import load
from transformer.texts import N_, _
from transformer.training.recording import record

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
        required=True,
        metavar="FILE",
        help=_("sentence pairs for loss and BLEU at each snapshot"),
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
    recording = record(options.run, model, sentences, read(options.validation))
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
