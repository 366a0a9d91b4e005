"""What several commands share: kinds of numbers, and options that mean the same everywhere."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from reprlib import repr as shown
from typing import Any, NoReturn

import torch

from transformer.interventions.sets import Interventions
from transformer.texts import UserError, _
from transformer.training.data import DataError, Pair, read_pairs
from transformer.training.recipe import Table, read_recipe

DEVICES = ("cpu", "cuda", "mps")
BROKEN_PIPE = 141  # what a shell reports for a program ended by SIGPIPE


class CommandError(UserError):
    """Options that cannot be carried out; the message says what arrived and what to do."""


def one_line(message: str, longest: int = 1_000) -> str:
    """A message as a terminal is to show it: line breaks and control characters of what was typed as escapes, and of
    what is longer the beginning and the end."""
    said = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in message)
    return said if len(said) <= longest else f"{said[: longest // 2]} … {said[-longest // 3 :]}"


class Parser(argparse.ArgumentParser):
    """argparse's own, that says in one line what was wrong."""

    def error(self, message: str) -> NoReturn:
        super().error(one_line(message))


def whole(low: int, high: int = 2**31 - 1) -> Callable[[str], int]:
    """An argparse type: whole numbers from low to high."""

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(
                _(
                    "{text} arrived; a whole number from {low} to {high:,} is allowed",
                    text=shown(text),
                    low=low,
                    high=high,
                )
            )
        return value

    return convert


def positive(text: str) -> float:
    """An argparse type: finite numbers from 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(_("{text} arrived; a number of at least 0 is allowed", text=shown(text)))
    return value


def add_checkpoint(parser: argparse.ArgumentParser, required: bool = True) -> None:
    parser.add_argument(
        "--checkpoint", required=required, metavar="NAME_OR_PATH", help="a bundled name, e.g. en-de, or a folder"
    )


def add_search(parser: argparse.ArgumentParser) -> None:
    """How to decode."""
    parser.add_argument("--beam", type=whole(1, 64), metavar="N", help="beams; 1 is greedy (default 1)")
    parser.add_argument(
        "--length-penalty",
        type=positive,
        metavar="A",
        help="alpha of the length penalty, with two beams or more (default the checkpoint's; of ours 0.6, the paper's)",
    )


def search(options: argparse.Namespace, recipe: Mapping[str, Any] | None = None) -> tuple[int, float | None]:
    """Beams and length penalty: of the options, else a recipe's [decoding], else greedy and None, the checkpoint's."""
    recipe = recipe or {}
    beams = options.beam if options.beam is not None else recipe.get("beam", 1)
    alpha = options.length_penalty if options.length_penalty is not None else recipe.get("length_penalty")
    return beams, alpha


def add_switches(parser: argparse.ArgumentParser) -> None:
    """What to switch in the model, as links to the Lab write it."""
    parser.add_argument(
        "--switch",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="switch something in the model, e.g. scaling=off causal=off zero=cross.2.5 for head 5 of "
        f"cross-attention in layer 2; there are {', '.join(Interventions.PARAMS)} (see transformer/interventions/)",
    )


def switches(options: argparse.Namespace) -> Interventions:
    """The switches that were named; none if none was. Raises InterventionError."""
    return Interventions.parse(options.switch)


def add_recipe(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--recipe", type=Path, metavar="FILE", help=text)
    parser.add_argument(
        "--set",
        nargs="+",
        default=[],
        metavar="SECTION.NAME=VALUE",
        help="values over the recipe's, e.g. data.count=900",
    )


def recipe_of(options: argparse.Namespace) -> Table:
    """The recipe that was named, with the values that were set over it; empty if none was. Raises DataError."""
    if options.recipe is None:
        if options.set:
            raise CommandError("--set changes values of a recipe; name one with --recipe")
        return {}
    return read_recipe(options.recipe, options.set)


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", choices=DEVICES, default="cpu", help="where to compute (default cpu)")


def find_device(name: str) -> torch.device:
    """The device of a name in DEVICES; under torchrun, this worker's own GPU. Raises CommandError if it is missing."""
    there: dict[str, Callable[[], bool]] = {
        "cpu": lambda: True,
        "cuda": torch.cuda.is_available,
        "mps": torch.backends.mps.is_available,
    }
    if not there[name]():
        raise CommandError("--device {name}: PyTorch finds no such device on this machine; use --device cpu", name=name)
    worker, workers = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if name == "cuda":
        if worker >= torch.cuda.device_count():
            raise CommandError(
                "worker {worker} has no GPU, there are {device_count}; start fewer",
                worker=worker + 1,
                device_count=torch.cuda.device_count(),
            )
        torch.cuda.set_device(worker)
    if name == "mps" and workers > 1:
        raise CommandError(
            "{workers} workers cannot share --device mps; start one, or use --device cpu", workers=workers
        )
    return torch.device(name)


def read(files: list[Path]) -> list[Pair]:
    """Sentence pairs of one tab-separated file or of two paired files. Raises DataError."""
    if len(files) > 2:
        raise DataError(
            "{count} files arrived; give one tab-separated file, or a source and a target file", count=len(files)
        )
    return read_pairs(*files)
