"""The lesson beside the page it leads through: where it is, what to look at, a question, next and back.

A stop is a link. Going to one opens it as a link from outside would. Where it names no sentence, its own is that of the
last stop before it that names one; one that a person has typed at a stop is there again on coming back, and goes on to
the stops after it that name none, if its own does not either. The view stays usable; whoever wanders off is offered the
way back.
"""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Literal

import streamlit as st

from pages.frame import draft, room
from pages.frame.messages import capital, message
from pages.frame.state import (
    CHECKPOINT,
    FOLDED,
    GIVEN,
    LESSON,
    ROOM,
    SOURCE,
    STOP,
    TARGET,
    State,
    current_state,
    sentence_of,
    store_state,
    typed_at_stops,
    written_address,
)
from pages.runtime.followers import keep_own
from pages.runtime.language import ASKED
from pages.runtime.shared import shared
from pages.runtime.texts import plain_markdown
from transformer.inference.pretrained import Pretrained
from transformer.lessons import Computed, Lesson, LessonError, Question, Stop, parse_lesson
from transformer.lessons.answers import Answer, AnswerError
from transformer.lessons.lesson import LARGEST
from transformer.lessons.questions import PRESSED, Asked, in_words, is_right, number_in, numbers, with_meaning
from transformer.paths import lesson_folders
from transformer.rooms.store import Given as Answered
from transformer.rooms.store import Revealed
from transformer.texts import UserError, _, translate
from transformer.tracing.trace import Trace
from transformer.view.bundle import script
from transformer.view.pack import token_meanings

_scroll = st.components.v2.component("headscope.lesson_scroll", js=script("lesson_scroll"))

JUMP, ARRIVING, AT_STOP = "headscope_lesson_jump", "headscope_lesson_arriving", "headscope_lesson_view"
NOTHING = "headscope_lesson_nothing"
SHOWS = "headscope_lesson_shows"
MOST_FILES = 100
# Functions that give tokens as options, and the tokens of which side.
TOKENS: dict[str, Literal["source", "target_out"]] = {"source_tokens": "source", "target_tokens": "target_out"}
SENTENCE = (CHECKPOINT, SOURCE, TARGET)  # what a stop may leave open
LONG = 20  # characters of an option
LEFT_OPEN = {*SENTENCE, LESSON, STOP, "cell"}  # what a link of a stop's own view may say beside what the stop says
BIG = "big"  # in links: the viewer's own, no part of a view
# What a stop may light, as selectors: a ring around it, the page's other blocks without colour. They are not made
# fainter: their texts stay readable.
LIT = {
    "sentence": ".st-key-hs-sentence",
    "parts": "[data-testid=stButtonGroup]",
    "picture": ":is([data-testid^=stBidiComponent], [data-testid=stPlotlyChart], .hs-leak-table)",
}
BLOCKS = "[data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock] > *"
FRAME = (
    ":is(.st-key-hs-header, .st-key-hs-room, .st-key-hs-lesson, .st-key-hs-lesson-folded, .st-key-hs-wall, .hs-message)"
)
CONTROLS = "button, input, textarea, select, [role=slider]"  # in grey they would look as if one could not use them
UNSEEN = ":has(> [class*=st-key-hs-feeds])"
PANEL = "[data-testid=stLayoutWrapper]:has(> :is(.st-key-hs-lesson, .st-key-hs-lesson-folded))"
HIDDEN = f"{PANEL} ~ *:not(:has(.hs-cover))"


@dataclass(frozen=True)
class Given:
    """An answer that a person gave: as text; right: the model's, as text; verdict: None where nothing is right or
    wrong."""

    text: str
    right: str
    verdict: bool | None


# -- files -------------------------------------------------------------------------------------------------------------


@cache
def _read(path: Path, state: tuple[int, int], pages: tuple[str, ...]) -> Lesson | LessonError:
    """state: time and size of the file, so that a changed one is read again."""
    try:
        return parse_lesson(path.read_text(encoding="utf-8"), path.stem, pages)
    except LessonError as error:
        return error
    except (OSError, UnicodeDecodeError):
        return LessonError("{name} is not a text file in UTF-8", name=path.name)


def files(pages: tuple[str, ...]) -> Mapping[str, Lesson | LessonError]:
    """Every lesson file of the server, by name: the lesson, or why it cannot be read. pages: the paths of all pages."""
    found: dict[str, Lesson | LessonError] = {}
    for folder in lesson_folders():
        for path in sorted(folder.glob("*.toml"))[:MOST_FILES] if folder.is_dir() else ():
            about = path.stat()
            if about.st_size > LARGEST:
                found[path.stem] = LessonError("a lesson has at most {largest:,} bytes", largest=LARGEST)
            else:
                found[path.stem] = _read(path, (about.st_mtime_ns, about.st_size), pages)
    return found


def find(name: str, pages: tuple[str, ...]) -> Lesson | None:
    """A lesson that can be read: a file of the server's, or the one that this session writes."""
    found = draft.found_lesson(pages) if name == draft.NAME else files(pages).get(name)
    return found if isinstance(found, Lesson) else None


def open_lesson(state: State, pages: tuple[str, ...]) -> Lesson | None:
    """The lesson of the state, if it can be read."""
    return find(state.lesson, pages) if state.lesson else None


# -- going to a stop ---------------------------------------------------------------------------------------------------


def go(lesson: str, stop: int) -> None:
    """Callback: open a stop, from 1."""
    room.end_find()
    state = current_state()
    if state is not None and (state.lesson, state.stop) == (lesson, stop):  # back to its own view
        typed_at_stops().pop((lesson, stop), None)
    st.session_state[JUMP] = (lesson, stop)


def begin(lesson: str, stop: int = 1) -> None:
    """Callback: open the first stop, or another one, with no question answered and the panel shown."""
    given: dict[tuple[str, int, str], Given] = st.session_state.get(GIVEN, {})
    for place in [place for place in given if place[0] == lesson]:
        del given[place]
    for at in [at for at in typed_at_stops() if at[0] == lesson]:
        del typed_at_stops()[at]
    room.forget(lesson)
    st.session_state[FOLDED] = False
    go(lesson, stop)


def leave() -> None:
    """Callback: end the lesson, at the page of lessons, which has one's answers."""
    state = current_state()
    if state is not None:
        store_state(replace(state, lesson="", stop=1))
    st.session_state[JUMP] = None


def _own_sentence(lesson: Lesson, number: int) -> dict[str, str]:
    """Model and sentence of a stop: that of the last stop until then that names one."""
    for stop in reversed(lesson.stops[:number]):
        params = dict(stop.view.params)
        if SOURCE in params:
            return {name: params[name] for name in SENTENCE if name in params}
    return {}


def _typed(lesson: Lesson, number: int) -> dict[str, str] | None:
    """What a person typed at the stop or, where no stop names a sentence in between, at the last one before it."""
    typed = typed_at_stops()
    for at in range(number, 0, -1):
        names = SOURCE in dict(lesson.stops[at - 1].view.params)
        if (lesson.name, at) in typed and (at == number or not names):
            return typed[lesson.name, at]
        if names:
            break
    return None


def stop_params(
    lesson: Lesson, number: int, now: Mapping[str, str], linked: bool = False, typed: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The link of a stop. now: model and sentence of now, or, if it is linked, of the link, which brings the sentence
    of a stop that names none. typed: those that a person has typed at the stop."""
    params, own = dict(lesson.stops[number - 1].view.params), _own_sentence(lesson, number)
    for pair in (now, own):
        if CHECKPOINT in pair:
            params.setdefault(CHECKPOINT, pair[CHECKPOINT])
    model = params.get(CHECKPOINT)
    for pair in (typed or {}, now if linked and SOURCE not in params else {}, own, now):
        if SOURCE in pair and pair.get(CHECKPOINT, model) == model:  # other models may read other languages
            params.pop(TARGET, None)
            params |= {side: pair[side] for side in (SOURCE, TARGET) if side == SOURCE or pair.get(side)}
            break
    return params | {LESSON: lesson.name, STOP: str(number)}


def take_jump(state: State | None, pages: tuple[str, ...]) -> tuple[str, dict[str, str]] | None:
    """Path and parameters of the stop that was asked for since the last run, by a button or by a link that names a
    lesson and no view, or of the page of lessons when the lesson was ended; once."""
    params = st.query_params.to_dict()
    ended = JUMP in st.session_state and st.session_state[JUMP] is None
    asked = st.session_state.pop(JUMP, None)
    if ended:
        return "lessons", {name: value for name, value in params.items() if name in {BIG, *SENTENCE}}
    no_view = {LESSON, STOP, BIG, ASKED, *SENTENCE}
    if asked is None and state is None and LESSON in params and params.keys() <= no_view:
        asked = (params[LESSON], int(params[STOP]) if params.get(STOP, "").isdecimal() else 1)
    if asked is None:
        return None
    lesson = find(asked[0], pages)
    if lesson is None:
        return None
    number = min(max(1, asked[1]), len(lesson.stops))
    big = {BIG: params[BIG]} if BIG in params and state is None else {}
    st.session_state[ARRIVING] = True
    now, typed = (params, None) if state is None else (sentence_of(state), _typed(lesson, number))
    return lesson.stops[number - 1].view.page, stop_params(lesson, number, now, state is None, typed) | big


def press(stop: Stop, model: Pretrained, trace: Trace) -> None:
    """On arrival: press the cell that the stop names, if this sentence has it."""
    state = current_state()
    if stop.cell is not None and state is not None:
        with suppress(AnswerError):
            row, column = numbers(str(computed(model, trace, stop.cell)))
            store_state(replace(state, view=replace(state.view, cell=(int(row) - 1, int(column) - 1))))


def arriving() -> bool:
    """Whether this run shows a stop for the first time; once."""
    return bool(st.session_state.pop(ARRIVING, False))


# -- the panel ---------------------------------------------------------------------------------------------------------


@contextmanager
def _panel(folded: bool) -> Iterator[None]:
    with st.container(key="hs-lesson-folded" if folded else "hs-lesson"):
        yield


def _toggle_fold() -> None:
    st.session_state[FOLDED] = not st.session_state.get(FOLDED, False)


@dataclass
class Panel:
    """What the frame draws of a lesson. answer: computes the right answer of a question on the open page, with the
    options to choose from; None if the page has no trace."""

    lesson: Lesson
    number: int
    pages: tuple[str, ...] = ()  # the paths of all pages
    page: str = ""  # the path of the open one
    parts: tuple[str, ...] = ()  # the labels of its other parts
    waits: bool = False  # for an answer, or for the teacher to reveal it
    right: str = ""  # the right answer for the sentence of now, as a room has it

    @property
    def stop(self) -> Stop:
        return self.lesson.stops[self.number - 1]

    @property
    def _name(self) -> str:
        """Of the stop's question, in a room."""
        return f"{self.lesson.name} {self.number}"

    def draw(self, evaluate: Callable[[Question], Asked], key: str) -> bool:
        """Draw the panel, and before the stop's view its question. key: of the trace, so that another sentence asks
        again. Returns whether what gives the answer away stays covered."""
        count = len(self.lesson.stops)
        folded = bool(st.session_state.get(FOLDED, False))
        here, question = room.seat(), self.stop.question
        if GIVEN not in st.session_state:
            self._recall(key)
        found = room.shows_a_find(self.page)
        if not self._is_its_page() or found:
            question = None
        self.waits = question is not None and self._is_open(evaluate, key)
        # Another sentence asks again, and lets those who have answered explore.
        predicts = self.waits and (here is not None or not self._is_done(self.number))
        covered = predicts and question is not None and question.cover
        lights = "picture" if found else self.stop.lit if self._is_its_page() else ""
        shows = f":has({LIT[lights]}):not(:has({FRAME}), {UNSEEN})" if lights else ""
        lit = f"{BLOCKS}{shows}:not({shows} ~ *)" if shows else ""  # the first one
        with _panel(folded):
            with st.container(horizontal=True, vertical_alignment="center", gap="small", key="hs-lesson-head"):
                where = _("{stop} of {count}").format(stop=self.number, count=count)
                title = html.escape(translate(self.lesson.title))
                st.html(f'<h2 class="hs-lesson-name">{title} <small>{where}</small></h2>', width="stretch")
                shows = _("Show the lesson") if folded else _("Hide")
                st.button(shows, key="hs-lesson-fold", on_click=_toggle_fold, type="tertiary")
            if not folded:
                st.progress(self.number / count)
                self._title()
                self._text()
            if not room.led():
                self._moves(count)
            if not folded:
                if self.number == count and not (self.waits and here is not None):
                    last = _(
                        "This is the last stop. Your answers stay on the page Lessons until you close or reload it."
                    )
                    st.html(f'<p class="hs-lesson-sum">{html.escape(last)}</p>')
                    if not room.teaches():
                        draw_answers(self.lesson)
                self._stops()
        if question is not None:
            with st.container(key="hs-wall"):
                self._question(question, evaluate, key, predicts)
                if covered:
                    st.html(f'<p class="hs-cover">{html.escape(self._cover())}</p>')
        if covered:
            inside = "visibility: hidden !important;"  # in its shadow trees, a picture may say that it is visible
            st.html(f"<style>{HIDDEN}, {HIDDEN} * {{ {inside} }} {HIDDEN} {{ opacity: 0 !important; }}</style>")
        elif lit and not folded:
            quiet = f"{BLOCKS}:not(:has({LIT[lights]}), :has({FRAME}), :has({CONTROLS}), :hover, :focus-within)"
            ring = "outline: 2px solid; outline-offset: 0.35rem; border-radius: 0.2rem;"
            st.html(f"<style>{quiet} {{ filter: grayscale(1); }} {lit} {{ {ring} }}</style>")
        with st.container(key="hs-feeds-lesson"):
            data = {**self._shows(covered), "lit": "" if question else lit}
            _scroll(key="lesson_scroll", data=data, height=1)
        return covered

    def _cover(self) -> str:
        if room.teaches():
            return _("The class predicts first. This view opens when you reveal the answer.")
        if room.seat() is not None:
            return _("Predict first. This view opens when the answer is revealed.")
        return _("Predict first. This view opens when you have answered.")

    def _is_its_page(self) -> bool:
        """Whether the page of the stop's view is open: others give nothing away."""
        return self.page == self.stop.view.page

    def _shows(self, covered: bool) -> dict[str, object]:
        """What is shown of the stop, and since when, for the browser: it may get an older one after a newer one."""
        at = f"{self.lesson.name} {self.number} {covered} {self.waits} {room.shows_a_find(self.page)}"
        before, since = st.session_state.get(SHOWS, ("", 0.0))
        if at != before:
            since = time.time()
            st.session_state[SHOWS] = (at, since)
        return {"at": at, "since": since}

    def _title(self) -> None:
        section = (
            f"<small>{html.escape(_('Section {number} of the paper').format(number=self.stop.section))}</small>"
            if self.stop.section
            else ""
        )
        said = translate(self.stop.text) + (translate(self.stop.question.why) if self.stop.question else "")
        names_parts = self.stop.lit == "parts" or any(part in said for part in self.parts)  # they stay in sight
        kind = "hs-lesson-title hs-names-parts" if names_parts else "hs-lesson-title"
        st.html(f'<h3 class="{kind}">{html.escape(translate(self.stop.title))}</h3>{section}')

    def _text(self) -> None:
        st.markdown(translate(self.stop.text).replace("![", "!\\["))  # a picture would be fetched from elsewhere

    def _moves(self, count: int) -> None:
        with st.container(horizontal=True, gap="small", key="hs-lesson-moves"):
            if self.waits and room.teaches():
                st.button(
                    _("Reveal the answer"), key="hs-room-reveal", on_click=room.reveal,
                    args=(self._name, self.right), type="primary",
                )  # fmt: skip
            st.button(
                _("Back"), key="hs-lesson-back", on_click=go, args=(self.lesson.name, self.number - 1),
                disabled=self.number == 1, shortcut="Alt+B",
            )  # fmt: skip
            kind: Literal["primary", "secondary"] = "secondary" if self.waits else "primary"
            if self.number < count:
                st.button(
                    _("Next"), key="hs-lesson-next", on_click=go, args=(self.lesson.name, self.number + 1),
                    type=kind, shortcut="Alt+N",
                )  # fmt: skip
            else:
                st.button(_("End the lesson"), key="hs-lesson-end", on_click=leave, type=kind)
            self.back = st.empty()

    def offer_back(self, page: str) -> None:
        """After the address was written: a button to the stop's own view, if the view is another one."""
        if room.led():
            return
        own, now = stop_params(self.lesson, self.number, {}), _view()
        # Nobody has marked it after a reload, and for those whose room has ended.
        unchanged = self._is_its_page() and own.items() <= now.items() and now.keys() - own.keys() <= LEFT_OPEN
        if not unchanged and st.session_state.get(AT_STOP) != (self.lesson.name, self.number, page, now):
            self.back.button(
                _("Back to this stop's view"),
                key="hs-lesson-return",
                on_click=go,
                args=(self.lesson.name, self.number),
            )

    def _stops(self) -> None:
        with st.expander(_("All stops"), key=f"hs-lesson-stops-{self.number}"):  # closed at the next stop
            for number, stop in enumerate(self.lesson.stops, start=1):
                title = f"{number}. {plain_markdown(translate(stop.title))}"
                done = _("{stop} ✓ revealed") if self._is_revealed(number) else _("{stop} ✓ answered")
                st.button(
                    done.format(stop=title) if self._is_done(number) else title,
                    key=f"hs-lesson-stop-{number}", on_click=go,
                    args=(self.lesson.name, number), type="tertiary", disabled=number == self.number,
                )  # fmt: skip
            st.button(_("End the lesson"), key="hs-lesson-leave", on_click=leave)

    def _is_revealed(self, number: int) -> bool:
        return room.revealed(f"{self.lesson.name} {number}") is not None

    def _is_done(self, number: int) -> bool:
        """Whether the question of a stop is answered or revealed; in a room, where all see the same, revealed."""
        if room.seat() is not None or self._is_revealed(number):
            return self._is_revealed(number)
        return any(place[:2] == (self.lesson.name, number) for place in st.session_state.get(GIVEN, {}))

    # -- questions --

    def _is_open(self, evaluate: Callable[[Question], Asked], key: str) -> bool:
        """Whether the stop asks a question that is not answered yet; in a room, not revealed."""
        question = self.stop.question
        if question is None or self._is_revealed(self.number):
            return False
        with suppress(UserError):  # cannot be asked here
            self._keep_right(evaluate(question))
            return room.seat() is not None or self._given(key) is None
        return False

    def _keep_right(self, asked: Asked) -> None:
        self.right = "" if asked.right is None else in_words(asked.right)

    def _given(self, key: str) -> Given | None:
        """One's own answer; one that the room has kept over a reload does not say for which trace it was. What is
        revealed is about the first one, as the room has it, whatever sentence is open now."""
        given: dict[tuple[str, int, str], Given] = st.session_state.get(GIVEN, {})
        here, place = room.seat(), (self.lesson.name, self.number)
        if self._is_revealed(self.number):
            return next((one for at, one in given.items() if at[:2] == place), None)
        kept = given.get((*place, "")) if here is not None else None
        return given.get((*place, key), kept)

    def _question(self, question: Question, evaluate: Callable[[Question], Asked], key: str, predicts: bool) -> None:
        """predicts: whether nothing but the question, and a view that it does not cover, is to be seen."""
        mine = self._given(key)
        with st.container(key="hs-lesson-question"):
            kind = "hs-lesson-ask hs-predicts" if predicts else "hs-lesson-ask"
            st.html(f'<p class="{kind}">{html.escape(translate(question.ask))}</p>')
            here = room.seat()
            about = room.revealed(self._name)
            if about is not None:
                self._revealed(question, evaluate, about, mine)
                return
            try:
                asked = evaluate(question)
            except UserError as error:
                message(capital(error) + ".", "note")
                return
            _draw_pair(asked)
            if mine is not None:
                keep_own()
            if asked.tokens and question.cover and self.waits:
                _tokens(question, asked)
            if here is not None and here.teaches:
                room.answered(self._name, partial(_cards, question, asked))
                return
            if mine is not None:
                if question.kind == "choose":
                    _cards(question, asked, (), {mine.right} if here is None else (), mine.text)
                _reveal(mine if here is None else Given(mine.text, "", None), question, here is None)
                if here is not None:
                    room.counted(self._name)
                return
            widget = f"hs-answer-{self.lesson.name}-{self.number}-{key}"
            with st.form(f"{widget}-form", border=False):  # Enter answers, and so does the first click
                _field(question, asked, widget)
                st.form_submit_button(
                    _("Answer"), key=f"{widget}-send", type="primary",
                    on_click=_give,
                    args=((self.lesson.name, self.number, key), question, asked, widget, self._name),
                )  # fmt: skip
            where, missing = st.session_state.get(NOTHING, ("", ""))
            if where == widget:
                message(missing, "note")

    def _revealed(
        self, question: Question, evaluate: Callable[[Question], Asked], about: Revealed, mine: Given | None
    ) -> None:
        """What is right for the sentence that the class was asked about, which is named where another one is open that
        has another answer. Who has not answered sees it, too."""
        if mine is not None:
            keep_own()
        asked = Asked((), None)
        with suppress(UserError):  # the sentence of now has no such row
            now = evaluate(question)
            self._keep_right(now)
            about = about if about.right else Revealed(self.right)  # after a reload
            if self.right == about.right:
                asked = now
                _draw_pair(asked)
        right = "; ".join(in_words(one, question.kind) for one in about.right.split("; "))
        shown = mine or Given("", right, None)
        other = self.right != about.right and shown.right in ("", right)
        shown = replace(shown, right=shown.right or right)
        answers = room.given(self._name) or []
        rights = {shown.right} if question.kind == "choose" else {one.answer for one in answers if one.verdict}
        _cards(question, asked, answers, rights - {""}, shown.text)
        _reveal(shown, question, sentence=about.sentence if other else "")

    def _recall(self, key: str) -> None:
        """After a reload: what the room has of this member. key: of the trace at this stop; of others nobody knows."""
        given: dict[tuple[str, int, str], Given] = st.session_state.setdefault(GIVEN, {})
        for one in room.own_answers() or []:
            name, _space, number = one.question.rpartition(" ")
            if name == self.lesson.name and number.isdecimal() and 1 <= int(number) <= len(self.lesson.stops):
                text = answer_in_words(self.pages, one.question, one.answer)[1]
                place = (name, int(number), key if int(number) == self.number else "")
                question = self.lesson.stops[int(number) - 1].question
                right = question.answer if question is not None else None
                known = (
                    ""
                    if question is None or right is None or isinstance(right, Computed)
                    else in_words(right, question.kind)
                )
                given[place] = Given(text, known, one.verdict)


def answers_of(lesson: Lesson) -> dict[int, Given]:
    """Stop -> one's newest answer; in a room, of those that are revealed."""
    given: dict[tuple[str, int, str], Given] = st.session_state.get(GIVEN, {})
    mine = {place[1]: one for place, one in sorted(given.items()) if place[0] == lesson.name}
    here = room.seat()
    return {stop: one for stop, one in mine.items() if here is None or room.revealed(f"{lesson.name} {stop}")}


def draw_answers(lesson: Lesson) -> None:
    """How many questions one has answered, how many of them right, and each with what is right and why."""
    mine = answers_of(lesson)
    counted = [one.verdict for one in mine.values() if one.verdict is not None]
    asked = len([question for question in lesson.questions if question.kind != "text"])
    keep_own()
    if not asked:
        return
    text = _("You answered {count} of {asked} questions, {right} of them right.")
    if asked < len(lesson.questions):
        text = _("You answered {count} of {asked} scored questions, {right} of them right.")
    text = text.format(count=len(counted), asked=asked, right=sum(counted))
    st.html(f'<p class="hs-lesson-sum">{html.escape(text)}</p>')
    if not mine:
        return
    notes = [_note(lesson.stops[number - 1], number, one) for number, one in sorted(mine.items())]
    with st.expander(_("Your answers")):
        for title, *lines in notes:
            said = "<br>".join(map(html.escape, filter(None, lines)))
            st.html(f'<p class="hs-lesson-note"><b>{html.escape(title)}</b><br>{said}</p>')
    page = "\n\n".join("\n".join(filter(None, note)) for note in ((translate(lesson.title), text), *notes))
    st.download_button(
        _("Save your answers"), page, f"{lesson.name}.txt", "text/plain", key=f"hs-lesson-save-{lesson.name}",
        on_click="ignore",
    )  # fmt: skip


def _note(stop: Stop, number: int, given: Given) -> tuple[str, ...]:
    """Title, question, both answers and why, as lines."""
    question = stop.question
    title = {True: "✓ ", False: "✗ ", None: ""}[given.verdict] + f"{number}. {translate(stop.title)}"
    if question is None:
        return (title,)
    return (
        title,
        translate(question.ask),
        *(f"{name}: {text}" for name, text in _both(given, question)),
        translate(question.why),
    )


def _spelled(answer: str, question: Question) -> str:
    """An answer in the reader's language; a token stays what it is."""
    if question.kind not in ("choose", "order") or isinstance(question.options, Computed):
        return answer
    return " → ".join(map(translate, answer.split(" → ")))


def _both(given: Given, question: Question) -> list[tuple[str, str]]:
    """What was answered and what is right, with what each is called; what is not known is left out."""
    right = _("For example") if question.kind == "text" else _("Right answer")
    both = ((_("Your answer"), given.text), (right, given.right))
    return [(name, _spelled(text, question)) for name, text in both if text]


def _pressed(kind: str) -> str:
    """What is chosen in the picture now, as links name it; "" for nothing."""
    state = current_state()
    if state is None:
        return ""
    view = state.view
    if kind == "head":
        return "" if view.layer is None or view.head is None else f"{view.layer + 1}.{view.head + 1}"
    if view.cell is None:
        return ""
    return f"{view.cell[0] + 1},{view.cell[1] + 1}" if kind == "cell" else str(view.cell[0 if kind == "row" else 1] + 1)


def _label(option: str, question: Question, asked: Asked) -> str:
    """An option as the radio shows it; a token with its meaning."""
    return plain_markdown(with_meaning(_spelled(option, question), asked.meanings.get(option, "")))


def _tokens(question: Question, asked: Asked) -> None:
    """The tokens that the question counts, numbered."""
    says = html.escape(question.names_tokens)
    tokens = "".join(
        f"<li>{html.escape(token)}{f' <small>{html.escape(meaning)}</small>' if meaning else ''}</li>"
        for token, meaning in asked.tokens
    )
    st.html(f'<p class="hs-lesson-writes">{says}</p><ol class="hs-lesson-output">{tokens}</ol>')


def _cards(
    question: Question, asked: Asked, answers: Sequence[Answered] = (), right: Collection[str] = (), mine: str = ""
) -> None:
    """The options, or what was answered, each as a card with a bar for those of the class who chose it. right: answers
    that are; mine: one's own."""
    choose = question.kind == "choose"
    counts = room.counts([one.answer for one in answers], numbers=not choose)
    spelled = {one: _spelled(in_words(one, question.kind), question) for one in (*asked.options, *counts, *right)}
    options = dict.fromkeys([*(asked.options if choose else ()), *counts, *(right if choose else ())])
    if choose and mine and mine not in {*options, *spelled.values()}:
        options[mine] = None
    cards = []
    for option in options:
        label = spelled.get(option, option)
        own = mine in (option, label)
        notes = [_("Right answer")] * (option in right) + [_("Your answer")] * own
        kinds = ["hs-right"] * (option in right) + ["hs-mine"] * own
        said = f"<b>{counts.get(option, 0)}</b>" if answers else ""
        said += "".join(f"<em>{html.escape(note)}</em>" for note in notes)
        share = 100 * counts.get(option, 0) / max(1, len(answers))
        text = html.escape(with_meaning(label, asked.meanings.get(option, "")))
        cards.append(f'<li class="{" ".join(kinds)}" style="--share:{share:.0f}%"><span>{text}</span>{said}</li>')
    if cards:
        kinds = ["hs-cards", *["hs-bins"] * (not choose), *["hs-long"] * _are_long(asked)]
        st.html(f'<ol class="{" ".join(kinds)}">{"".join(cards)}</ol>')


def _are_long(asked: Asked) -> bool:
    """Whether the options are sentences, which a phone shows one below the other."""
    return any(len(option) > LONG for option in asked.options)


def _field(question: Question, asked: Asked, key: str) -> None:
    """Where the answer is given."""
    label = _("Your prediction")
    if question.kind == "choose":
        options = [_label(option, question, asked) for option in asked.options]
        with st.container(key="hs-long" if _are_long(asked) else "hs-short"):
            st.radio(label, options, index=None, key=key, label_visibility="collapsed", width="stretch")
    elif question.kind == "order":
        st.multiselect(
            _("Press them in order"),
            sorted(asked.options),
            key=key,
            format_func=translate,
            placeholder=_("first, second, …"),
        )
    elif question.kind in PRESSED:
        st.html(f'<p class="hs-lesson-pressed">{html.escape(_("Press it in the picture, then press Answer."))}</p>')
    elif question.kind == "text":
        st.text_area(label, key=key, max_chars=400, label_visibility="collapsed")
    else:
        example = {"number": _("a number"), "shape": "[2, 3, 4, 5]"}[question.kind]
        with st.container(key=f"hs-{question.kind}"):  # frontend/src/host/lesson_scroll.js: the keyboard of a phone
            st.text_input(label, key=key, max_chars=60, placeholder=example, label_visibility="collapsed")


def _answered(question: Question, asked: Asked, key: str) -> tuple[str | tuple[str, ...], str]:
    """The answer as it is now, in the form or in the picture; or, for an answer that is none, why and what to do."""
    value = st.session_state.get(key)
    if question.kind in PRESSED:
        return _pressed(question.kind), _("Nothing is pressed in the picture yet. Press it there, then press Answer.")
    if question.kind == "choose":
        shown = {_label(one, question, asked): one for one in asked.options}
        return shown.get(value or "", ""), _("Nothing is chosen yet. Choose one, then press Answer.")
    if question.kind == "order":
        chosen = tuple(value or ())
        some = _("{count} of {total} are chosen. Choose all of them in order, then press Answer.")
        missing = some.format(count=len(chosen), total=len(asked.options))
        return (chosen if len(chosen) == len(asked.options) else ""), missing
    text = str(value or "").strip()
    if text and question.kind == "number" and number_in(text) is None:
        return "", _("“{text}” is not a number. Answer with a number such as 4 or 0.5.").format(text=text)
    if text and question.kind == "shape" and not numbers(text):
        return "", _("“{text}” has no numbers. Answer with a shape such as [2, 3, 4, 5].").format(text=text)
    return text, _("The field is empty. Type an answer, then press Answer.")


def _give(place: tuple[str, int, str], question: Question, asked: Asked, key: str, name: str) -> None:
    """Callback: keep an answer, and send it to the room, where the question has this name; it stays for this
    sentence."""
    answer, missing = _answered(question, asked, key)
    if not answer:
        st.session_state[NOTHING] = (key, missing)
        return
    given: dict[tuple[str, int, str], Given] = st.session_state.setdefault(GIVEN, {})
    solution = "" if asked.right is None else in_words(asked.right, question.kind)
    given[place] = Given(in_words(answer, question.kind), solution, is_right(question, answer, asked.right))
    room.send_answer(name, in_words(answer), given[place].verdict)
    if given[place].verdict is False and room.seat() is None:
        _show_right(question, asked.right)


def _show_right(question: Question, right: Answer | None) -> None:
    """Choose in the picture the head or cell that would have been right."""
    state = current_state()
    places = sorted(right) if isinstance(right, frozenset) else [right]
    if state is None or not places or question.kind not in ("head", "cell"):
        return
    first, second = (int(part) - 1 for part in re.findall(r"\d+", str(places[0])))
    view = replace(state.view, layer=first, head=second) if question.kind == "head" else state.view
    view = replace(view, cell=(first, second)) if question.kind == "cell" else view
    store_state(replace(state, view=view, revision=state.revision + 1))


def _draw_pair(asked: Asked) -> None:
    """The sentence and its translation, where the question is about another one."""
    if asked.pair is not None:
        names = (_("The sentence"), _("Its translation"))
        rows = "".join(
            f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>"
            for name, text in zip(names, asked.pair, strict=True)
        )
        st.html(f'<dl class="hs-lesson-pair">{rows}</dl>')


def _reveal(given: Given, question: Question, revealed: bool = True, sentence: str = "") -> None:
    """What was answered; when it is revealed, too, what is right and why. sentence: that it is about, to be named."""
    verdict = {True: _("Right."), False: _("Not this time."), None: ""}[given.verdict]
    both = [(_("The sentence"), sentence)] if sentence else []
    if question.kind != "choose":  # its cards say it
        both += _both(given, question)
    rows = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>" for name, text in both)
    kind = {True: "hs-good", False: "hs-bad", None: ""}[given.verdict]
    if not revealed:
        waits = html.escape(_("Your teacher will reveal what is right."))
        listed = f'<dl class="hs-lesson-pair">{rows}</dl>' if rows else ""
        st.html(f'{listed}<p class="hs-lesson-sum">{waits}</p>')
        return
    listed = f'<dl class="hs-lesson-reveal">{rows}</dl>' if rows else ""
    st.html(
        f'{listed}<p class="hs-lesson-verdict">'
        f'<b class="{kind}">{html.escape(verdict)}</b> {html.escape(translate(question.why))}</p>'
    )


def answer_in_words(pages: tuple[str, ...], question: str, answer: str) -> tuple[str, str]:
    """Of an answer in a room: the title of its stop, and the answer as people read it. question: its name there."""
    name, _space, number = question.rpartition(" ")
    found = find(name, pages)
    if found is None or not number.isdecimal() or not 1 <= int(number) <= len(found.stops):
        return question, answer
    stop = found.stops[int(number) - 1]
    asked = stop.question
    said = _spelled(in_words(answer, asked.kind), asked) if asked is not None else answer
    return f"{number}. {translate(stop.title)}", said


@shared(queued=True)
def computed(model: Pretrained, trace: Trace, answer: Computed) -> Answer:
    """An answer for a sentence, computed once for all viewers."""
    return answer.answer(model, trace)


def evaluate(model: Pretrained, find: Callable[[], Trace], question: Question) -> Asked:
    """A question for the open model. find: the trace, asked for only where something is computed. Raises UserError."""

    def value(given: str | float | tuple[str, ...] | Computed | None) -> Answer | None:
        return computed(model, find(), given) if isinstance(given, Computed) else given

    options = value(question.options)
    side = TOKENS.get(question.options.function) if isinstance(question.options, Computed) else None
    counted: Literal["target_in", "target_out"] = "target_in" if question.asks_for_the_mask else "target_out"
    return Asked(
        tuple(map(str, options)) if isinstance(options, tuple) else (),
        value(question.answer),
        token_meanings(find(), counted) if question.asks_for_a_step else (),
        (find().source_text, str(value(Computed("translation")))) if question.asks_for_a_translation else None,
        {label: meaning for label, meaning in token_meanings(find(), side) if meaning} if side else {},
    )


def mark_view(lesson: Lesson, number: int, page: str) -> None:
    """Remember the written address as the view of this stop, unless its sentence is one that a person has typed."""
    state = current_state()
    if state is None or typed_at_stops().get((lesson.name, number)) != sentence_of(state):
        st.session_state[AT_STOP] = (lesson.name, number, page, _view())


def _view() -> dict[str, str]:
    """What the address holds of the view: a room that one enters or leaves is no part of it."""
    return {name: text for name, text in written_address().items() if name != ROOM}
