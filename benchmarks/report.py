"""Writes the results as Markdown between the markers of README.md."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from transformer.files import write_whole

README = Path(__file__).parent / "README.md"
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
        if self.load:
            lines += ["", f"Load before: {self.load}."]
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def load() -> str:
    """Processes that ran or waited in the last minute, per `uptime`; and what share of the CPUs was busy just now."""
    if not hasattr(os, "getloadavg"):
        return "not known on this system"
    return f"{os.getloadavg()[0]:.2f} processes in the last minute, {_busy():.0%} of the CPUs busy in the last second"


def _busy(seconds: float = 1.0) -> float:
    """Share of all CPUs' time that was not idle, from Linux's own count; 0 elsewhere."""
    stat = Path("/proc/stat")
    if not stat.is_file():
        return 0.0

    def read() -> tuple[int, int]:
        times = [int(part) for part in stat.read_text().split("\n", 1)[0].split()[1:9]]
        return sum(times), times[3] + times[4]

    (total, idle), _ = read(), time.sleep(seconds)
    after, idle_after = read()
    return 1 - (idle_after - idle) / max(1, after - total)


def machine(browser: str = "") -> str:
    """Processor, cores, system and versions, in one paragraph."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        name = names[0] if names else name
    versions = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{package} not installed")
    if browser:
        versions.append(browser)
    return f"{os.cpu_count()} cores ({name}), {platform.system()}. {', '.join(versions)}."


def write(name: str, text: str) -> None:
    """Replace the text between the markers of this part. Raises ValueError if README.md has no such markers."""
    start, end = f"<!-- measured: {name} -->", f"<!-- end: {name} -->"
    content = README.read_text(encoding="utf-8")
    before, opened, rest = content.partition(start)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise ValueError(f"benchmarks/README.md has no lines {start} and {end}; put them back")
    README.write_text(f"{before}{start}\n\n{text.strip()}\n\n{end}{after}", encoding="utf-8")


START, END = "<!-- measured -->", "<!-- end -->"  # of a page with one table


def around(page: Path) -> tuple[str, str]:
    """A page before and behind its table. Raises ValueError if it has no place for one."""
    before, rest = page.read_text(encoding="utf-8").split(START)
    _, after = rest.split(END)
    return before, after


def write_table(page: Path, table: str) -> None:
    """Put the table in its place."""
    before, after = around(page)
    write_whole(page, f"{before}{START}\n\n{table}\n\n{END}{after}".encode())
