"""python -m transformer train | translate | evaluate | heads | describe | record | app, and the command `headscope`."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import TextIO

from transformer import startup
from transformer.cli import describe, evaluate, heads, record, serve, train, translate
from transformer.cli.common import BROKEN_PIPE, CommandError, Parser, one_line
from transformer.texts import UserError, _, use_language

FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
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
    top = Parser(prog="python -m transformer", description="A Transformer with every number in view.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").split("\n")[0]
        module.add(commands.add_parser(name, help=summary, description=summary, allow_abbrev=False))
    return top


def _drop(stream: TextIO | None) -> None:
    """Forget what a stream could not write; Python would try again at exit, and complain."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _written() -> None:
    """Everything that was printed has arrived. Raises OSError."""
    if sys.stdout is not None:
        sys.stdout.flush()


def guarded(work: Callable[[], int]) -> int:
    """Do some work of the command line. Returns its exit status: 0 done, 1 done in part, 2 not done and why on stderr,
    130 interrupted, 141 whoever read the output has seen enough."""
    startup.done()
    if code := os.environ.get("HEADSCOPE_LANGUAGE"):
        from transformer.view.languages import best_language, load_language  # Babel, which takes 0.1 s to import

        use_language(load_language(best_language([code]) or "en"))
    try:
        status = work()
        _written()
        return status
    except BrokenPipeError:
        _drop(sys.stdout)
        return BROKEN_PIPE
    except UserError as error:  # everything else is a defect of ours
        message = str(error)
    except OSError as error:
        message = f"{error.filename or ''}: {error.strerror or error}".removeprefix(": ")
        if error.filename is None and error.errno in FULL:  # of files we write the name is known
            _drop(sys.stdout)
            message = _("standard output: {reason}; make room there, or write elsewhere", reason=error.strerror)
    except KeyboardInterrupt:
        print("\n" + _("interrupted"), file=sys.stderr)
        return 130
    print(_("error: {message}", message=one_line(message)), file=sys.stderr)
    return 2


def _parsed(top: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    try:
        return top.parse_args(arguments)
    except SystemExit:  # after --help, whose text may not have arrived
        _written()
        raise


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. arguments: as after `python -m transformer`; None: those of this process."""

    def work() -> int:
        options = _parsed(parser(), arguments)
        if options.command != "app" and (sys.stdin is None or sys.stdout is None):
            raise CommandError("standard input or output is closed; leave them open, or give /dev/null")
        return COMMANDS[options.command].run(options)

    return guarded(work)


def app() -> int:
    """The console command `headscope`: starts the app."""

    def work() -> int:
        top = Parser(prog="headscope", description=serve.__doc__, allow_abbrev=False)
        serve.add(top)
        return serve.run(_parsed(top, None))

    return guarded(work)


if __name__ == "__main__":
    sys.exit(main())
