"""Score a checkpoint on sentence pairs: sacreBLEU, chrF and perplexity.

As trained, or with --switch. A source that stands on several lines is translated once and scored with all its
references. A recipe names test data, preparation and decoding; of a toy task, inputs that training never saw are
drawn.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from transformer.cli.common import (
    CommandError,
    add_checkpoint,
    add_device,
    add_recipe,
    add_search,
    add_switches,
    find_device,
    read,
    recipe_of,
    search,
    switches,
    whole,
)
from transformer.files import write_whole
from transformer.inference.pretrained import load
from transformer.interventions.sets import NONE, Interventions
from transformer.training.evaluation import Evaluation
from transformer.training.evaluation import evaluate as measure
from transformer.training.preparation import Preparation
from transformer.training.recipe import files_of, task_of
from transformer.training.tasks import unseen_pairs


def add(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser)
    add_recipe(parser, "the recipe the checkpoint was trained by")
    parser.add_argument(
        "--data",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="one tab-separated file SOURCE<tab>TARGET, or a source and a target file; .gz is unpacked",
    )
    parser.add_argument(
        "--lengths", type=whole(1, 10_000), nargs=2, metavar=("LOW", "HIGH"), help="of a toy task's inputs"
    )
    add_search(parser)
    add_switches(parser)
    add_device(parser)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the scores there too, e.g. as metrics.json")


def table(found: Evaluation, task: bool = False, interventions: Interventions = NONE) -> str:
    """The scores as a person reads them. Of a toy task, whose words are letters, BLEU and chrF say nothing."""
    search = "greedy" if found.beams == 1 else f"beam {found.beams}, length penalty {found.length_penalty:g}"
    rows = [
        ("sacreBLEU", f"{found.bleu:.2f}", found.bleu_signature),
        ("chrF", f"{found.chrf:.2f}", found.chrf_signature),
        ("exact", f"{100 * found.exact:.2f}%", "of the sentences: letter by letter one of the references"),
        ("perplexity", f"{found.perplexity:.2f}", f"per target token, over {found.target_tokens:,}"),
        ("sentences", f"{found.sentences:,}", f"with {found.references:,} references; {search}"),
        ("seconds", f"{found.seconds:.1f}", f"{found.sentences / max(found.seconds, 1e-9):.1f} sentences/s"),
    ]
    if task:
        rows = [row for row in rows if row[0] not in ("sacreBLEU", "chrF")]
    if found.tokenized_bleu is not None:
        rows.insert(1, ("tokenised", f"{found.tokenized_bleu:.2f}", f"BLEU {found.tokenized_bleu_signature}"))
    if interventions:
        rows.append(("switches", f"{len(interventions.switches)}", str(interventions)))
    if found.untranslated:
        rows.append(("untranslated", f"{found.untranslated:,}", "blank or too long, scored as empty translations"))
    if found.unmeasured:
        rows.append(("unmeasured", f"{found.unmeasured:,}", "pairs blank or too long, left out of the perplexity"))
    return "\n".join(f"{name:<13}{value:>9}  {note}" for name, value, note in rows)


def run(options: argparse.Namespace) -> int:
    interventions = switches(options)
    recipe = recipe_of(options)
    data = recipe.get("data", {})
    preparation = None
    spec = task_of(recipe) if not options.data else None
    if spec:
        low, high = options.lengths or spec["lengths"]
        pairs, names = unseen_pairs(spec, (low, high)), [f"{spec['name']}, {low} to {high} symbols, unseen"]
    else:
        if options.lengths:
            raise CommandError("--lengths is for the recipe of a toy task; leave it out, or name such a recipe")
        files = options.data or files_of(recipe, "test")
        if not files:
            raise CommandError("--data is missing; name the test file, or a --recipe that does")
        pairs, names = read(files), [file.name for file in files]
        if data.get("preparation", "none") != "none":
            codes = data.get("codes", ["en", "de"])
            preparation = Preparation(data["preparation"], (codes[0], codes[1]))
    model = load(options.checkpoint, find_device(options.device))
    interventions.check(model.config)
    found = measure(model, pairs, *search(options, recipe.get("decoding")), preparation, interventions)
    print(table(found, bool(spec), interventions))
    if options.json:
        about = {"checkpoint": model.name, "data": names, **found.to_dict()}
        if interventions:
            about["switches"] = str(interventions)
        if spec:
            about = {name: value for name, value in about.items() if not name.startswith(("bleu", "chrf"))}
        write_whole(options.json, (json.dumps(about, indent=2) + "\n").encode())
    return 0
