"""`make docs` writes the tables of documents, and the list of links, that come from data in the repository.

A table that is data as a whole stands between two marks. Of other tables only the first column is data, and each row
keeps its other cells; such a table is found by its head. tests/repository/test_documents.py is the diff.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks import playground_effects, table3
from tests.support import head_tables, licences, page_lists, paper_table
from transformer.files import write_whole
from transformer.view.languages import load_language
from transformer.web.lessons import lessons

ROOT = Path(__file__).resolve().parents[2]
START, END = "<!-- written by make docs -->", "<!-- end -->"


def marked(text: str, table: str) -> str:
    """The text with this table between the marks. Raises ValueError unless there is one of each."""
    before, rest = text.split(START)
    _, after = rest.split(END)
    return f"{before}{START}\n\n{table.strip()}\n\n{END}{after}"


def first_column(text: str, head: str, cells: Iterable[str]) -> str:
    """The text with one row for each first cell under this head, in this order. Raises ValueError if one has no row."""
    before, rest = text.split(f"{head}\n")
    table, blank, after = rest.partition("\n\n")
    line, *rows = table.split("\n")
    known = {row.split(" | ")[0].removeprefix("| "): row for row in rows}
    if missing := [cell for cell in cells if cell not in known]:
        raise ValueError(f"write a row for {', '.join(missing)} under {head}")
    return "\n".join([f"{before}{head}", line, *map(known.__getitem__, cells)]) + blank + after


def lesson_titles() -> list[str]:
    return [lesson.title for lesson in lessons()]


def in_korean(texts: Iterable[str]) -> list[str]:
    return [load_language("ko").translations[text] for text in texts]


TABLES: dict[str, Callable[[str], str]] = {  # document -> its text anew, from its text
    **page_lists.LISTS,
    "docs/heads.md": lambda text: marked(text, head_tables.tables()),
    "docs/licences.md": lambda text: marked(text, licences.table()),
    "docs/paper.md": lambda text: marked(text, paper_table.table()),
    "docs/playground.md": lambda text: marked(text, playground_effects.rows(playground_effects.stored())),
    "docs/table3.md": lambda text: marked(text, table3.table(table3.stored())),
    "docs/teaching.md": lambda text: first_column(text, "| lesson | for |", lesson_titles()),
    "docs/teaching.ko.md": lambda text: first_column(text, "| 수업 | 대상 |", in_korean(lesson_titles())),
}


def main() -> None:
    for name, anew in TABLES.items():
        path = ROOT / name
        write_whole(path, anew(path.read_text(encoding="utf-8")).encode())


if __name__ == "__main__":
    main()
