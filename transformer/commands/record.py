"""Record how the heads of a trained checkpoint formed, from the snapshots of its run, on its own examples."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from transformer.checkpoint import write_whole
from transformer.commands.common import CommandError, add_checkpoint, read
from transformer.pretrained import load
from transformer.training.recording import record


def add(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser)
    parser.add_argument("--run", type=Path, required=True, metavar="FOLDER", help="trained with --snapshots")
    parser.add_argument(
        "--validation", type=Path, nargs="+", required=True, metavar="FILE", help="text for loss and BLEU at each state"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: learning.npz of the checkpoint")


def run(options: argparse.Namespace) -> int:
    model = load(options.checkpoint)
    examples = model.path / "examples.json"
    if not examples.is_file():
        raise CommandError(f"{model.path} has no examples.json; the sentences to record stand there")
    entries = json.loads(examples.read_text(encoding="utf-8"))
    sentences = list(dict.fromkeys((entry["source"], entry.get("target", "")) for entry in entries))
    found = record(options.run, model, sentences, read(options.validation))
    output = options.output or model.path / "learning.npz"
    data = found.to_bytes()
    write_whole(output, data)
    print(f"{len(found.steps)} states of {len(sentences)} sentences in {output}, {len(data) / 1e6:.1f} MB")
    return 0
