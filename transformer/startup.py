"""Ctrl+C during the first imports. This module is imported before all others and uses only the standard library.

Importing torch takes seconds, and a user who stops the program then should not see a traceback. So until `done` the
signal ends the process at once; nothing is open yet. This applies only to our program (`python -m transformer` or the
command `headscope`), not to a notebook that imports the package.
"""

import signal
import sys
import threading
from pathlib import Path


def is_program() -> bool:
    """Whether this process was started as our program."""
    if sys.argv[:1] == ["-m"]:  # the value while `python -m` looks for the module
        return "transformer" in sys.orig_argv[1:]
    return bool(sys.argv) and Path(sys.argv[0]).stem == "headscope"


def _exchange(before: object, after: signal.Handlers) -> None:
    """Replace only Python's handler or ours, so that a background job that ignores the signal still does."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is before:
        signal.signal(signal.SIGINT, after)


def at_once() -> None:
    """From now on, Ctrl+C ends the process at once."""
    _exchange(signal.default_int_handler, signal.SIG_DFL)


def done() -> None:
    """From now on, Ctrl+C is a KeyboardInterrupt, so that commands can save their work."""
    _exchange(signal.SIG_DFL, signal.default_int_handler)  # type: ignore[arg-type]


if is_program():
    at_once()
