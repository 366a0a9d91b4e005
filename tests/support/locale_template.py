"""`make texts`: write locale/headscope.pot, for translators: every text that a person reads (transformer/texts.py) and
those of the scripts, which `make frontend` lists; and bring the languages that are there up to date."""

import ast
import builtins
import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from transformer.lessons import parse_lesson
from transformer.view.bundle import FOLDER

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "locale" / "headscope.pot"
HEADER = """\
# Translations template for Headscope.
# Copyright (C) 2026 The Headscope authors
# This file is distributed under the same license as the Headscope project.
#"""
MARKS = ("_", "N_")  # take a text as it stands and nothing else
UNDATED = (
    "POT-Creation-Date", "PO-Revision-Date", "Last-Translator", "Language-Team", "Report-Msgid-Bugs-To", "Generated-By",
)  # fmt: skip


def _calls(tree: ast.AST) -> Iterator[tuple[ast.Call, bool]]:
    """Calls whose first argument is a text for a person, and whether it must stand there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in (*MARKS, "Text"):
            yield node, node.func.id in MARKS
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            name = ast.unparse(node.exc.func)
            if not hasattr(builtins, name) and name != "MessageError":  # a UserError; Python's own are for programmers
                yield node.exc, False


def texts(code: str) -> list[str]:
    """The texts of a module, in order. Babel's own reader sees those inside f-strings from Python 3.12 on only."""
    found = []
    for call, strict in sorted(_calls(ast.parse(code)), key=lambda pair: (pair[0].lineno, pair[0].col_offset)):
        text = call.args[0] if call.args else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            found.append(text.value)
        elif strict:
            raise ValueError(f"line {call.lineno}: {ast.unparse(call)} needs a text as it stands")
    return found


@cache
def all_texts() -> tuple[str, ...]:
    """Every text of Python, of the scripts, of the lessons and of the models' examples, each once."""
    files = [*sorted(ROOT.glob("pages/**/*.py")), *sorted(ROOT.glob("transformer/**/*.py"))]
    found = [text for path in files for text in texts(path.read_text(encoding="utf-8"))]
    scripts = json.loads((FOLDER / "texts.json").read_text(encoding="utf-8"))
    lessons = [text for path in sorted(ROOT.glob("lessons/*.toml")) for text in lesson_texts(path)]
    examples = [text for path in sorted(ROOT.glob("checkpoints/*/examples.json")) for text in example_texts(path)]
    return tuple(dict.fromkeys([*found, *(text for entry in scripts.values() for text in entry), *lessons, *examples]))


def example_texts(path: Path) -> list[str]:
    """What a person reads of a model's examples; their sentences are data."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    return [entry[name] for entry in entries for name in ("title", "group", "look") if entry.get(name)]


def lesson_texts(path: Path) -> list[str]:
    """Every text of a lesson file that a person reads."""
    lesson = parse_lesson(path.read_text(encoding="utf-8"), path.stem)
    found = [lesson.title, lesson.about]
    for stop in lesson.stops:
        found += [stop.title, stop.text]
        if (question := stop.question) is not None:
            found += [question.ask, question.why]
            found += [text for one in (question.options, question.answer) if isinstance(one, tuple) for text in one]
            found += (
                [question.answer] if isinstance(question.answer, str) and question.kind in ("choose", "text") else []
            )
    return [text for text in found if text]


def catalogue(translations: dict[str, str] | None = None, language: str | None = None) -> bytes:
    """A catalogue file, the template by default; without dates, so that it changes only when a text does."""
    catalog = Catalog(project="Headscope", version="0.1.0", header_comment=HEADER, fuzzy=False, locale=language)
    for text in all_texts():
        catalog.add(text, (translations or {}).get(text, ""))
    written = io.BytesIO()
    write_po(written, catalog, width=119, no_location=True, sort_output=True)
    rows = written.getvalue().decode("utf-8").split("\n")
    return "\n".join(row for row in rows if not row.startswith(tuple(f'"{name}' for name in UNDATED))).encode("utf-8")


def update(path: Path) -> int:
    """Bring a language's file up to the texts of today: those that are gone go, new ones wait for a translation.
    Returns how many wait."""
    with path.open("rb") as file:
        known = {str(entry.id): str(entry.string) for entry in read_po(file) if entry.id and not entry.fuzzy}
    path.write_bytes(catalogue(known, path.stem))
    return sum(not known.get(text) for text in all_texts())


if __name__ == "__main__":
    TEMPLATE.write_bytes(catalogue())
    for path in sorted(TEMPLATE.parent.glob("*.po")):
        print(f"{path.name}: {update(path)} of {len(all_texts()):,} texts to translate")
