"""The terms of a language: locale/<language>.terms.tsv, as translators keep it."""

import csv
from dataclasses import dataclass
from pathlib import Path

LOCALE = Path(__file__).resolve().parents[2] / "locale"


@dataclass(frozen=True)
class Term:
    """english: the term's forms, the first as it stands in brackets where a page introduces it; others: what other
    texts in the language call it; introduced: whether a page that uses it does so."""

    english: tuple[str, ...]
    translated: str
    others: tuple[str, ...]
    introduced: bool


def terms(language: str) -> list[Term]:
    with (LOCALE / f"{language}.terms.tsv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file, delimiter="\t")
    return [
        Term(tuple(english.split(", ")), translated, tuple(filter(None, others.split(", "))), introduced == "page")
        for english, translated, others, introduced in rows
    ]
