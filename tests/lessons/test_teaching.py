"""docs/teaching.md says what a lesson may contain."""

from __future__ import annotations

import re
from pathlib import Path

from transformer.lessons import parse_lesson
from transformer.lessons.answers import FUNCTIONS
from transformer.lessons.lesson import LIT
from transformer.lessons.questions import KINDS

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "teaching.md").read_text(encoding="utf-8")


def test_the_lesson_of_the_document_is_one() -> None:
    (printed,) = re.findall(r"(?s)```toml\n(.*?)```", TEXT)
    assert parse_lesson(printed, "printed").questions


def test_it_names_every_function_kind_and_place() -> None:
    assert all(f"`{name}`" in TEXT for name in (*FUNCTIONS, *KINDS, *LIT))
