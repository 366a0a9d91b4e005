"""Cancellation of long-running work. Uses only the standard library."""

from collections.abc import Callable

Progress = Callable[[int, int], bool]  # called with (done, all); False: nobody needs the result any more


class Stopped(Exception):
    """Raised inside work whose result nobody needs any more."""


def tell(progress: Progress, done: int, total: int) -> None:
    """Report progress. Raises Stopped."""
    if not progress(done, total):
        raise Stopped
