"""The lessons on a page without a server: a file for each language, LANGUAGE.json, with those on the page's models.

    [{name, title, about, minutes, first, picture,
      stops: [{number, title, section, page, params, lit, cell, text, question}]}]

first: whether it is the one for a person who is new here. picture: address of its thumbnail, "" without one.
page, params: of the stop's view. text: paragraphs and the like; each is [tag, ...children], a child is a text or again
such a list. question, null for none: kind, ask, why, cover, tolerance, options, answer, and
    said         texts of options and answers -> the reader's language
    tokens       the side whose tokens stand beside the question, "" for none
    translation  whether it is about another translation of the sentence
An option or answer that is computed is {function, arguments}; frontend/src/lesson/answers.js has the functions. Those
that need neither a model nor a sentence are computed here.
"""

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from markdown_it.tree import SyntaxTreeNode

from transformer.files import write_whole
from transformer.lessons.answers import FUNCTIONS
from transformer.lessons.lesson import FIRST, Lesson, Stop, parse_lesson
from transformer.lessons.questions import Computed, Question
from transformer.lessons.thumbnail import thumbnail
from transformer.lessons.worksheet import markdown
from transformer.paths import lesson_folders
from transformer.texts import Language, UserError, in_language, translate

FIRST_PAGE = "heads"  # has no name in links
CONSTANT = ("bleu", "path_length", "steps_in_turn", "learning_rate")  # functions of their arguments alone


def lessons() -> list[Lesson]:
    """All that a server would offer. Raises UserError for one that cannot be read."""
    found = []
    for path in (path for folder in lesson_folders() for path in sorted(folder.glob("*.toml"))):
        try:
            found.append(parse_lesson(path.read_text(encoding="utf-8"), path.stem))
        except (OSError, ValueError) as error:
            raise UserError("the lesson {name} cannot be read: {error}", name=path.name, error=error) from error
    return found


def write_lessons(folder: Path, languages: Iterable[Language], models: Collection[str]) -> list[str]:
    """Write a file for each language into the folder, which is made if it is missing, and return their names; none, if
    no lesson speaks of these models alone."""
    found = [one for one in lessons() if _models(one) <= set(models)]
    names = []
    for language in languages if found else ():
        folder.mkdir(parents=True, exist_ok=True)
        with in_language(language):
            text = json.dumps(list(map(_lesson, found)), ensure_ascii=False, separators=(",", ":"))
        names.append(f"{language.code}.json")
        write_whole(folder / names[-1], text.encode("utf-8"))
    return names


def _models(lesson: Lesson) -> set[str]:
    return {value for stop in lesson.stops for name, value in stop.view.params if name == "checkpoint"}


def _lesson(lesson: Lesson) -> dict[str, Any]:
    return {
        "name": lesson.name,
        "title": translate(lesson.title),
        "about": translate(lesson.about),
        "minutes": lesson.minutes,
        "first": lesson.name == FIRST,
        "picture": thumbnail(lesson.name),
        "stops": [_stop(stop, number) for number, stop in enumerate(lesson.stops, start=1)],
    }


def _stop(stop: Stop, number: int) -> dict[str, Any]:
    return {
        "number": number,
        "title": translate(stop.title),
        "section": stop.section,
        "page": stop.view.page or FIRST_PAGE,
        "params": dict(stop.view.params),
        "lit": stop.lit,
        "cell": _value(stop.cell),
        "text": markdown_tree(translate(stop.text)),
        "question": None if stop.question is None else _question(stop.question),
    }


def _question(question: Question) -> dict[str, Any]:
    tokens = "target_in" if question.asks_for_the_mask else "target_out"
    return {
        "kind": question.kind,
        "ask": translate(question.ask),
        "why": translate(question.why),
        "cover": question.cover,
        "tolerance": question.tolerance,
        "options": _value(question.options),
        "answer": _value(question.answer),
        "said": {text: translate(text) for text in _texts(question) if translate(text) != text},
        "tokens": tokens if question.asks_for_a_step else "",
        "translation": question.asks_for_a_translation,
    }


def _texts(question: Question) -> list[str]:
    """What the file's author wrote as options and answer."""
    options = () if isinstance(question.options, Computed) else question.options
    return [*options, *([question.answer] if isinstance(question.answer, str) else [])]


def _value(given: object) -> Any:
    if not isinstance(given, Computed):
        return given
    if given.function in CONSTANT:
        return FUNCTIONS[given.function](None, None, **given.arguments)
    return {"function": given.function, "arguments": dict(given.arguments)}


def markdown_tree(text: str) -> list[Any]:
    """A text in Markdown as lists, see above."""
    return _children(SyntaxTreeNode(markdown().parse(text)))


def _children(node: SyntaxTreeNode) -> list[Any]:
    return [child for one in node.children for child in _node(one)]


def _node(node: SyntaxTreeNode) -> list[Any]:
    match node.type:
        case "text" | "text_special":
            return [node.content] if node.content else []
        case "softbreak":
            return [" "]
        case "inline":
            return _children(node)
        case "paragraph" if node.hidden:  # of a list without blank lines
            return _children(node)
        case "code_inline":
            return [["code", node.content]]
        case "fence" | "code_block":
            return [["pre", node.content]]
    return [[node.tag, *_children(node)]]
