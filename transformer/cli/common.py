"""Options and argument types that several commands share."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from reprlib import repr as shown
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import torch

from transformer.files import write_whole
from transformer.interventions.sets import Interventions
from transformer.texts import N_, UserError, _, nearest, translate
from transformer.training.data import DataError, Pair, read_pairs
from transformer.training.recipe import Table, read_recipe

if TYPE_CHECKING:
    from transformer.inference.pretrained import Pretrained

Number = TypeVar("Number", int, float)
DEVICES = ("cpu", "cuda", "mps")
BROKEN_PIPE = 141  # the exit status that shells give a program ended by SIGPIPE


class CommandError(UserError):
    """Invalid options. The message says what is wrong and what to do."""


def one_line(message: str, longest: int = 1_000) -> str:
    """A message for a terminal: line breaks and control characters escaped, the middle of a long message left out."""
    line = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in message
    )
    return line if len(line) <= longest else f"{line[: longest // 2]} … {line[-longest // 3 :]}"


def complain(message: str) -> None:
    print(message, file=sys.stderr)


# Errors that argparse writes itself, where they are the same in every version of Python; others stay English.
ARGPARSE_ERRORS = (
    N_("argument {name}: {message}"),
    N_("the following arguments are required: {names}"),
    N_("unrecognized arguments: {names}"),
    N_("invalid choice: {value} (choose from {names})"),
    N_("expected one argument"),
    N_("expected at least one argument"),
    N_("expected {count} arguments"),
)


def translate_error(message: str) -> str:
    """An error message of argparse in the reader's language."""
    for text in ARGPARSE_ERRORS:
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(text))
        if match := re.fullmatch(pattern, message, re.DOTALL):
            values = {name: translate_error(value) for name, value in match.groupdict().items()}
            return translate(text, **values)
    return message


class Formatter(argparse.HelpFormatter):
    """argparse's help in the reader's language."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, _("usage: ") if prefix is None else prefix)


class Parser(argparse.ArgumentParser):
    """argparse's parser with help in the reader's language and one-line error messages; a mistyped command, option or
    value suggests the nearest."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, add_help=False, formatter_class=Formatter)
        self._positionals.title = _("positional arguments")
        self._optionals.title = _("options")
        self.add_argument("-h", "--help", action="help", help=_("show this help message and exit"))

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        message = one_line(translate_error(message))
        self.exit(2, _("{program}: error: {message}", program=self.prog, message=message) + "\n")

    def parse_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> Any:
        options, unknown = self.parse_known_args(None if args is None else list(args), namespace)
        if unknown:
            message = "unrecognized arguments: " + " ".join(unknown)
            self.error(_suggesting(message, unknown[0].split("=")[0], self._option_strings(options)))
        return options

    def _option_strings(self, options: argparse.Namespace) -> list[str]:
        """The options of this parser and of the command that was given."""
        choices: Any = self._subparsers._group_actions[0].choices if self._subparsers else {}
        command = choices.get(getattr(options, "command", None))
        parsers: list[argparse.ArgumentParser] = [self, *([command] if command else [])]
        return [option for parser in parsers for option in parser._option_string_actions]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message = _suggesting(error.message, value, map(str, action.choices or ()))
            raise


def _suggesting(message: str, typed: object, names: Iterable[str]) -> str:
    near, message = nearest(typed, names), translate_error(message)
    return message if near is None else _("{message}; did you mean {name}?", message=message, name=near)


def number(
    convert: Callable[[str], Number], fits: Callable[[Number], bool], error: str, **values: Any
) -> Callable[[str], Number]:
    """An argparse type: numbers that fit. error: about {text} that does not; values: what else stands in it."""

    def read(text: str) -> Number:
        with contextlib.suppress(ValueError):
            if fits(value := convert(text)):
                return value
        raise argparse.ArgumentTypeError(translate(error, text=shown(text), **values))

    return read


def whole(low: int, high: int = 2**31 - 1) -> Callable[[str], int]:
    """An argparse type: whole numbers from low to high."""
    error = N_("{text} is not a whole number from {low} to {high:,}")
    return number(int, lambda value: low <= value <= high, error, low=low, high=high)


positive = number(float, lambda value: 0 <= value < math.inf, N_("{text} is not a number of at least 0"))
above_zero = number(float, lambda value: 0 < value < math.inf, N_("{text} is not a number above 0"))


def add_checkpoint(parser: argparse.ArgumentParser, required: bool = True) -> None:
    parser.add_argument(
        "--checkpoint",
        required=required,
        metavar="NAME_OR_PATH",
        help=_("name of a bundled model, e.g. en-de, or a folder"),
    )


def add_json(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help=text)


def write_json(options: argparse.Namespace, text: str) -> None:
    """Write the text to the file of --json, if there is one. Raises OSError."""
    if options.json:
        write_whole(options.json, (text + "\n").encode())


def show_progress(done: int, total: int) -> bool:
    """Count in a terminal; True: go on."""
    if sys.stderr.isatty():
        print(f"\r{done} / {total}", end="" if done < total else "\n", file=sys.stderr, flush=True)
    return True


def add_search(parser: argparse.ArgumentParser) -> None:
    """Options of decoding."""
    parser.add_argument(
        "--beam", type=whole(1, 64), metavar="N", help=_("number of beams; 1 is greedy search (default 1)")
    )
    parser.add_argument(
        "--length-penalty",
        type=positive,
        metavar="A",
        help=_(
            "alpha of the length penalty, for two or more beams (default: the checkpoint's; bundled models use the "
            "paper's 0.6)"
        ),
    )


def search(options: argparse.Namespace, recipe: Mapping[str, Any] | None = None) -> tuple[int, float | None]:
    """Beams and length penalty: from the options, else a recipe's [decoding], else 1 and None (the checkpoint's)."""
    recipe = recipe or {}
    beam = options.beam if options.beam is not None else recipe.get("beam", 1)
    alpha = options.length_penalty if options.length_penalty is not None else recipe.get("length_penalty")
    return beam, alpha


def add_switches(parser: argparse.ArgumentParser) -> None:
    """Switches of the model, in the notation of the Lab's links."""
    parser.add_argument(
        "--switch",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help=_(
            "change the model, e.g. scaling=off causal=off, or zero=cross.2.5 to zero head 5 of cross-attention in "
            "layer 2; switches: {names} (see transformer/interventions/)",
            names=", ".join(Interventions.PARAMS),
        ),
    )


def switches(options: argparse.Namespace) -> Interventions:
    """The switches of the options, possibly none. Raises InterventionError."""
    return Interventions.parse(options.switch)


def add_recipe(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--recipe", type=Path, metavar="FILE", help=text)
    parser.add_argument(
        "--set",
        nargs="+",
        default=[],
        metavar="SECTION.NAME=VALUE",
        help=_("change values of the recipe, e.g. data.count=900"),
    )


def recipe_of(options: argparse.Namespace) -> Table:
    """The recipe of the options, changed by --set; empty without --recipe. Raises DataError."""
    if options.recipe is None:
        if options.set:
            raise CommandError("--set changes values of a recipe; name the recipe with --recipe")
        return {}
    return read_recipe(options.recipe, options.set)


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", choices=DEVICES, default="cpu", help=_("device to compute on (default cpu)"))


def find_device(name: str) -> torch.device:
    """The device with this name of DEVICES; under torchrun, the worker's GPU. Raises CommandError if it is missing."""
    available: dict[str, Callable[[], bool]] = {
        "cpu": lambda: True,
        "cuda": torch.cuda.is_available,
        "mps": torch.backends.mps.is_available,
    }
    if not available[name]():
        raise CommandError("--device {name} is not available on this machine; use --device cpu", name=name)
    worker, workers = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if name == "cuda":
        if worker >= torch.cuda.device_count():
            raise CommandError(
                "worker {worker} has no GPU, because there are only {gpus}; start fewer workers",
                worker=worker + 1,
                gpus=torch.cuda.device_count(),
            )
        torch.cuda.set_device(worker)
    if name == "mps" and workers > 1:
        raise CommandError(
            "{workers} workers cannot share --device mps; start one worker, or use --device cpu", workers=workers
        )
    return torch.device(name)


def read(files: list[Path]) -> list[Pair]:
    """Sentence pairs from one tab-separated file or two paired files. Raises DataError."""
    if len(files) > 2:
        raise DataError(
            "{count} files are too many; give one tab-separated file, or a source file and a target file",
            count=len(files),
        )
    return read_pairs(*files)


def sentence_pairs(model: Pretrained, files: list[Path] | None) -> Sequence[Pair]:
    """The pairs of the files, or without files the built-in ones for the model. Raises DataError; CommandError if there
    are none."""
    pairs = read(files) if files else model.reference_pairs()
    if not files and not pairs:
        raise CommandError(
            "{name} translates from {source} to {target}, but the built-in sentences are for English to German, "
            "Korean to English and toy tasks; give a file of sentence pairs with --data",
            name=model.name,
            source=model.languages[0],
            target=model.languages[1],
        )
    return pairs
