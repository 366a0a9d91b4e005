"""The scripts and style sheets that `make frontend` builds out of frontend/src, by the names of its entries."""

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "dist"


@cache
def script(entry: str) -> str:
    """One module with everything `entry` needs."""
    return (FOLDER / f"{entry}.js").read_text(encoding="utf-8")


@cache
def style(entry: str) -> str:
    """The theme that all components share and, behind it, the style sheets of `entry`."""
    return (FOLDER / f"{entry}.css").read_text(encoding="utf-8")
