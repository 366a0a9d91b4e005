"""Ctrl+C while the program still imports its parts. Imported before all of them; standard library only.

Importing torch takes seconds, and whoever ends the program then wants no traceback of somebody's import. Until `done`
the signal therefore ends the process where it stands: nothing is open yet. Only where this process is our program:
`python -m transformer`, or the command `headscope`. A notebook that imports the package keeps its own ways.
"""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path


def is_program() -> bool:
    """Whether this process was started as our program."""
    if sys.argv[:1] == ["-m"]:  # so it stands while `python -m` looks for the module
        return "transformer" in sys.orig_argv[1:]
    return bool(sys.argv) and Path(sys.argv[0]).stem == "headscope"


def _exchange(before: object, after: signal.Handlers) -> None:
    """Only what we put there, or Python did: a background job that ignores the signal goes on doing so."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is before:
        signal.signal(signal.SIGINT, after)


def at_once() -> None:
    """From here on Ctrl+C ends the process where it stands."""
    _exchange(signal.default_int_handler, signal.SIG_DFL)


def done() -> None:
    """From here on Ctrl+C is a KeyboardInterrupt, which commands save their work at."""
    _exchange(signal.SIG_DFL, signal.default_int_handler)  # type: ignore[arg-type]


if is_program():
    at_once()
