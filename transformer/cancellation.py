"""Cancellation of long-running work. Uses only the standard library."""

from __future__ import annotations


class Stopped(Exception):
    """Raised inside work whose result nobody needs any more."""
