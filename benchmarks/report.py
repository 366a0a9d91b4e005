"""Tables in Markdown, and their place between the markers of a page."""

import importlib.metadata
import os
import platform
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from transformer.files import write_whole

PACKAGES = ("torch", "streamlit", "playwright", "bertviz", "transformers")


@dataclass(frozen=True)
class Row:
    """cells: one text a column; good: whether the target was reached, None where there is none."""

    cells: tuple[str, ...]
    good: bool | None = None


@dataclass
class Table:
    """title: what is measured; columns: their heads, without the verdict; load: of the machine before it began."""

    title: str
    columns: tuple[str, ...]
    load: str = ""
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: object, good: bool | None = None) -> None:
        self.rows.append(Row(tuple(str(cell) for cell in cells), good))

    def markdown(self) -> str:
        verdicts = any(row.good is not None for row in self.rows)
        heads = (*self.columns, "reached") if verdicts else self.columns
        lines = [f"### {self.title}", "", _line(heads), _line(["---"] * len(heads))]
        for row in self.rows:
            verdict = {True: "yes", False: "**no**", None: ""}[row.good]
            lines.append(_line((*row.cells, verdict) if verdicts else row.cells))
        for note in [f"Load before: {self.load}."] * bool(self.load) + self.notes:
            lines += ["", note]
        return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def spread(values: Sequence[float | None], form: str = ".0f", factor: float = 1.0) -> str:
    """Mean, and in brackets the least and the most where they differ; "never" for those that are None."""
    there = [factor * value for value in values if value is not None]
    if not there:
        return "never"
    low, high = f"{min(there):{form}}", f"{max(there):{form}}"
    text = f"{statistics.fmean(there):{form}}" + (f" ({low} to {high})" if low != high else "")
    return text + (f", {len(values) - len(there)} never" if len(there) < len(values) else "")


def load() -> str:
    """Processes that ran or waited in the last minute, as `uptime` has it."""
    return f"{os.getloadavg()[0]:.2f} processes in the last minute" if hasattr(os, "getloadavg") else "not known here"


def machine() -> str:
    """Processor, cores, system and versions, in one paragraph."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"(?m)^model name\s*:\s*(.+)", info.read_text()) if info.is_file() else []
    versions = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{package} not installed")
    name = [*names, platform.processor() or platform.machine()][0]
    return f"{os.cpu_count()} cores ({name}), {platform.system()}. {', '.join(versions)}."


def around(page: Path, name: str) -> tuple[str, str]:
    """A page up to the marker of that table and from its end. Raises ValueError without two such markers."""
    start, end = (f"<!-- {word}: {name} -->" for word in ("measured", "end"))
    before, opened, rest = page.read_text(encoding="utf-8").partition(start)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise ValueError(f"{page} has no lines {start} and {end}; put them back")
    return before + start, end + after


def write(page: Path, text: str, name: str) -> None:
    """Replace what stands between the markers."""
    before, after = around(page, name)
    write_whole(page, f"{before}\n\n{text.strip()}\n\n{after}".encode())
