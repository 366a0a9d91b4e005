"""How work that takes long hears that nobody waits for it any more. Standard library only."""

from __future__ import annotations


class Stopped(Exception):
    """Whoever asked for the work does not want it any more."""
