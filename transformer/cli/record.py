"""Record how the heads of a trained checkpoint formed, from the snapshots of its run, on its own examples."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from transformer.cli.common import CommandError, add_checkpoint, add_device, find_device, read
from transformer.files import write_whole
from transformer.inference.pretrained import load
from transformer.training.recording import record


def add(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser)
    parser.add_argument("--run", type=Path, required=True, metavar="FOLDER", help="trained with --snapshots")
    parser.add_argument(
        "--validation", type=Path, nargs="+", required=True, metavar="FILE", help="text for loss and BLEU at each state"
    )
    add_device(parser)
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: learning.npz of the checkpoint")


def run(options: argparse.Namespace) -> int:
    model = load(options.checkpoint, find_device(options.device))
    examples = model.path / "examples.json"
    if not examples.is_file():
        raise CommandError("{path} has no examples.json; the sentences to record stand there", path=model.path)
    try:
        entries = json.loads(examples.read_text(encoding="utf-8"))
        sentences = list(dict.fromkeys((str(entry["source"]), str(entry.get("target", ""))) for entry in entries))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CommandError(
            "{examples} is no list of examples with a source each; mend it or remove it", examples=examples
        ) from error
    found = record(options.run, model, sentences, read(options.validation))
    output = options.output or model.path / "learning.npz"
    data = found.to_bytes()
    write_whole(output, data)
    print(f"{len(found.steps)} states of {len(sentences)} sentences in {output}, {len(data) / 1e6:.1f} MB")
    return 0
