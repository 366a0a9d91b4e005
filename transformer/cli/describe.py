"""Print every part of a model with its tensors and parameter counts; with a sentence, also all tensors of a pass."""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer.checkpoints.importers.vocabulary import VocabularyTokenizer
from transformer.cli.common import CommandError, add_checkpoint
from transformer.cost.parameters import describe, part_title
from transformer.files import write_whole
from transformer.inference.pretrained import Pretrained, load
from transformer.model.tap import SIDES, STACKS, Tap
from transformer.texts import N_, _, columns, pad, translate
from transformer.tracing.shapes import axes
from transformer.tracing.trace import Trace

SUMMARY = N_(
    "Print every part of a model with its tensors and parameter counts; with a sentence, also all tensors of a pass."
)
DEFAULT = "en-de"
LEGEND = N_(
    "L is the layer, counted from 0. Queries and keys are source tokens in encoder.L.self and target tokens in\n"
    "decoder.L.self. In decoder.L.cross the queries are target tokens and the keys are source tokens."
)


def add(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser, required=False)
    parser.set_defaults(checkpoint=DEFAULT)
    parser.epilog = _("Without --checkpoint, describes the bundled model {name}.", name=DEFAULT)
    parser.add_argument(
        "--sentence", metavar="TEXT", help=_("also list the tensors of a pass over this source sentence")
    )
    parser.add_argument(
        "--target", metavar="TEXT", help=_("target of that pass (default: the model's own translation)")
    )
    parser.add_argument("--all", action="store_true", help=_("list every layer, also where several are equal"))
    parser.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help=_("print JSON instead of the table, or write it to FILE too"),
    )


def record(model: Pretrained, trace: Trace) -> dict[str, Tensor]:
    """Every tensor of a trace's pass by its name, with the batch axis."""
    tap, device = Tap(), model.model.device
    with torch.inference_mode():
        source = torch.tensor([trace.source_ids], device=device)
        target = torch.tensor([trace.target_in_ids], device=device)
        model.model(source, target, tap)
    return tap.finish()


def kind(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def plain(text: str) -> str:
    """The text without control characters, which could move the cursor or set colours in a terminal."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def table(trace: Trace, records: Mapping[str, Tensor], every: bool) -> Iterator[str]:
    """Lines with the sentence pair and each recorded tensor. every: list each layer, do not fold equal ones."""
    source, target = (plain(" ".join(labels)) for labels in (trace.source_labels, trace.target_in_labels))
    yield _("{count} tokens of the source: {tokens}", count=len(trace.source_labels), tokens=source)
    if trace.own:
        text = N_("{count} tokens of the model's own translation, fed in: {tokens}")
    else:
        text = N_("{count} tokens of the target, fed in: {tokens}")
    yield translate(text, count=len(trace.target_in_labels), tokens=target)
    rows: dict[tuple[str, ...], str] = {}  # row -> part
    for name, tensor in records.items():
        label = name if every else re.sub(r"\.\d+\.", ".L.", name)
        part = "output" if name == "logits" else name.split(".")[0]
        rows[f"  {label}", str(list(tensor.shape)), ", ".join(axes(name)), kind(tensor)] = part
    head = (_("recorded tensor"), _("shape"), _("axes"), _("type"))
    widths = [max(map(columns, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: tuple[str, ...]) -> str:
        return "  ".join(pad(cell, width) for cell, width in zip(cells, widths, strict=True)).rstrip()

    rule, before = "─" * (sum(widths) + 2 * len(widths) - 2), ""
    yield from ("", line(head), rule)
    for row, part in rows.items():
        if part != before:
            count = len({name.split(".")[1] for name in records if re.match(rf"{part}\.\d", name)})
            yield from [""] * bool(before)
            yield part_title(part, count if part in STACKS else 0)
        yield line(row)
        before = part
    numbers = sum(tensor.numel() for tensor in records.values())
    yield from (
        rule,
        _("{tensors} tensors, {numbers:,} numbers", tensors=len(records), numbers=numbers),
        "",
        translate(LEGEND),
    )


def to_dict(trace: Trace, records: Mapping[str, Tensor]) -> dict[str, Any]:
    """The table's content for JSON."""
    return {
        "source": trace.source_text,
        "target": trace.target_text,
        "target_is_the_models_own": trace.own,
        "source_tokens": trace.source_tokens,
        "target_in": trace.target_in,
        "tensors": [
            {"name": name, "shape": list(tensor.shape), "axes": axes(name), "dtype": kind(tensor)}
            for name, tensor in records.items()
        ],
    }


def write(text: str) -> None:
    """Print text as UTF-8, also where the system's encoding is another."""
    if (binary := getattr(sys.stdout, "buffer", None)) is None:
        print(text)
        return
    sys.stdout.flush()
    binary.write(f"{text}\n".encode("utf-8", "replace"))
    binary.flush()


def run(options: argparse.Namespace) -> int:
    if options.target is not None and options.sentence is None:
        raise CommandError("--target needs --sentence: it is the translation of that sentence")
    model = load(options.checkpoint)
    description = describe(model.model)
    about = {
        "checkpoint": model.name, "languages": model.languages, "notes": [str(note) for note in model.notes],
        **description.to_dict(),
    }  # fmt: skip
    name, source, target = (plain(text) for text in (model.name, *model.languages))
    lines = [_("{name}: {source} to {target}", name=name, source=source, target=target)]
    lines += (plain(str(note)) for note in model.notes)
    sides = {side: model.tokenizer_of(side) for side in SIDES}
    for side, tokenizer in sides.items():
        if model.family == "Marian" and isinstance(tokenizer, VocabularyTokenizer):
            lacking, pieces = tokenizer.lacking()
            text = N_("{side}.spm: {lacking:,} of {pieces:,} pieces are not in the vocabulary and are read as <unk>")
            lines.append(translate(text, side=side, lacking=lacking, pieces=pieces))
            about[f"{side}_pieces_lacking"] = lacking
    lines.append(description.table(options.all))
    if options.sentence is not None:
        trace = model.trace(options.sentence, options.target)
        records = record(model, trace)
        about["trace"] = to_dict(trace, records)
        lines += ["", "", *table(trace, records, options.all)]
    data = json.dumps(about)
    if options.json not in (None, "-"):
        write_whole(Path(options.json), f"{data}\n".encode())
    write(data if options.json == "-" else "\n".join(lines))
    return 0
