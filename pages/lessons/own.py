"""My lesson: write one while exploring. Add views with the menu Link, edit them here, try, save and load."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from pages.components.file_field import file_field
from pages.components.sentences import paragraph, point
from pages.frame import draft, lesson
from pages.frame.draft import Draft, DraftStop
from pages.frame.frame import PageFrame
from pages.frame.link import app_address
from pages.frame.messages import message
from pages.frame.options import show_value
from pages.frame.state import LESSON
from pages.runtime.followers import keep_own
from pages.runtime.session import reported
from pages.runtime.texts import plain_markdown
from transformer.lessons import Lesson, LessonError, Link
from transformer.lessons.answers import FUNCTIONS, READINGS, gives, parameters
from transformer.lessons.lesson import LARGEST, MOST_OPTIONS, PARAGRAPH, SENTENCE, TITLE
from transformer.lessons.questions import number_in, plain
from transformer.model.tap import KINDS as ATTENTIONS
from transformer.texts import N_, _, translate
from transformer.view.training_messages import FileError, read_file

FILE = "lesson_file"
LONGEST_VIEW = 4000  # characters
SIDES, OFFSETS = ("source", "target"), ("previous", "same", "next")
PLACES = {
    "": N_("the whole page"),
    "picture": N_("the picture"),
    "sentence": N_("the sentence"),
    "parts": N_("the menu of parts"),
}
ASKED = {
    "": N_("no question"),
    "choose": N_("choose one of several"),
    "number": N_("a number"),
    "cell": N_("press a cell"),
    "head": N_("press a head"),
    "row": N_("press a row"),
    "token": N_("press a column"),
    "order": N_("put in order"),
    "shape": N_("the shape of a tensor"),
    "text": N_("an answer in words"),
}
COMPUTED = {
    "": N_("typed here"),
    "largest_key": N_("computed: the token with the largest weight of a row"),
    "largest_cell": N_("computed: the cell with the largest weight of a row"),
    "weight": N_("computed: one attention weight"),
    "row_sum": N_("computed: the sum of a row"),
    "even_weight": N_("computed: each weight of a row that looks evenly at all tokens"),
    "zeros_by_mask": N_("computed: the zeros of a decoder row that the mask makes"),
    "row_entropy": N_("computed: the entropy of a row, from 0 to 1"),
    "heads_on": N_("computed: the heads that look at the previous, same or next token"),
    "token_count": N_("computed: the number of tokens"),
    "output_token": N_("computed: the token that a step predicts"),
    "fed_token": N_("computed: the token that a step is fed"),
    "probability": N_("computed: the probability of a step's token"),
    "least_certain": N_("computed: the output token with the smallest probability"),
    "source_tokens": N_("all source tokens"),
    "target_tokens": N_("all output tokens"),
    "shape": N_("computed: the shape of a tensor"),
    "size": N_("computed: a size of the model"),
    "scale": N_("computed: what the scores are divided by"),
    "mean_largest_weight": N_("computed: the mean of the largest weights"),
    "translation": N_("computed: the model's translation"),
    "bleu": N_("computed: BLEU of a text"),
    "path_length": N_("computed: steps between two tokens"),
    "steps_in_turn": N_("computed: steps that wait for each other"),
    "learning_rate": N_("computed: the learning rate of the paper"),
}

PRESSED = {"": N_("as in the view"), "largest_cell": COMPUTED["largest_cell"]}


def _widget(key: str, value: Any, chosen: Callable[[Any], None]) -> dict[str, Any]:
    """Key and callback of a widget that shows this value now; whatever is typed is in the draft at once."""
    key = f"hs-own-{key}"
    show_value(key, value)
    return {"key": key, "on_change": lambda: chosen(st.session_state[key])}


def _text(table: dict[str, Any], key: str, field: str, label: str, longest: int, area: bool = False) -> None:
    def typed(text: Any) -> None:
        table[field] = str(text)[:longest]

    widget = _widget(f"{key}-{field}", str(table.get(field, "")), typed)
    (st.text_area if area else st.text_input)(label, max_chars=longest, **widget)


def _select(
    key: str, label: str, names: Mapping[str, str], value: Any, chosen: Callable[[Any], None], **more: Any
) -> str:
    """One of the names of a table of labels; the first instead of another one."""
    value = value if value in names else next(iter(names))
    widget = _widget(key, value, chosen)
    st.selectbox(label, list(names), format_func=lambda name: translate(names[name]), **more, **widget)
    return str(value)


def _choice(table: dict[str, Any], key: str, field: str, label: str, names: Mapping[str, str], **more: Any) -> str:
    return _select(f"{key}-{field}", label, names, table.get(field, ""), partial(table.__setitem__, field), **more)


def draw(frame: PageFrame) -> None:
    keep_own()
    point(_("Write a lesson while you explore: in the menu Link of any page, press “Add to my lesson”."))
    pages = tuple(listed.path for listed in frame.links)
    if refused := draft.drafts().refused:
        draft.drafts().refused = ""
        message(refused, "error")
    own = draft.current()
    with st.container(key="hs-own"):
        if own is not None:
            _lesson(own, pages)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if draft.drafts().before is not None:
                st.button(_("Bring back what was taken away"), key="hs-own-undo", on_click=draft.undo)
            file_field(FILE, _("Load a lesson (a .toml file)"), ".toml", partial(_load, pages))
        paragraph(_("It is kept until this page is closed or reloaded. Save it as a file to keep it."), quiet=True)


def _lesson(own: Draft, pages: tuple[str, ...]) -> None:
    _text(own.values, "lesson", "title", _("Title of the lesson"), TITLE)
    _text(own.values, "lesson", "about", _("For whom it is, in a sentence"), SENTENCE)
    widget = _widget("minutes", own.values.get("minutes", 10), partial(own.values.__setitem__, "minutes"))
    st.number_input(_("Minutes that it takes"), 1, 600, step=1, width=220, **widget)
    for number, stop in enumerate(own.stops, start=1):
        _line(own, number, stop)
    found = draft.as_lesson(pages)
    if not own.stops:
        paragraph(_("It has no stop yet. Open a view that you want to show, and add it there."))
    elif isinstance(found, LessonError):
        message(_("To save it or try it, change this: {error}.", error=found.without_line), "note")
    _use(own, found if isinstance(found, Lesson) else None, pages)


def _line(own: Draft, number: int, stop: DraftStop) -> None:
    """A stop: its title and what is done with it; below, its fields if it is the one that is edited."""
    name = plain_markdown(str(stop.values.get("title", "")).strip() or _("without a title"))
    edited, key = own.chosen == stop.id, f"hs-own-{stop.id}"

    def choose() -> None:
        own.chosen = 0 if edited else stop.id

    def move(by: int) -> None:
        at = own.stops.index(stop)
        own.stops.insert(at + by, own.stops.pop(at))

    def remove() -> None:
        draft.prepare_undo()
        own.stops.remove(stop)

    with st.container(border=True, key=f"hs-own-stop-{stop.id}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            title = f"**{number}. {name}**" if edited else f"{number}. {name}"
            st.button(title, key=f"{key}-edit", on_click=choose, type="tertiary", width="stretch")
            for sign, what, label, act, off in (
                ("↑", "up", _("Move stop {n} up"), partial(move, -1), number == 1),
                ("↓", "down", _("Move stop {n} down"), partial(move, 1), number == len(own.stops)),
                ("✕", "remove", _("Remove stop {n}"), remove, False),
            ):
                st.button(sign, key=f"{key}-{what}", on_click=act, help=label.format(n=number), disabled=off)
        if edited:
            _stop(stop)


def _stop(stop: DraftStop) -> None:
    key, table = str(stop.id), stop.values
    _text(table, key, "title", _("Title of the stop"), TITLE)
    _text(table, key, "text", _("What to see here; Markdown is allowed"), PARAGRAPH, area=True)
    left, right = st.columns(2)
    with left:
        _choice(table, key, "lit", _("What to look at"), PLACES)
    with right:
        _text(table, key, "section", _("Section of the paper, or nothing"), 12)
    _text(table, key, "view", _("View: a link as the address bar has it"), LONGEST_VIEW)
    _computed(table, stop, "cell", _("Cell that is pressed when the stop opens"), PRESSED)
    kind = _choice(stop.question, key, "kind", _("Question"), ASKED)
    if not kind:
        return
    _text(stop.question, key, "ask", _("What is asked"), SENTENCE)
    if kind == "choose":
        sources = [name for name in FUNCTIONS if gives(name) == tuple[str, ...]]
        _given(stop, "options", _("Options"), _("One option a line"), sources)
    elif kind == "order":
        _given(stop, "options", _("Options"), _("One a line, in their right order"), [])
    if kind != "order":
        _given(stop, "answer", _("Right answer"), _("The right answer"), functions_for(kind))
    if kind == "number":
        _text(stop.question, key, "tolerance", _("How far a right number may be off"), 20)
    _text(stop.question, key, "why", _("Why it is so, in a sentence"), SENTENCE)
    cover = _widget(f"{key}-cover", bool(stop.question.get("cover")), partial(stop.question.__setitem__, "cover"))
    st.checkbox(_("Cover the view until somebody has answered"), **cover)


def functions_for(kind: str) -> list[str]:
    """The functions whose answers a kind of question can have."""
    if kind in ("row", "token"):
        return []
    if kind == "cell":
        return ["largest_cell"]
    answer = {"number": float, "shape": tuple[int, ...], "head": frozenset[str]}.get(kind, str)
    return [name for name in FUNCTIONS if gives(name) == answer and name != "largest_cell"]


def _given(stop: DraftStop, field: str, how: str, label: str, functions: Sequence[str]) -> None:
    """A field of the question that is typed, or computed by one of the functions from the open model and sentence."""
    table = stop.question
    always = table["kind"] == "shape"
    names = {name: COMPUTED[name] for name in ("", *functions) if name or not always}
    if not _computed(table, stop, field, how, names):
        long = field == "options"
        _text(table, str(stop.id), field, label, MOST_OPTIONS * SENTENCE if long else SENTENCE, long)


def _computed(table: dict[str, Any], stop: DraftStop, field: str, how: str, names: Mapping[str, str]) -> bool:
    """A field of a table of the stop that one of the functions may compute, and the function's arguments; whether one
    does. names: function -> label; with "" the field may have no function."""

    def choose(function: Any) -> None:
        table[field] = {"function": function, **from_view(stop, function)} if function else ""

    value = table.get(field, "")
    function = value.get("function", "") if isinstance(value, dict) else ""
    if function not in names:  # of another kind of question
        function = next(iter(names))
        choose(function)
    if len(names) > 1 or function:
        _select(f"{stop.id}-{field}-how", how, names, function, choose)
    if not isinstance(value := table.get(field, ""), dict):
        return False
    if wanted := parameters(function):
        for column, (name, kinds) in zip(st.columns(len(wanted)), wanted.items(), strict=True):
            with column:
                _argument(value, f"{stop.id}-{field}", name, kinds)
    return True


def _argument(value: dict[str, Any], key: str, name: str, kinds: Sequence[type]) -> None:
    names = {"kind": ATTENTIONS, "reading": READINGS, "side": SIDES, "offset": OFFSETS}.get(name)
    if names is not None:
        _select(f"{key}-{name}", name, {one: one for one in names}, value.get(name), partial(value.__setitem__, name))
        value.setdefault(name, names[0])
        return

    def typed(text: Any) -> None:
        value[name] = as_typed(str(text)[:SENTENCE], kinds)

    st.text_input(name, max_chars=SENTENCE, **_widget(f"{key}-{name}", str(value.get(name, "")), typed))


def as_typed(text: str, kinds: Sequence[type]) -> int | float | str:
    """An argument as a file has it: a number where the function takes one and one is typed."""
    if int in kinds and re.fullmatch(r"-?\d{1,12}", plain(text), re.ASCII):
        return int(plain(text))
    if float in kinds and (found := number_in(text)) is not None and abs(found) < 1e12:
        return found
    return text.strip()


def from_view(stop: DraftStop, function: str) -> dict[str, int | float | str]:
    """Arguments of a function as far as the view of the stop names them; else the first of each."""
    params = dict(Link.parse(str(stop.values.get("view", ""))).params)
    row, _comma, column = params.get("cell", "").partition(",")
    found = {
        "kind": params["kind"] if params.get("kind") in ATTENTIONS else "cross",
        "layer": params.get("layer", "1"), "head": params.get("head", "1"), "row": row or "1", "column": column or "1",
        "step": "1", "side": SIDES[0], "offset": OFFSETS[0], "least": "0.5", "tensor": "cross.weights", "name": "heads",
    }  # fmt: skip
    found["reading"] = params["rows"] if params.get("rows") in READINGS else READINGS[0]
    known = parameters(function)
    needed = {name: kinds for name, kinds in known.items() if type(None) not in kinds or name == "reading"}
    return {name: as_typed(found.get(name, ""), kinds) for name, kinds in needed.items()}


def _use(own: Draft, found: Lesson | None, pages: tuple[str, ...]) -> None:
    """Try the lesson, save it, and its link once the server has it."""
    name = file_name(str(own.values.get("title", "")))
    stops = [stop.id for stop in own.stops]
    at = stops.index(own.chosen) + 1 if own.chosen in stops else 1
    with st.container(horizontal=True, gap="small"):
        st.button(
            _("Try it"), key="hs-own-try", on_click=lesson.start, args=(draft.NAME, at), disabled=found is None,
            type="primary",
        )  # fmt: skip
        text = own.text().encode("utf-8", "replace") if found is not None else b""
        st.download_button(
            _("Save as a file"), text, f"{name}.toml", "application/toml", key="hs-own-save", on_click="ignore",
            disabled=found is None,
        )  # fmt: skip
        if own.stops:
            st.button(_("Start a new one"), key="hs-own-new", on_click=draft.delete)
    if found is None:
        return
    link = f"{app_address('lessons')[0]}?{urlencode({LESSON: name})}"
    served = lesson.files(pages).get(name)
    if served == replace(found, name=name):
        paragraph(_("This server has the lesson. Its link:"))
        st.code(link, language=None, wrap_lines=True)
    elif served is not None:
        paragraph(_("The server has another lesson in {name}.toml; put the new file in its place.", name=name))
    else:
        where = _("To give it as a link, put the file into the server's lessons folder (HEADSCOPE_LESSONS): {link}")
        paragraph(where.format(link=link), quiet=True)


def file_name(title: str) -> str:
    """A file's name without its ending, from a title in any script."""
    return re.sub(r"[^\w-]+", "-", title.lower()).strip("-_")[:60] or "lesson"


def _load(pages: tuple[str, ...]) -> None:
    """Callback: edit the lesson of a file, or say why not."""
    try:
        file = read_file(reported(FILE, "file"))
        if file is None:
            return
        draft.load(file.data[: LARGEST + 1].decode("utf-8"), pages)
    except (FileError, LessonError) as error:
        draft.drafts().refused = _("The file cannot be loaded: {error}.", error=error)
    except UnicodeDecodeError:
        draft.drafts().refused = _("The file cannot be loaded: it is not a text in UTF-8.")
