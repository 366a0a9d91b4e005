"""python -m transformer COMMAND (train, translate, align, ...), and the command `headscope`."""

import argparse
import errno
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from transformer import startup, texts
from transformer.cli import (
    align,
    describe,
    evaluate,
    export_web,
    get,
    heads,
    importance,
    record,
    serve,
    site,
    train,
    translate,
)
from transformer.cli.common import BROKEN_PIPE, CommandError, Parser, one_line
from transformer.inference.pretrained import CheckpointWarning, OutsideWarning
from transformer.texts import UserError, _, use_language

FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
COMMANDS = {
    "train": train,
    "translate": translate,
    "evaluate": evaluate,
    "heads": heads,
    "importance": importance,
    "align": align,
    "describe": describe,
    "record": record,
    "get": get,
    "export-web": export_web,
    "site": site,
    "app": serve,
}


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = Parser(prog="python -m transformer", description=_("A Transformer with every number in view."))
    commands = top.add_subparsers(dest="command", required=True, title=_("commands"), metavar="COMMAND")
    for name, module in COMMANDS.items():
        summary = texts.translate(module.SUMMARY)
        module.add(commands.add_parser(name, help=summary, description=summary, allow_abbrev=False))
    return top


def _drop(stream: TextIO | None) -> None:
    """Discard what a stream could not write; otherwise Python tries again at exit and complains."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _flush_output() -> None:
    """Write everything that was printed. Raises OSError."""
    if sys.stdout is not None:
        sys.stdout.flush()


def _choose_language(arguments: Sequence[str]) -> None:
    """The language of help and messages: --language, or HEADSCOPE_LANGUAGE, or English. The real parser refuses a wrong
    --language; it cannot choose it, because its help texts are in that language."""
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--language", nargs="?")
    code = early.parse_known_args(arguments)[0].language or os.environ.get("HEADSCOPE_LANGUAGE")
    if code:
        from transformer.view.languages import best_language, load_language  # Babel, which takes 0.1 s to import

        use_language(load_language(best_language([code]) or "en"))


def _format_warning(message: Warning | str, category: type[Warning], *place: Any, **line: Any) -> str:
    """A note on a checkpoint or a text as one line, without the place in our code; others as Python writes them."""
    if issubclass(category, (CheckpointWarning, OutsideWarning)):
        return f"{one_line(str(message))}\n"
    return _PYTHONS_FORMAT(message, category, *place, **line)


_PYTHONS_FORMAT = warnings.formatwarning


def guarded(work: Callable[[], int], arguments: Sequence[str] | None = None) -> int:
    """Run a command and handle its errors. Returns the exit status: 0 done, 1 done in part, 2 failed with a message on
    stderr, 130 interrupted, 141 the reader of the output closed it."""
    startup.done()
    warnings.formatwarning = _format_warning
    _choose_language(sys.argv[1:] if arguments is None else arguments)
    try:
        status = work()
        _flush_output()
        return status
    except BrokenPipeError:
        _drop(sys.stdout)
        return BROKEN_PIPE
    except UserError as error:  # any other error is a bug and keeps its traceback
        message = str(error)
    except OSError as error:
        message = f"{error.filename or ''}: {error.strerror or error}".removeprefix(": ")
        if error.filename is None and error.errno in FULL:  # errors of files have a name, so this is standard output
            _drop(sys.stdout)
            message = _(
                "the output cannot be written: {reason}; free some space, or choose another disk", reason=error.strerror
            )
    except KeyboardInterrupt:
        print("\n" + _("interrupted"), file=sys.stderr)
        return 130
    print(_("error: {message}", message=one_line(message)), file=sys.stderr)
    return 2


def _parsed(top: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    try:
        return top.parse_args(arguments)
    except SystemExit:  # after --help, whose text may still be in the buffer
        _flush_output()
        raise


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. arguments: what follows `python -m transformer`; None: those of this process."""

    def work() -> int:
        options = _parsed(parser(), arguments)
        if options.command != "app" and (sys.stdin is None or sys.stdout is None):
            raise CommandError("standard input or output is closed; leave both open, or use /dev/null")
        return COMMANDS[options.command].run(options)

    return guarded(work, arguments)


def app() -> int:
    """Run the console command `headscope`, which starts the app; `headscope get MODEL` fetches a model, `headscope
    export-web MODEL FOLDER` and `headscope site FOLDER` write files for browsers."""
    if sys.argv[1:2] in (["get"], ["export-web"], ["site"]):
        return main()

    def work() -> int:
        top = Parser(prog="headscope", description=texts.translate(serve.SUMMARY), allow_abbrev=False)
        serve.add(top)
        return serve.run(_parsed(top, None))

    return guarded(work)


if __name__ == "__main__":
    sys.exit(main())
