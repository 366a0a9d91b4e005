"""Documents name things that exist."""

from __future__ import annotations

import importlib
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pages.paper import visualised
from pages.paper.views import items
from pages.registry import pages

ROOT = Path(__file__).resolve().parents[2]
LISTED = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False)
DOCUMENTS = [ROOT / name for name in LISTED.stdout.split()] or sorted(ROOT.glob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
INDEX = ROOT / "transformer" / "model" / "README.md"


def resolve(name: str) -> object:
    """What a dotted name stands for: a module, or an attribute of one. Raises ImportError or AttributeError."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[end:]:
            found = getattr(found, attribute)
        return found
    raise ImportError(name)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_files_lead_to_files(document: Path) -> None:
    targets = [link for link in LINK.findall(document.read_text(encoding="utf-8")) if not urlsplit(link).scheme]
    missing = []
    for target in targets:
        path = target.split("#")[0].split("?")[0]
        if path and not path.startswith("/") and not (document.parent / path).exists():
            missing.append(target)
    assert not missing


def test_every_function_of_the_equation_index_exists() -> None:
    names = re.findall(r"`((?:transformer|benchmarks|pages)\.[\w.]+)`", INDEX.read_text(encoding="utf-8"))
    assert len(names) > 15
    for name in names:
        resolve(name)


def test_the_equation_index_has_every_section_equation_table_and_figure() -> None:
    """Each row has a function and a link, which tests/pages/test_links.py reads."""
    rows = [line.split(" | ") for line in INDEX.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    assert all(len(row) == 4 and "`" in row[2] and "](/" in row[3] for row in rows)
    about = ", ".join(row[0].removeprefix("| ") for row in rows)
    sections = {item.name.split("-")[0] for item in items()} - {visualised.NAME, "7"}  # 7 is the conclusion
    assert sections | {"5.2"} <= set(about.split(", "))
    for what in ("equation 1", "equation 2", "equation 3", "Table 1", "Table 2", "Table 3", "Figure 1", "Figure 2 left",
                 "Figure 2 right", "Figures 3 to 5"):  # fmt: skip
        assert what in about


def test_the_map_names_every_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for folder in (ROOT / "transformer").glob("*/__init__.py"):
        assert f"`transformer/{folder.parent.name}/`" in text


def test_the_readme_names_every_page_in_the_order_of_the_header() -> None:
    table = (
        (ROOT / "README.md").read_text(encoding="utf-8").partition("| page | what it shows |")[2].partition("\n\n")[0]
    )
    assert re.findall(r"^\| ([^|]+?) \|", table, re.MULTILINE) == [page.title for page in pages()]
