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

import streamlit as st
import tomli_w

from transformer.lessons import Lesson, LessonError, Link, parse_lesson
from transformer.lessons.lesson import MOST_STOPS, TITLE
from transformer.lessons.questions import number_in
from transformer.texts import _

NAME = "~draft"  # in links and in the session; no file has it
KEY, BEFORE = "headscope_draft", "headscope_draft_before"
REQUIRED = ("title", "view", "text", "kind", "ask")  # written to the file also while they are empty
ONLY = {"options": ("choose", "order"), "tolerance": ("number",)}  # field -> kinds of questions that have it
_numbers = itertools.count(1)


@dataclass
class DraftStop:
    """values: the table of a stop, without its question; question: that table, with kind "" for none and with numbers
    and options as they are typed, an option a line."""

    values: dict[str, Any]
    question: dict[str, Any] = field(default_factory=dict)
    id: int = field(default_factory=lambda: next(_numbers))  # of its widgets, whatever its place

    def table(self) -> dict[str, Any]:
        """For the file: without what another kind of question would need."""
        kind = self.question.get("kind", "")
        values = _filled(self.values | {"cell": _without_empty(self.values.get("cell", ""))})
        if not kind:
            return values
        made = {name: value for name, value in self.question.items() if kind in ONLY.get(name, (kind,))}
        if isinstance(options := made.get("options"), str):
            made["options"] = [line.strip() for line in options.split("\n") if line.strip()]
        if kind == "order":
            made.pop("answer", None)
        elif kind == "number" and isinstance(made.get("answer"), str):
            made["answer"] = _number(made["answer"])
        if isinstance(made.get("tolerance"), str):
            made["tolerance"] = _number(made["tolerance"])
        for name in ("options", "answer"):
            if name in made:
                made[name] = _without_empty(made[name])
        return values | {"question": _filled(made)}

    @classmethod
    def of(cls, table: dict[str, Any]) -> DraftStop:
        """From a file that can be read."""
        question = dict(table.pop("question", {}))
        if isinstance(options := question.get("options"), list):
            question["options"] = "\n".join(options)
        for name in ("answer", "tolerance"):
            if isinstance(question.get(name), int | float):
                question[name] = f"{question[name]:.12g}"
        return cls(table, question)


def _without_empty(value: Any) -> Any:
    """What a function computes, without the arguments that are left empty; another value as it is."""
    return {name: one for name, one in value.items() if one != ""} if isinstance(value, dict) else value


def _number(text: str) -> float | str:
    """A number as typed, with a point or a comma; another text as it is, which the file's reader refuses."""
    found = number_in(text)
    return text if found is None else found


@dataclass
class Draft:
    """values: title, about and minutes."""

    values: dict[str, Any] = field(default_factory=dict)
    stops: list[DraftStop] = field(default_factory=list)
    chosen: int = 0  # id of the stop that is edited

    def text(self) -> str:
        """The file."""
        tables = {**_filled(self.values), "stop": [stop.table() for stop in self.stops]}
        return tomli_w.dumps(tables, multiline_strings=True)

    def lesson(self, pages: Collection[str]) -> Lesson:
        """Raises LessonError."""
        return parse_lesson(self.text(), NAME, pages)

    def stop(self) -> DraftStop | None:
        return next((stop for stop in self.stops if stop.id == self.chosen), None)


def _filled(table: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that say something, and those that a file must have."""
    return {name: value for name, value in table.items() if value not in ("", [], 0.0, False) or name in REQUIRED}


def find() -> Draft | None:
    """The draft of this session."""
    found: Draft | None = st.session_state.get(KEY)
    return found


def start() -> Draft:
    """The draft of this session, an empty one if there is none."""
    return find() or _keep(Draft({"title": _("My lesson"), "about": "", "minutes": 10}))


def _keep(draft: Draft) -> Draft:
    st.session_state[KEY] = draft
    return draft


def remember() -> None:
    """Keep the draft as it is now, before something is taken away."""
    if (draft := find()) is not None:
        st.session_state[BEFORE] = copy.deepcopy(draft)


def forget() -> None:
    st.session_state.pop(KEY, None)


def can_undo() -> bool:
    return BEFORE in st.session_state


def undo() -> None:
    """Callback: the draft before the last thing that was taken away."""
    _keep(st.session_state.pop(BEFORE))


def add(link: Link, title: str) -> int:
    """Add a stop with this view and go on editing it. Returns its number; 0 if the lesson is full."""
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
    stops = [DraftStop.of(table) for table in values.pop("stop")]
    return Draft(values, stops, stops[0].id)


def load(text: str, pages: Collection[str]) -> None:
    """Edit the lesson of a file instead. Raises LessonError, and then the draft stays."""
    draft = read(text, pages)
    remember()
    _keep(draft)


def found_lesson(pages: Collection[str]) -> Lesson | LessonError | None:
    """The draft as a lesson to try, or what is missing."""
    draft = find()
    if draft is None:
        return None
    try:
        return draft.lesson(pages)
    except LessonError as error:
        return error
