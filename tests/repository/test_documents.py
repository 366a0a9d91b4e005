"""Documents name things that exist, and say of them what the repository says."""

import importlib
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pages.paper import visualised
from pages.paper.views import items
from tests.support.documents import TABLES, first_column, marked
from transformer.lessons import parse_lesson
from transformer.lessons.answers import FUNCTIONS
from transformer.lessons.lesson import LIT
from transformer.lessons.questions import KINDS

ROOT = Path(__file__).resolve().parents[2]
LISTED = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False)
DOCUMENTS = [ROOT / name for name in LISTED.stdout.split()] or sorted(ROOT.glob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = re.compile(r"`((?:pages|transformer|frontend|tests|recipes|benchmarks|findings|lessons)/[\w/.-]*\.\w+)`")
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


def test_files_that_documents_name_exist() -> None:
    named = {
        name: document.name for document in DOCUMENTS for name in FILE.findall(document.read_text(encoding="utf-8"))
    }
    assert len(named) > 50 and {name: where for name, where in named.items() if not (ROOT / name).exists()} == {}


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


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_those_that_make_docs_writes(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert TABLES[name](text) == text, "run make docs"


def test_a_table_gets_its_rows_in_order_and_the_rest_stays() -> None:
    text = "top\n\n| page | about |\n|---|---|\n| B | second |\n| C | gone |\n| A | first |\n\nend\n"
    new = "top\n\n| page | about |\n|---|---|\n| A | first |\n| B | second |\n\nend\n"
    assert first_column(text, "| page | about |", ["A", "B"]) == new
    with pytest.raises(ValueError, match=r"^write a row for D under \| page \| about \|$"):
        first_column(text, "| page | about |", ["A", "D"])
    assert marked("a\n<!-- written by make docs -->\nold\n<!-- end -->\nb", "new\n") == (
        "a\n<!-- written by make docs -->\n\nnew\n\n<!-- end -->\nb"
    )


def code_blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"(?s)```{language}\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"))


def test_the_lesson_of_the_document_is_one_and_all_it_may_contain_is_named() -> None:
    (lesson,) = code_blocks("docs/teaching.md", "toml")
    assert parse_lesson(lesson, "printed").questions
    text = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in (*FUNCTIONS, *KINDS, *LIT))


@pytest.mark.slow
def test_the_python_example_of_the_readme_runs_as_printed() -> None:
    """In a new process, where `transformer.figures` and plotly come with the first figure."""
    (example,) = code_blocks("README.md", "python")
    assert "transformer.figures." in example
    before = "import sys, transformer\nassert 'plotly' not in sys.modules and 'figures' not in vars(transformer)\n"
    after = "assert trace.cross.weights.shape[-2:] == (len(trace.target_in), len(trace.source_tokens))\n"
    command = [sys.executable, "-c", f"{before}{example}{after}assert 'plotly' in sys.modules"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_recipes_for_researchers_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    blocks = code_blocks("docs/research.md", "python")
    assert len(blocks) >= 9
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/research.md", "exec"), names)
    assert {"role", "best", "pruned", "methods", "gradient", "kept", "mine"} <= set(names)
