"""The lesson that a person writes: kept in the session as the tables of its file, also while they are incomplete.

`Add to my lesson` in the menu Link adds what is on the screen; the page Lessons edits, tries, saves and loads it
(pages/lessons/own.py).
"""

from __future__ import annotations

import copy
import itertools
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import tomli_w

from pages.runtime.session import from_session
from transformer.lessons import Lesson, LessonError, Link, parse_lesson
from transformer.lessons.lesson import MOST_STOPS, TITLE
from transformer.lessons.questions import number_in
from transformer.texts import _

NAME = "~draft"  # in links and in the session; no file has it
REQUIRED = ("title", "view", "text", "kind", "ask")  # written to the file also while they are empty
KINDS_WITH = {"options": ("choose", "order"), "tolerance": ("number",)}  # field -> kinds of questions that have it
_stop_ids = itertools.count(1)


@dataclass
class DraftStop:
    """One stop of the draft. values: its table in the lesson's file, without the question.

    question: the table of its question. "kind" is "" for none; numbers are texts as typed, options one text with a line
    for each.
    id: of its widgets, whatever its place among the stops.
    """

    values: dict[str, Any]
    question: dict[str, Any] = field(default_factory=dict)
    id: int = field(default_factory=lambda: next(_stop_ids))

    def table(self) -> dict[str, Any]:
        """Its table in the file, without the fields of other kinds of questions."""
        kind = self.question.get("kind", "")
        values = _filled(self.values | {"cell": _without_empty(self.values.get("cell", ""))})
        if not kind:
            return values
        question = {name: value for name, value in self.question.items() if kind in KINDS_WITH.get(name, (kind,))}
        if isinstance(options := question.get("options"), str):
            question["options"] = [line.strip() for line in options.split("\n") if line.strip()]
        if kind == "order":
            question.pop("answer", None)
        elif kind == "number" and isinstance(question.get("answer"), str):
            question["answer"] = _number(question["answer"])
        if isinstance(question.get("tolerance"), str):
            question["tolerance"] = _number(question["tolerance"])
        for name in ("options", "answer"):
            if name in question:
                question[name] = _without_empty(question[name])
        return values | {"question": _filled(question)}

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> DraftStop:
        """The stop of a table in a file that was read without an error."""
        question = dict(table.pop("question", {}))
        if isinstance(options := question.get("options"), list):
            question["options"] = "\n".join(options)
        for name in ("answer", "tolerance"):
            if isinstance(question.get(name), int | float):
                question[name] = f"{question[name]:.12g}"
        return cls(table, question)


def _without_empty(value: Any) -> Any:
    """A table with a function and its arguments, without the arguments that are left empty; another value as it is."""
    return {name: entry for name, entry in value.items() if entry != ""} if isinstance(value, dict) else value


def _number(text: str) -> float | str:
    """A number as typed, with a point or a comma; another text as it is, which the file's reader refuses."""
    found = number_in(text)
    return text if found is None else found


@dataclass
class Draft:
    """A lesson that may be incomplete. values: title, about and minutes; chosen: id of the stop that is edited."""

    values: dict[str, Any] = field(default_factory=dict)
    stops: list[DraftStop] = field(default_factory=list)
    chosen: int = 0

    def text(self) -> str:
        """The text of its file."""
        tables = {**_filled(self.values), "stop": [stop.table() for stop in self.stops]}
        return tomli_w.dumps(tables, multiline_strings=True)

    def lesson(self, pages: Collection[str]) -> Lesson:
        """The lesson, read from that text. Raises LessonError."""
        return parse_lesson(self.text(), NAME, pages)


def _filled(table: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that say something, and those that a file must have."""
    return {name: value for name, value in table.items() if value not in ("", [], 0.0, False) or name in REQUIRED}


@dataclass
class Drafts:
    """Of one session. current: the draft; before: as it was before the last thing that was taken away; refused: why the
    last file was not loaded, to be said once."""

    current: Draft | None = None
    before: Draft | None = None
    refused: str = ""


def drafts() -> Drafts:
    """What this session keeps of its lesson."""
    return from_session(Drafts)


def current() -> Draft | None:
    """The draft of this session."""
    return drafts().current


def start() -> Draft:
    """The draft of this session, an empty one if there is none."""
    kept = drafts()
    kept.current = kept.current or Draft({"title": _("My lesson"), "about": "", "minutes": 10})
    return kept.current


def prepare_undo() -> None:
    """Keep the draft as it is now, before something is taken away."""
    kept = drafts()
    if kept.current is not None:
        kept.before = copy.deepcopy(kept.current)


def delete() -> None:
    """Callback: begin a new lesson; the session has no draft any more."""
    prepare_undo()
    drafts().current = None


def undo() -> None:
    """Callback: the draft as it was before the last thing that was taken away."""
    kept = drafts()
    kept.current, kept.before = kept.before, None


def add(link: Link, title: str) -> int:
    """Add a stop with this view and this title and go on editing it. Returns its number; 0 if the lesson is full."""
    draft = start()
    if len(draft.stops) == MOST_STOPS:
        return 0
    stop = DraftStop({"title": title[:TITLE], "view": str(link), "text": _("Look at this view.")})
    draft.stops.append(stop)
    draft.chosen = stop.id
    return len(draft.stops)


def read(text: str, pages: Collection[str]) -> Draft:
    """The draft of a lesson file. Raises LessonError."""
    parse_lesson(text, NAME, pages)
    values = tomllib.loads(text)
    stops = [DraftStop.from_table(table) for table in values.pop("stop")]
    return Draft(values, stops, stops[0].id)


def load(text: str, pages: Collection[str]) -> None:
    """Edit the lesson of a file instead. Raises LessonError, and then the draft stays."""
    draft = read(text, pages)
    prepare_undo()
    drafts().current = draft


def as_lesson(pages: Collection[str]) -> Lesson | LessonError | None:
    """The draft as a lesson to try, or what is missing in it; None if there is no draft."""
    draft = current()
    if draft is None:
        return None
    try:
        return draft.lesson(pages)
    except LessonError as error:
        return error
