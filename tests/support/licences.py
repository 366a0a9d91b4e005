"""The table of docs/licences.md, from the metadata of the installed packages: `python -m tests.support.licences`."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "licences.md"
BEGIN, END = "<!-- table: python -m tests.support.licences -->", "<!-- end of the table -->"
# What pip brings along of its own accord, and `pip freeze` therefore leaves out of constraints.txt.
ALWAYS = {"setuptools"}


def canonical(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def constrained() -> set[str]:
    """Packages that constraints.txt names: the tested set."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return {canonical(line.split("==")[0]) for line in lines if "==" in line and not line.startswith("#")}


def needed(name: str = "headscope", seen: set[str] | None = None) -> set[str]:
    """Packages that the app needs on this system, and what those need, tests and training aside; only installed ones.

    GPU libraries that some builds of torch bring are in no constraints.txt and left out."""
    seen = set() if seen is None else seen
    for text in importlib.metadata.requires(name) or ():
        one = Requirement(text)
        wanted = canonical(one.name)
        if wanted in seen or (one.marker is not None and not one.marker.evaluate({"extra": ""})):
            continue
        if wanted in constrained() | ALWAYS and any(importlib.metadata.distributions(name=one.name)):
            seen.add(wanted)
            needed(one.name, seen)
    return seen


def licence(name: str) -> str:
    """What a package declares: an SPDX expression, else its classifiers, else the field for free text."""
    about = importlib.metadata.metadata(name)
    if expression := about.get("License-Expression"):
        return str(expression)
    classifiers = [text.split(" :: ")[-1] for text in about.get_all("Classifier") or () if text.startswith("License")]
    free = (about.get("License") or "").strip()
    if free and "\n" not in free and len(free) < 40 and free not in ("BSD", "Dual License"):
        return free
    return ", ".join(classifiers)


def rows() -> Iterator[str]:
    for name in sorted(needed()):
        yield f"| {name} | {licence(name)} |"


def listed() -> dict[str, str]:
    """Package -> licence, as docs/licences.md has them."""
    table = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    return {name: said for name, said in re.findall(r"(?m)^\| ([a-z0-9-]+) \| (.+) \|$", table) if name != "package"}


def main() -> int:
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    table = "\n".join(["| package | licence |", "|---|---|", *rows()])
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
