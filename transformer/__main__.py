"""python -m transformer train | translate | evaluate | heads | describe | record | app, and the command `headscope`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from transformer.checkpoint import CheckpointError
from transformer.commands import describe, evaluate, heads, record, serve, train, translate
from transformer.commands.common import CommandError
from transformer.config import ConfigError
from transformer.interventions import InterventionError
from transformer.pretrained import InputError
from transformer.tokenizer import TokenizerError
from transformer.training.data import DataError
from transformer.training.settings import TrainingError

# What a person can mend: shown as one sentence, without a traceback. Everything else is a defect of ours.
KNOWN = (
    CheckpointError, CommandError, ConfigError, DataError, InputError, InterventionError, TokenizerError, TrainingError
)  # fmt: skip
COMMANDS = {
    "train": train,
    "translate": translate,
    "evaluate": evaluate,
    "heads": heads,
    "describe": describe,
    "record": record,
    "app": serve,
}


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(prog="python -m transformer", description="A Transformer with every number in view.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").split("\n")[0]
        module.add(commands.add_parser(name, help=summary, description=summary, allow_abbrev=False))
    return top


def execute(options: argparse.Namespace) -> int:
    """Run one command. Returns its exit status: 0 done, 1 done in part, 2 not done and why on stderr."""
    try:
        return COMMANDS[options.command].run(options)
    except KNOWN as error:
        message = str(error)
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        message = f"{named}{error.strerror or error}"
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    print(f"error: {message}", file=sys.stderr)
    return 2


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. arguments: as after `python -m transformer`; None: those of this process."""
    return execute(parser().parse_args(arguments))


def app() -> int:
    """The console command `headscope`: starts the app."""
    top = argparse.ArgumentParser(prog="headscope", description=serve.__doc__, allow_abbrev=False)
    serve.add(top)
    return execute(argparse.Namespace(command="app", **vars(top.parse_args())))


if __name__ == "__main__":
    sys.exit(main())
