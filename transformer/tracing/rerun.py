"""What runs the pass of a trace again knows its switches, but not the functions that edited it."""

from __future__ import annotations

from transformer.texts import UserError
from transformer.tracing.trace import Trace


class EditedError(UserError):
    """A trace that functions edited, where a pass without them would be measured."""


def check_unedited(trace: Trace) -> None:
    """Raises EditedError if a function edited the trace (`edits=`, `patch`)."""
    if trace.edits:
        raise EditedError(
            "a function edited {tensor} in this trace, and this runs the model again without it; use a trace without "
            "edits, or a switch in place of the function",
            tensor=trace.edits[0],
        )
