"""Lesson files: TOML in, a `Lesson` out. An error names the line, the field and what is allowed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from transformer.checks import shown
from transformer.lessons.answers import AnswerError, check_arguments
from transformer.lessons.questions import KINDS, PRESSED, Computed, Question
from transformer.texts import Text, UserError, any_of

LARGEST, MOST_STOPS, MOST_OPTIONS = 200_000, 60, 12  # bytes, stops, options of a question
TITLE, SENTENCE, PARAGRAPH = 120, 400, 1500  # characters
FIRST = "attention-in-10-minutes"  # the lesson for a person who has never seen any of it
LIT = ("picture", "sentence", "parts")  # what a stop may light, named as people see it
SECTION = re.compile(r"[1-7](\.\d){0,2}|abstract|")


class LessonError(UserError):
    """A lesson file that cannot be read."""

    @property
    def without_line(self) -> str:
        """The same for a person who sees no lines."""
        return str(self.message.values.get("what", self))


@dataclass(frozen=True)
class Link:
    """A view of the app: the page's path ("" is Heads) and the parameters, as in a link."""

    page: str
    params: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.page + (f"?{urlencode(self.params)}" if self.params else "")

    @classmethod
    def parse(cls, text: str) -> Link:
        """From a link as copied from the address bar, or its part after the server's name."""
        parts = urlsplit(text.strip())
        return cls(parts.path.strip("/"), tuple(parse_qsl(parts.query, keep_blank_values=True)))


@dataclass(frozen=True)
class Stop:
    """One place of a lesson. section: of the paper; lit: what to look at, one of LIT, "" for the whole page; cell: the
    cell that is pressed, where it follows from the sentence."""

    title: str
    view: Link
    text: str
    section: str = ""
    lit: str = ""
    cell: Computed | None = None
    question: Question | None = None


@dataclass(frozen=True)
class Lesson:
    """name: in links, the file's name without its ending. minutes: how long it takes, as its author says."""

    name: str
    title: str
    about: str
    minutes: int
    stops: tuple[Stop, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(stop.question for stop in self.stops if stop.question is not None)


class _Table:
    """A table of the file that knows its lines. path: its headings, as "stop 3" and "question"."""

    def __init__(self, values: Mapping[str, Any], lines: Mapping[str, int], start: int, name: Text | str) -> None:
        self.values, self.lines, self.start, self.name = values, lines, start, name

    def error(self, field: str, reason: Text | str) -> LessonError:
        what = Text("{field} of {table}: {reason}", field=field, table=self.name, reason=reason)
        return LessonError("line {line}: {what}", line=self.lines.get(field, self.start), what=what)

    def only(self, allowed: Collection[str]) -> None:
        for field in self.values:
            if field not in allowed:
                raise self.error(field, Text("there is no such field; choose {names}", names=any_of(allowed, field)))

    def text(self, field: str, longest: int, default: str | None = None) -> str:
        value = self.values.get(field, default)
        if value is None:
            raise self.error(field, Text('it is missing; write {field} = "..."', field=field))
        if not isinstance(value, str) or len(value) > longest or (default is None and not value.strip()):
            raise self.error(
                field,
                Text(
                    "it is {value}; it must be a text of 1 to {longest} characters", value=shown(value), longest=longest
                ),
            )
        return value.strip()

    def number(self, field: str, low: float, high: float, default: float) -> float:
        value = self.values.get(field, default)
        if type(value) not in (int, float) or not low <= value <= high:
            raise self.error(
                field,
                Text(
                    "it is {value}; it must be a number from {low:g} to {high:g}",
                    value=shown(value),
                    low=low,
                    high=high,
                ),
            )
        return float(value)

    def choice(self, field: str, choices: Sequence[str], default: str | None = None) -> str:
        value = self.values.get(field, default)
        if value not in choices:
            raise self.error(
                field,
                Text(
                    "it is {value}; choose {names}", value=shown(value), names=any_of([c for c in choices if c], value)
                ),
            )
        return str(value)


def _lines(text: str) -> list[tuple[str, dict[str, int], int]]:
    """The tables in the order of the file: heading, field -> line, and the heading's own line."""
    found: list[tuple[str, dict[str, int], int]] = [("", {}, 1)]
    quoted = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if quoted:
            quoted = "" if quoted in line else quoted
            continue
        heading = re.match(r"\s*\[+\s*([\w.\s]+?)\s*\]+\s*(?:#.*)?$", line)
        field = re.match(r"\s*([\w-]+)\s*=\s*(.*)$", line)
        if heading:
            found.append((heading[1].replace(" ", ""), {}, number))
        elif field:
            found[-1][1].setdefault(field[1], number)
            for mark in ('"""', "'''"):
                if field[2].startswith(mark) and mark not in field[2][3:]:
                    quoted = mark
    return found


def parse_lesson(text: str, name: str, pages: Collection[str] | None = None) -> Lesson:
    """Read a lesson file. pages: the paths of the app's pages, if the views are to be checked. Raises LessonError."""
    if len(text.encode("utf-8", "replace")) > LARGEST:
        raise LessonError("a lesson has at most {largest:,} bytes", largest=LARGEST)
    try:
        file = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise LessonError("this is not a TOML file: {reason}", reason=str(error)[:200]) from error
    tables = _lines(text)
    whole = _Table(file, tables[0][1], 1, Text("the lesson"))
    whole.only(("title", "about", "minutes", "stop"))
    stops = file.get("stop", [])
    if (
        not isinstance(stops, list)
        or not 1 <= len(stops) <= MOST_STOPS
        or not all(isinstance(one, dict) for one in stops)
    ):
        raise whole.error("stop", Text("a lesson has 1 to {most} stops, each under a line [[stop]]", most=MOST_STOPS))
    headings = [index for index, (heading, *_) in enumerate(tables) if heading == "stop"]
    made = []
    for number, values in enumerate(stops, start=1):
        start = headings[number - 1] if number <= len(headings) else 0
        end = headings[number] if number < len(headings) else len(tables)
        made.append(_stop(values, tables[start:end], number, pages))
    return Lesson(
        name,
        whole.text("title", TITLE),
        whole.text("about", SENTENCE, ""),
        int(whole.number("minutes", 1, 600, 45)),
        tuple(made),
    )


def _stop(
    values: Mapping[str, Any],
    tables: Sequence[tuple[str, dict[str, int], int]],
    number: int,
    pages: Collection[str] | None,
) -> Stop:
    _, lines, start = tables[0]
    table = _Table(values, lines, start, Text("stop {number}", number=number))
    table.only(("title", "section", "view", "text", "lit", "cell", "question"))
    view = Link.parse(table.text("view", 4000))
    if pages is not None and view.page not in pages:
        names = any_of([page for page in pages if page], view.page)
        raise table.error(
            "view",
            Text(
                "no page has the path {page}; choose {names}, or nothing before ? for Heads",
                page=shown(view.page),
                names=names,
            ),
        )
    section = table.text("section", 12, "")
    if not SECTION.fullmatch(section):
        raise table.error(
            "section",
            Text("it is {value}; write a section of the paper, such as 3.2.1, or leave it out", value=shown(section)),
        )
    cell = values.get("cell")
    if cell is not None and (not isinstance(cell, dict) or cell.get("function") != "largest_cell"):
        raise table.error("cell", Text("write a function that gives one: largest_cell"))
    question = values.get("question")
    if question is not None and not isinstance(question, dict):
        raise table.error("question", Text("write it as a table of its own, under a line [stop.question]"))
    made = None
    if question is not None:
        below = [one for one in tables if one[0].startswith("stop.question")]
        _, lines, start = below[0] if below else tables[0]
        made = _question(_Table(question, lines, start, Text("the question of stop {number}", number=number)))
    return Stop(
        table.text("title", TITLE),
        view,
        table.text("text", PARAGRAPH),
        section,
        table.choice("lit", ("", *LIT), ""),
        None if cell is None else _computed(table, "cell", cell),
        made,
    )


def _computed(table: _Table, field: str, value: Mapping[str, Any]) -> Computed:
    arguments = {name: one for name, one in value.items() if name != "function"}
    try:
        check_arguments(str(value.get("function", "")), arguments)
    except AnswerError as error:
        raise table.error(field, error.message) from error
    return Computed(str(value["function"]), arguments)


def _question(table: _Table) -> Question:
    table.only(("kind", "ask", "options", "answer", "tolerance", "why", "cover"))
    kind = table.choice("kind", KINDS)
    options = table.values.get("options", [])
    chosen: tuple[str, ...] | Computed = ()
    if isinstance(options, dict):
        chosen = _computed(table, "options", options)
    elif (
        isinstance(options, list)
        and len(options) <= MOST_OPTIONS
        and all(isinstance(one, str) and len(one) <= SENTENCE for one in options)
    ):
        chosen = tuple(options)
    else:
        raise table.error("options", Text("write at most {most} texts in brackets, or a function", most=MOST_OPTIONS))
    if (kind in ("choose", "order") and not chosen) or (isinstance(chosen, tuple) and len(set(chosen)) != len(chosen)):
        raise table.error("options", Text("this kind of question needs two different options or more"))
    answer = _answer(table, kind, chosen)
    cover = table.values.get("cover", False)
    if not isinstance(cover, bool):
        raise table.error("cover", Text("it is {value}; write true or false", value=shown(cover)))
    return Question(
        kind, table.text("ask", SENTENCE), answer, chosen, table.number("tolerance", 0, 1e9, 0),
        table.text("why", SENTENCE, ""), cover,
    )  # fmt: skip


def _answer(
    table: _Table, kind: str, options: tuple[str, ...] | Computed
) -> str | float | tuple[str, ...] | Computed | None:
    value = table.values.get("answer")
    if isinstance(value, dict):
        return _computed(table, "answer", value)
    if kind == "order":
        return tuple(options) if isinstance(options, tuple) else None
    if value is None:
        if kind == "text":
            return None
        raise table.error("answer", Text("it is missing; give it, or a function that computes it"))
    if kind == "number":
        return table.number("answer", -1e15, 1e15, 0)
    text = table.text("answer", SENTENCE)
    if kind == "choose" and isinstance(options, tuple) and text not in options:
        raise table.error("answer", Text("it is {value}; it must be one of the options", value=shown(text)))
    if kind == "shape":
        raise table.error("answer", Text('a shape is computed; write {{function = "shape", tensor = "cross.weights"}}'))
    if kind in PRESSED and kind != "token" and not re.fullmatch(r"\d+([.,]\d+)?", text):
        raise table.error(
            "answer", Text("it is {value}; write a row as 3, a cell as 3,2 and a head as 2.5", value=shown(text))
        )
    return text


def to_toml(lesson: Lesson) -> str:
    """The file of a lesson; `parse_lesson` reads the same lesson from it."""
    import tomli_w

    def plain(value: Any) -> Any:
        if isinstance(value, Computed):
            return {"function": value.function, **value.arguments}
        return list(value) if isinstance(value, tuple) else value

    stops = []
    for stop in lesson.stops:
        table: dict[str, Any] = {"title": stop.title, "view": str(stop.view), "text": stop.text}
        table |= {name: value for name, value in (("section", stop.section), ("lit", stop.lit)) if value}
        if stop.cell is not None:
            table["cell"] = plain(stop.cell)
        if stop.question is not None:
            fields = {"kind": stop.question.kind, "ask": stop.question.ask}
            for name in ("options", "answer", "tolerance", "why", "cover"):
                value = getattr(stop.question, name)
                if value not in ((), None, 0.0, "", False) and not (name == "answer" and stop.question.kind == "order"):
                    fields[name] = plain(value)
            table["question"] = fields
        stops.append(table)
    return tomli_w.dumps(
        {"title": lesson.title, "about": lesson.about, "minutes": lesson.minutes, "stop": stops}, multiline_strings=True
    )
