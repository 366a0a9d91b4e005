"""The table of docs/licences.md, from the metadata of the installed packages."""

import importlib.metadata
import re
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "licences.md"
# `pip freeze` leaves this package out of constraints.txt, because pip installs it itself.
ALWAYS = {"setuptools"}


def canonical(name: str) -> str:
    """A package name in the form that indexes compare."""
    return re.sub(r"[-_.]+", "-", name).lower()


def constrained() -> set[str]:
    """The packages in constraints.txt: the tested set."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return {canonical(line.split("==")[0]) for line in lines if "==" in line and not line.startswith("#")}


def needed(name: str = "headscope", seen: set[str] | None = None) -> set[str]:
    """Installed packages that the app needs on this system, directly or indirectly, but not for tests or training.

    Leaves out the GPU libraries of some torch builds, which are not in constraints.txt."""
    seen = set() if seen is None else seen
    for text in importlib.metadata.requires(name) or ():
        requirement = Requirement(text)
        package, marker = canonical(requirement.name), requirement.marker
        if package in seen or (marker is not None and not marker.evaluate({"extra": ""})):
            continue
        if package in constrained() | ALWAYS and any(importlib.metadata.distributions(name=requirement.name)):
            seen.add(package)
            needed(requirement.name, seen)
    return seen


def licence(name: str) -> str:
    """The declared licence: an SPDX expression, else a short free text, else the classifiers."""
    about = importlib.metadata.metadata(name)
    if expression := about.get("License-Expression"):
        return str(expression)
    classifiers = [text.split(" :: ")[-1] for text in about.get_all("Classifier") or () if text.startswith("License")]
    free = (about.get("License") or "").strip()
    if free and "\n" not in free and len(free) < 40 and free not in ("BSD", "Dual License"):
        return free
    return ", ".join(classifiers)


def listed() -> dict[str, str]:
    """Package -> licence in docs/licences.md."""
    rows = re.findall(r"(?m)^\| ([a-z0-9-]+) \| (.+) \|$", PAGE.read_text(encoding="utf-8"))
    return {name: text for name, text in rows if name != "package"}


def table() -> str:
    """What the app needs on this system, and what stands there that another system needs of the tested set."""
    found = {name: text for name, text in listed().items() if name in constrained() | ALWAYS}
    found |= {name: licence(name) for name in needed()}
    if undeclared := [name for name, text in found.items() if not text]:
        raise ValueError(f"{undeclared[0]} declares no licence; look it up and say where in `licence`")
    return "\n".join(["| package | licence |", "|---|---|", *(f"| {name} | {found[name]} |" for name in sorted(found))])
