"""Score a checkpoint on sentence pairs: sacreBLEU, chrF and perplexity.

A source that stands on several lines is translated once and scored with all its references.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from transformer.checkpoint import write_whole
from transformer.commands.common import add_checkpoint, add_device, add_search, find_device, read
from transformer.pretrained import load
from transformer.training.evaluation import Evaluation
from transformer.training.evaluation import evaluate as measure


def add(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser)
    parser.add_argument(
        "--data",
        type=Path,
        nargs="+",
        required=True,
        metavar="FILE",
        help="one tab-separated file SOURCE<tab>TARGET, or a source and a target file; .gz is unpacked",
    )
    add_search(parser)
    add_device(parser)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the scores there too, e.g. as metrics.json")


def table(found: Evaluation) -> str:
    """The scores as a person reads them."""
    search = "greedy" if found.beams == 1 else f"beam {found.beams}, length penalty {found.length_penalty:g}"
    rows = [
        ("sacreBLEU", f"{found.bleu:.2f}", found.bleu_signature),
        ("chrF", f"{found.chrf:.2f}", found.chrf_signature),
        ("perplexity", f"{found.perplexity:.2f}", f"per target token, over {found.target_tokens:,}"),
        ("sentences", f"{found.sentences:,}", f"with {found.references:,} references; {search}"),
        ("seconds", f"{found.seconds:.1f}", f"{found.sentences / max(found.seconds, 1e-9):.1f} sentences/s"),
    ]
    if found.untranslated:
        rows.append(("untranslated", f"{found.untranslated:,}", "blank or too long, scored as empty translations"))
    if found.unmeasured:
        rows.append(("unmeasured", f"{found.unmeasured:,}", "pairs blank or too long, left out of the perplexity"))
    return "\n".join(f"{name:<13}{value:>9}  {note}" for name, value, note in rows)


def run(options: argparse.Namespace) -> int:
    pairs = read(options.data)
    model = load(options.checkpoint, find_device(options.device))
    found = measure(model, pairs, options.beam, options.length_penalty)
    print(table(found))
    if options.json:
        about = {"checkpoint": model.name, "data": [file.name for file in options.data], **found.to_dict()}
        write_whole(options.json, (json.dumps(about, indent=2) + "\n").encode())
    return 0
