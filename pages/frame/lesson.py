"""The lesson beside the page it leads through: where it is, what to look at, a question, next and back.

A stop is a link, and going to a stop opens this link as if it came from outside. A stop whose link names no sentence
has the sentence of the last stop before it that names one. A sentence that a person types at a stop is kept: coming
back to the stop opens it again, and if the stop names no sentence, so do the stops after it, up to the next one that
names one. A person can change the view at a stop, and a button leads back to the stop's own view.
"""

import html
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Literal

import streamlit as st

from pages.frame import draft, room
from pages.frame.messages import capital, message
from pages.frame.state import (
    CHECKPOINT,
    LESSON,
    ROOM,
    SOURCE,
    STOP,
    TARGET,
    AnswerKey,
    GivenAnswer,
    Move,
    State,
    current_state,
    sentence_of,
    session,
    store_state,
)
from pages.runtime.followers import keep_own
from pages.runtime.language import ASKED
from pages.runtime.shared import shared
from pages.runtime.texts import plain_markdown
from transformer.inference.pretrained import Pretrained
from transformer.lessons import Computed, Lesson, LessonError, Link, Question, Stop, parse_lesson
from transformer.lessons.answers import Answer, AnswerError
from transformer.lessons.lesson import LARGEST
from transformer.lessons.questions import PRESSED, Asked, in_words, is_right, number_in, numbers, with_meaning
from transformer.paths import lesson_folders
from transformer.rooms.store import MemberAnswer, Revealed
from transformer.texts import UserError, _, translate
from transformer.tracing.trace import Trace
from transformer.view.bundle import script
from transformer.view.pack import token_meanings

_scroll = st.components.v2.component("headscope.lesson_scroll", js=script("lesson_scroll"))

MOST_FILES = 100  # lessons in a folder
# Functions that give tokens as options, and the tokens of which side.
TOKENS: dict[str, Literal["source", "target_out"]] = {"source_tokens": "source", "target_tokens": "target_out"}
SENTENCE = (CHECKPOINT, SOURCE, TARGET)  # names in links that a stop need not have
LONG_OPTION = 20  # characters of an option from which on a phone shows each option on a line
# Names in links that the address may have beside those of a stop's link, while it shows the stop's own view.
BESIDE_STOP = {*SENTENCE, LESSON, STOP, "cell"}
BIG = "big"  # in links: the viewer's own, no part of a view
# CSS selectors of what a stop may point out (`Stop.lit`): it gets a ring, and the other blocks of the page lose their
# colour. They are not made fainter, so that their texts stay readable.
POINTED_OUT = {
    "sentence": ".st-key-hs-sentence",
    "parts": "[data-testid=stButtonGroup]",
    "picture": ":is([data-testid^=stBidiComponent], [data-testid=stPlotlyChart], .hs-leak-table)",
}
BLOCKS = "[data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock] > *"
FRAME = (
    ":is(.st-key-hs-header, .st-key-hs-room, .st-key-hs-lesson, .st-key-hs-lesson-folded, .st-key-hs-wall, .hs-message)"
)
CONTROLS = "button, input, textarea, select, [role=slider]"  # keep their colour: in grey they would look disabled
WITHOUT_PICTURE = ":has(> [class*=st-key-hs-feeds])"  # blocks that only bring data
PANEL = "[data-testid=stLayoutWrapper]:has(> :is(.st-key-hs-lesson, .st-key-hs-lesson-folded))"
COVERED = f"{PANEL} ~ *:not(:has(.hs-cover))"  # what stays hidden until a question is answered


# -- files -------------------------------------------------------------------------------------------------------------


@cache
def _read(path: Path, state: tuple[int, int], pages: tuple[str, ...]) -> Lesson | LessonError:
    """The lesson of a file, or why it cannot be read. state: time and size of the file, so that a changed file is read
    again."""
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
    found = draft.as_lesson(pages) if name == draft.NAME else files(pages).get(name)
    return found if isinstance(found, Lesson) else None


def open_lesson(state: State, pages: tuple[str, ...]) -> Lesson | None:
    """The lesson of the state, if it can be read."""
    return find(state.lesson, pages) if state.lesson else None


# -- going to a stop ---------------------------------------------------------------------------------------------------


def open_stop(lesson: str, number: int) -> None:
    """Callback: open a stop, counted from 1."""
    room.end_find()
    state, kept = current_state(), session()
    if state is not None and (state.lesson, state.stop) == (lesson, number):  # back to its own view
        kept.typed_at_stops.pop((lesson, number), None)
    kept.move = Move(Link("", ((LESSON, lesson), (STOP, str(number)))), "stop")


def start(lesson: str, number: int = 1) -> None:
    """Callback: open the first stop, or another one, with no question answered and the panel shown."""
    kept = session()
    if kept.answers is not None:
        kept.answers = {key: answer for key, answer in kept.answers.items() if key[0] != lesson}
    kept.typed_at_stops = {at: typed for at, typed in kept.typed_at_stops.items() if at[0] != lesson}
    room.forget_revealed(lesson)
    kept.lesson_hidden = False
    open_stop(lesson, number)


def end() -> None:
    """Callback: end the lesson and open the page of lessons, which shows the person's answers."""
    state = current_state()
    if state is not None:
        store_state(replace(state, lesson="", stop=1))
    params = {name: text for name, text in st.query_params.to_dict().items() if name in {BIG, *SENTENCE}}
    session().move = Move(Link("lessons", tuple(params.items())), "page")


def _own_sentence(lesson: Lesson, number: int) -> dict[str, str]:
    """Model and sentence of a stop: those of the last stop up to it that names a sentence."""
    for stop in reversed(lesson.stops[:number]):
        params = dict(stop.view.params)
        if SOURCE in params:
            return {name: params[name] for name in SENTENCE if name in params}
    return {}


def _typed_sentence(lesson: Lesson, number: int) -> dict[str, str] | None:
    """What a person typed at the stop or, where no stop names a sentence in between, at the last one before it."""
    typed = session().typed_at_stops
    for at in range(number, 0, -1):
        names_sentence = SOURCE in dict(lesson.stops[at - 1].view.params)
        if (lesson.name, at) in typed and (at == number or not names_sentence):
            return typed[lesson.name, at]
        if names_sentence:
            break
    return None


def stop_params(
    lesson: Lesson, number: int, now: Mapping[str, str], linked: bool = False, typed: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The parameters of a stop's link, with a sentence for a stop that names none.

    now: the open model and sentence; linked: those of a link from outside, which then go before the stop's own. typed:
    model and sentence that a person has typed at the stop, which go before all others.
    """
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


def view_of_stop(move: Move | None, state: State | None, pages: tuple[str, ...]) -> Move | None:
    """The move to a stop's own view. move: names the lesson and the stop; None: in a new session the link in the
    address bar may do so, if it names no view. Returns None where no stop is asked for, or it cannot be read."""
    params = st.query_params.to_dict()
    without_view = params.keys() <= {LESSON, STOP, BIG, ASKED, *SENTENCE}
    asked = dict(move.link.params) if move is not None else params if state is None and without_view else {}
    lesson = find(asked[LESSON], pages) if LESSON in asked else None
    if lesson is None:
        return None
    digits = asked.get(STOP, "")[:9]
    number = min(max(1, int(digits) if digits.isdecimal() else 1), len(lesson.stops))
    now, typed = (params, None) if state is None else (sentence_of(state), _typed_sentence(lesson, number))
    opened = stop_params(lesson, number, now, state is None, typed)
    if BIG in params and state is None:
        opened[BIG] = params[BIG]
    return Move(Link(lesson.stops[number - 1].view.page, tuple(opened.items())), "stop")


def choose_cell(stop: Stop, model: Pretrained, trace: Trace) -> None:
    """Choose the cell that a stop names in the picture, if this sentence has it; when the stop is opened."""
    state = current_state()
    if stop.cell is not None and state is not None:
        with suppress(AnswerError):
            row, column = numbers(str(computed(model, trace, stop.cell)))
            store_state(replace(state, view=replace(state.view, cell=(int(row) - 1, int(column) - 1))))


# -- the panel ---------------------------------------------------------------------------------------------------------


def _toggle_panel() -> None:
    """Callback: hide the panel, or show it again."""
    session().lesson_hidden = not session().lesson_hidden


@dataclass
class Panel:
    """What the frame draws of a lesson.

    number: of the stop, from 1. pages: the paths of all pages; page: of the open one; parts: the labels of its other
    parts. evaluate: computes the right answer of a question and its options; raises UserError.
    trace_id: "" without a trace; with another sentence, the question is asked again.
    is_open: the stop asks a question that is not answered yet; in a room, not revealed.
    right: the right answer for the open sentence, as it is sent to a room; "" before it is computed.
    """

    lesson: Lesson
    number: int
    pages: tuple[str, ...]
    page: str
    parts: tuple[str, ...]
    evaluate: Callable[[Question], Asked]
    trace_id: str
    is_open: bool = False
    right: str = ""

    @property
    def stop(self) -> Stop:
        return self.lesson.stops[self.number - 1]

    @property
    def _question_name(self) -> str:
        """The name that a room knows the stop's question by."""
        return question_name(self.lesson.name, self.number)

    def draw(self) -> None:
        """Draw the panel, and above the stop's view its question, which may cover the view."""
        count = len(self.lesson.stops)
        folded = session().lesson_hidden
        here, question = room.seat(), self.stop.question
        if session().answers is None:
            self._recall_answers()
        found = room.shows_a_find(self.page)
        if not self._is_its_page() or found:
            question = None
        self.is_open = question is not None and self._is_unanswered()
        # Who has answered for one sentence may explore others: then the question covers nothing.
        predicts = self.is_open and (here is not None or not self._is_done(self.number))
        covered = predicts and question is not None and question.cover
        points_out = "picture" if found else self.stop.lit if self._is_its_page() else ""
        shows = f":has({POINTED_OUT[points_out]}):not(:has({FRAME}), {WITHOUT_PICTURE})" if points_out else ""
        pointed_out = f"{BLOCKS}{shows}:not({shows} ~ *)" if shows else ""  # the first one
        with st.container(key="hs-lesson-folded" if folded else "hs-lesson"):
            with st.container(horizontal=True, vertical_alignment="center", gap="small", key="hs-lesson-head"):
                where = _("{stop} of {count}", stop=self.number, count=count)
                title = html.escape(translate(self.lesson.title))
                st.html(f'<h2 class="hs-lesson-name">{title} <small>{where}</small></h2>', width="stretch")
                shows = _("Show the lesson") if folded else _("Hide")
                st.button(shows, key="hs-lesson-fold", on_click=_toggle_panel, type="tertiary")
            if not folded:
                st.progress(self.number / count)
                self._title()
                # A picture would be fetched from elsewhere.
                st.markdown(translate(self.stop.text).replace("![", "!\\["))
            if not room.follows():
                self._buttons(count)
            if not folded:
                if self.number == count and not (self.is_open and here is not None):
                    last = _(
                        "This is the last stop. Your answers stay on the page Lessons until you close or reload it."
                    )
                    st.html(f'<p class="hs-lesson-sum">{html.escape(last)}</p>')
                    if not room.teaches():
                        draw_answers(self.lesson)
                self._stops()
        if question is not None:
            with st.container(key="hs-wall"):
                self._draw_question(question, predicts)
                if covered:
                    st.html(f'<p class="hs-cover">{html.escape(self._cover_text())}</p>')
        if covered:
            inside = "visibility: hidden !important;"  # in its shadow trees, a picture may say that it is visible
            st.html(f"<style>{COVERED}, {COVERED} * {{ {inside} }} {COVERED} {{ opacity: 0 !important; }}</style>")
        elif pointed_out and not folded:
            others = f":has({POINTED_OUT[points_out]}), :has({FRAME}), :has({CONTROLS}), :hover, :focus-within"
            ring = "outline: 2px solid; outline-offset: 0.35rem; border-radius: 0.2rem;"
            st.html(f"<style>{BLOCKS}:not({others}) {{ filter: grayscale(1); }} {pointed_out} {{ {ring} }}</style>")
        with st.container(key="hs-feeds-lesson"):
            data = {**self._shown_since(covered), "lit": "" if question else pointed_out}
            _scroll(key="lesson_scroll", data=data, height=1)

    def _cover_text(self) -> str:
        """What stands in place of the covered view."""
        if room.teaches():
            return _("The class predicts first. This view opens when you reveal the answer.")
        if room.seat() is not None:
            return _("Predict first. This view opens when the answer is revealed.")
        return _("Predict first. This view opens when you have answered.")

    def _is_its_page(self) -> bool:
        """Whether the page of the stop's view is open. Other pages give no answer away."""
        return self.page == self.stop.view.page

    def _shown_since(self, covered: bool) -> dict[str, object]:
        """What is shown of the stop, and since when. The time tells the browser which is the newer of two, since it may
        get an older one after a newer one."""
        at = f"{self.lesson.name} {self.number} {covered} {self.is_open} {room.shows_a_find(self.page)}"
        before, since = session().stop_shown_since
        if at != before:
            since = time.time()
            session().stop_shown_since = (at, since)
        return {"at": at, "since": since}

    def _title(self) -> None:
        section = (
            f"<small>{html.escape(_('Section {number} of the paper', number=self.stop.section))}</small>"
            if self.stop.section
            else ""
        )
        text = translate(self.stop.text) + (translate(self.stop.question.why) if self.stop.question else "")
        names_parts = self.stop.lit == "parts" or any(part in text for part in self.parts)  # their menu stays in sight
        kind = "hs-lesson-title hs-names-parts" if names_parts else "hs-lesson-title"
        st.html(f'<h3 class="{kind}">{html.escape(translate(self.stop.title))}</h3>{section}')

    def _buttons(self, count: int) -> None:
        with st.container(horizontal=True, gap="small", key="hs-lesson-moves"):
            if self.is_open and room.teaches():
                st.button(
                    _("Reveal the answer"), key="hs-room-reveal", on_click=room.reveal,
                    args=(self._question_name, self.right), type="primary",
                )  # fmt: skip
            st.button(
                _("Back"), key="hs-lesson-back", on_click=open_stop, args=(self.lesson.name, self.number - 1),
                disabled=self.number == 1, shortcut="Alt+B",
            )  # fmt: skip
            kind: Literal["primary", "secondary"] = "secondary" if self.is_open else "primary"
            if self.number < count:
                st.button(
                    _("Next"), key="hs-lesson-next", on_click=open_stop, args=(self.lesson.name, self.number + 1),
                    type=kind, shortcut="Alt+N",
                )  # fmt: skip
            else:
                st.button(_("End the lesson"), key="hs-lesson-end", on_click=end, type=kind)
            self.back = st.empty()

    def offer_back(self, page: str) -> None:
        """After the address was written: a button to the stop's own view, if the view is another one."""
        if room.follows():
            return
        own, now = stop_params(self.lesson, self.number, {}), _address_of_view()
        # After a reload, and where the room has ended, `keep_stop_view` was not called: then compare with the link.
        unchanged = self._is_its_page() and own.items() <= now.items() and now.keys() - own.keys() <= BESIDE_STOP
        if not unchanged and session().stop_view != (self.lesson.name, self.number, page, now):
            self.back.button(
                _("Back to this stop's view"),
                key="hs-lesson-return",
                on_click=open_stop,
                args=(self.lesson.name, self.number),
            )

    def _stops(self) -> None:
        with st.expander(_("All stops"), key=f"hs-lesson-stops-{self.number}"):  # closed at the next stop
            for number, stop in enumerate(self.lesson.stops, start=1):
                title = f"{number}. {plain_markdown(translate(stop.title))}"
                done = _("{stop} ✓ revealed") if self._is_revealed(number) else _("{stop} ✓ answered")
                st.button(
                    done.format(stop=title) if self._is_done(number) else title,
                    key=f"hs-lesson-stop-{number}", on_click=open_stop,
                    args=(self.lesson.name, number), type="tertiary", disabled=number == self.number,
                )  # fmt: skip
            st.button(_("End the lesson"), key="hs-lesson-leave", on_click=end)

    def _is_revealed(self, number: int) -> bool:
        return room.revealed(question_name(self.lesson.name, number)) is not None

    def _is_done(self, number: int) -> bool:
        """Whether the question of a stop is answered or revealed; in a room, where all see the same, revealed."""
        if room.seat() is not None or self._is_revealed(number):
            return self._is_revealed(number)
        return any(key[:2] == (self.lesson.name, number) for key in session().answers or {})

    # -- questions --

    def _is_unanswered(self) -> bool:
        """Whether the stop asks a question that is not answered yet; in a room, not revealed."""
        question = self.stop.question
        if question is None or self._is_revealed(self.number):
            return False
        with suppress(UserError):  # cannot be asked here
            self._keep_right(self.evaluate(question))
            return room.seat() is not None or self._own_answer() is None
        return False

    def _keep_right(self, asked: Asked) -> None:
        self.right = "" if asked.right is None else in_words(asked.right)

    def _own_answer(self) -> GivenAnswer | None:
        """What this session has answered for the open sentence.

        An answer that the room has kept over a reload does not say for which trace it was given, so it counts for all.
        Once the question is revealed, the room has the first answer, whatever sentence is open now.
        """
        answers, stop = session().answers or {}, (self.lesson.name, self.number)
        if self._is_revealed(self.number):
            return next((answer for key, answer in answers.items() if key[:2] == stop), None)
        of_any_trace = answers.get((*stop, "")) if room.seat() is not None else None
        return answers.get((*stop, self.trace_id), of_any_trace)

    def _draw_question(self, question: Question, predicts: bool) -> None:
        """Draw the question with its field, or with the answer. predicts: whether the page shows nothing else, but for
        a view that the question does not cover."""
        mine = self._own_answer()
        with st.container(key="hs-lesson-question"):
            kind = "hs-lesson-ask hs-predicts" if predicts else "hs-lesson-ask"
            st.html(f'<p class="{kind}">{html.escape(translate(question.ask))}</p>')
            here = room.seat()
            revealed = room.revealed(self._question_name)
            if revealed is not None:
                self._draw_revealed(question, revealed, mine)
                return
            try:
                asked = self.evaluate(question)
            except UserError as error:
                message(capital(error) + ".", "note")
                return
            _draw_pair(asked)
            if mine is not None:
                keep_own()
            if asked.tokens and question.cover and self.is_open:
                _draw_tokens(question, asked)
            if here is not None and here.teaches:
                room.answers_so_far(self._question_name, partial(_draw_cards, question, asked))
                return
            if mine is not None:
                if question.kind == "choose":
                    _draw_cards(question, asked, (), {mine.right} if here is None else (), mine.text)
                _draw_answer(mine if here is None else GivenAnswer(mine.text, "", None), question, here is None)
                if here is not None:
                    room.count_of_answers(self._question_name)
                return
            widget = f"hs-answer-{self.lesson.name}-{self.number}-{self.trace_id}"
            with st.form(f"{widget}-form", border=False):  # Enter answers, and so does the first click
                _answer_field(question, asked, widget)
                st.form_submit_button(
                    _("Answer"), key=f"{widget}-send", type="primary",
                    on_click=_submit_answer,
                    args=((self.lesson.name, self.number, self.trace_id), question, asked, widget),
                )  # fmt: skip
            where, missing = session().answer_missing
            if where == widget:
                message(missing, "note")

    def _draw_revealed(self, question: Question, revealed: Revealed, mine: GivenAnswer | None) -> None:
        """What is right for the sentence that the class was asked about. That sentence is named where the open one has
        another right answer. Members who have not answered see this, too."""
        if mine is not None:
            keep_own()
        asked = Asked((), None)
        with suppress(UserError):  # the open sentence has no such row
            now = self.evaluate(question)
            self._keep_right(now)
            revealed = revealed if revealed.right else Revealed(self.right)  # after a reload only the question is known
            if self.right == revealed.right:
                asked = now
                _draw_pair(asked)
        right = "; ".join(in_words(part, question.kind) for part in revealed.right.split("; "))
        shown = mine or GivenAnswer("", right, None)
        of_another_sentence = self.right != revealed.right and shown.right in ("", right)
        shown = replace(shown, right=shown.right or right)
        answers = room.answers_to(self._question_name) or []
        rights = {shown.right} if question.kind == "choose" else {given.answer for given in answers if given.verdict}
        _draw_cards(question, asked, answers, rights - {""}, shown.text)
        _draw_answer(shown, question, sentence=revealed.sentence if of_another_sentence else "")

    def _recall_answers(self) -> None:
        """After a reload: take over what the room has of this member. For other stops than this one nobody knows the
        sentence that was answered."""
        recalled: dict[AnswerKey, GivenAnswer] = {}
        for given in room.own_answers() or []:
            name, _space, number = given.question.rpartition(" ")
            if name == self.lesson.name and number.isdecimal() and 1 <= int(number) <= len(self.lesson.stops):
                text = answer_in_words(self.pages, given.question, given.answer)[1]
                question = self.lesson.stops[int(number) - 1].question
                right = question.answer if question is not None else None
                known = (
                    ""
                    if question is None or right is None or isinstance(right, Computed)
                    else in_words(right, question.kind)
                )
                of_trace = self.trace_id if int(number) == self.number else ""
                recalled[name, int(number), of_trace] = GivenAnswer(text, known, given.verdict)
        session().answers = recalled


def question_name(lesson: str, stop: int) -> str:
    """The name that a room knows the question of a stop by."""
    return f"{lesson} {stop}"


def answers_of(lesson: Lesson) -> dict[int, GivenAnswer]:
    """Stop -> the session's newest answer; in a room, of the questions that are revealed."""
    answers = session().answers or {}
    mine = {key[1]: answer for key, answer in sorted(answers.items()) if key[0] == lesson.name}
    here = room.seat()
    return {
        stop: answer for stop, answer in mine.items() if here is None or room.revealed(question_name(lesson.name, stop))
    }


def draw_answers(lesson: Lesson) -> None:
    """How many questions the session has answered, how many of them right, and each with what is right and why."""
    mine = answers_of(lesson)
    counted = [answer.verdict for answer in mine.values() if answer.verdict is not None]
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
    notes = [_summary(lesson.stops[number - 1], number, answer) for number, answer in sorted(mine.items())]
    with st.expander(_("Your answers")):
        for title, *lines in notes:
            text_of_answer = "<br>".join(map(html.escape, filter(None, lines)))
            st.html(f'<p class="hs-lesson-note"><b>{html.escape(title)}</b><br>{text_of_answer}</p>')
    page = "\n\n".join("\n".join(filter(None, note)) for note in ((translate(lesson.title), text), *notes))
    st.download_button(
        _("Save your answers"), page, f"{lesson.name}.txt", "text/plain", key=f"hs-lesson-save-{lesson.name}",
        on_click="ignore",
    )  # fmt: skip


def _summary(stop: Stop, number: int, answer: GivenAnswer) -> tuple[str, ...]:
    """Title, question, both answers and why, as lines."""
    question = stop.question
    title = {True: "✓ ", False: "✗ ", None: ""}[answer.verdict] + f"{number}. {translate(stop.title)}"
    if question is None:
        return (title,)
    return (
        title,
        translate(question.ask),
        *(f"{name}: {text}" for name, text in _labelled(answer, question)),
        translate(question.why),
    )


def _translated(answer: str, question: Question) -> str:
    """An answer in the reader's language; a token stays what it is."""
    if question.kind not in ("choose", "order") or isinstance(question.options, Computed):
        return answer
    return " → ".join(map(translate, answer.split(" → ")))


def _labelled(answer: GivenAnswer, question: Question) -> list[tuple[str, str]]:
    """What was answered and what is right, each after its label; what is not known is left out."""
    right = _("For example") if question.kind == "text" else _("Right answer")
    both = ((_("Your answer"), answer.text), (right, answer.right))
    return [(label, _translated(text, question)) for label, text in both if text]


def _chosen_in_picture(kind: str) -> str:
    """The head, cell, row or token that is chosen in the picture now, as links name it; "" for nothing. kind: of the
    question, one of PRESSED."""
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
    return plain_markdown(with_meaning(_translated(option, question), asked.meanings.get(option, "")))


def _draw_tokens(question: Question, asked: Asked) -> None:
    """The tokens that the question counts, numbered."""
    says = html.escape(question.names_tokens)
    tokens = "".join(
        f"<li>{html.escape(token)}{f' <small>{html.escape(meaning)}</small>' if meaning else ''}</li>"
        for token, meaning in asked.tokens
    )
    st.html(f'<p class="hs-lesson-writes">{says}</p><ol class="hs-lesson-output">{tokens}</ol>')


def _draw_cards(
    question: Question, asked: Asked, answers: Sequence[MemberAnswer] = (), right: Collection[str] = (), mine: str = ""
) -> None:
    """The options, or what was answered, each as a card with a bar for those of the class who chose it. answers: of the
    class; right: the right ones; mine: this session's own answer."""
    choose = question.kind == "choose"
    counts = room.counts([given.answer for given in answers], numbers=not choose)
    labels = {
        option: _translated(in_words(option, question.kind), question) for option in (*asked.options, *counts, *right)
    }
    options = dict.fromkeys([*(asked.options if choose else ()), *counts, *(right if choose else ())])
    if choose and mine and mine not in {*options, *labels.values()}:
        options[mine] = None
    cards = []
    for option in options:
        label = labels.get(option, option)
        own = mine in (option, label)
        notes = [_("Right answer")] * (option in right) + [_("Your answer")] * own
        kinds = ["hs-right"] * (option in right) + ["hs-mine"] * own
        count = f"<b>{counts.get(option, 0)}</b>" if answers else ""
        count += "".join(f"<em>{html.escape(note)}</em>" for note in notes)
        share = 100 * counts.get(option, 0) / max(1, len(answers))
        text = html.escape(with_meaning(label, asked.meanings.get(option, "")))
        cards.append(f'<li class="{" ".join(kinds)}" style="--share:{share:.0f}%"><span>{text}</span>{count}</li>')
    if cards:
        kinds = ["hs-cards", *["hs-bins"] * (not choose), *["hs-long"] * _are_long(asked)]
        st.html(f'<ol class="{" ".join(kinds)}">{"".join(cards)}</ol>')


def _are_long(asked: Asked) -> bool:
    """Whether the options are sentences, which a phone shows one below the other."""
    return any(len(option) > LONG_OPTION for option in asked.options)


def _answer_field(question: Question, asked: Asked, key: str) -> None:
    """The field for the answer; for what is chosen in the picture, a sentence that says so."""
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


def _read_answer(question: Question, asked: Asked, key: str) -> tuple[str | tuple[str, ...], str]:
    """The answer as it is now, in the field of this key or in the picture, "" for none; and what to say if it is
    none."""
    value = st.session_state.get(key)
    if question.kind in PRESSED:
        return _chosen_in_picture(question.kind), _(
            "Nothing is pressed in the picture yet. Press it there, then press Answer."
        )
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
        return "", _("“{text}” is not a number. Answer with a number such as 4 or 0.5.", text=text)
    if text and question.kind == "shape" and not numbers(text):
        return "", _("“{text}” has no numbers. Answer with a shape such as [2, 3, 4, 5].", text=text)
    return text, _("The field is empty. Type an answer, then press Answer.")


def _submit_answer(key: AnswerKey, question: Question, asked: Asked, widget: str) -> None:
    """Callback: keep the answer for this sentence, and send it to the room. widget: key of the field."""
    answer, missing = _read_answer(question, asked, widget)
    kept = session()
    if not answer:
        kept.answer_missing = (widget, missing)
        return
    right = "" if asked.right is None else in_words(asked.right, question.kind)
    given = GivenAnswer(in_words(answer, question.kind), right, is_right(question, answer, asked.right))
    kept.answers = {**(kept.answers or {}), key: given}
    room.send_answer(question_name(*key[:2]), in_words(answer), given.verdict)
    if given.verdict is False and room.seat() is None:
        _choose_right(question, asked.right)


def _choose_right(question: Question, right: Answer | None) -> None:
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
        st.html(_listed(zip(names, asked.pair, strict=True), "pair"))


def _listed(rows: Iterable[tuple[str, str]], kind: str) -> str:
    """HTML: texts after their labels; "" for none."""
    terms = "".join(f"<dt>{html.escape(label)}</dt><dd>{html.escape(text)}</dd>" for label, text in rows)
    return f'<dl class="hs-lesson-{kind}">{terms}</dl>' if terms else ""


def _draw_answer(answer: GivenAnswer, question: Question, revealed: bool = True, sentence: str = "") -> None:
    """What was answered; once it is revealed, also what is right and why. sentence: the one that was asked about, where
    it must be named."""
    verdict = {True: _("Right."), False: _("Not this time."), None: ""}[answer.verdict]
    labelled = [(_("The sentence"), sentence)] if sentence else []
    if question.kind != "choose":  # the cards have both answers
        labelled += _labelled(answer, question)
    listed = _listed(labelled, "reveal" if revealed else "pair")
    kind = {True: "hs-good", False: "hs-bad", None: ""}[answer.verdict]
    if not revealed:
        waits = html.escape(_("Your teacher will reveal what is right."))
        st.html(f'{listed}<p class="hs-lesson-sum">{waits}</p>')
        return
    st.html(
        f'{listed}<p class="hs-lesson-verdict">'
        f'<b class="{kind}">{html.escape(verdict)}</b> {html.escape(translate(question.why))}</p>'
    )


def answer_in_words(pages: tuple[str, ...], question: str, answer: str) -> tuple[str, str]:
    """The title of a question's stop, and an answer to it as people read it. question, answer: as a room has them."""
    name, _space, number = question.rpartition(" ")
    found = find(name, pages)
    if found is None or not number.isdecimal() or not 1 <= int(number) <= len(found.stops):
        return question, answer
    stop = found.stops[int(number) - 1]
    asked = stop.question
    text = _translated(in_words(answer, asked.kind), asked) if asked is not None else answer
    return f"{number}. {translate(stop.title)}", text


@shared(queued=True)
def computed(model: Pretrained, trace: Trace, answer: Computed) -> Answer:
    """An answer for a sentence, computed once for all viewers."""
    return answer.answer(model, trace)


def evaluate(model: Pretrained, trace: Callable[[], Trace], question: Question) -> Asked:
    """A question for the open model. trace: returns the trace; called only where something is computed. Raises
    UserError."""

    def value(given: str | float | tuple[str, ...] | Computed | None) -> Answer | None:
        return computed(model, trace(), given) if isinstance(given, Computed) else given

    options = value(question.options)
    side = TOKENS.get(question.options.function) if isinstance(question.options, Computed) else None
    counted: Literal["target_in", "target_out"] = "target_in" if question.asks_for_the_mask else "target_out"
    return Asked(
        tuple(map(str, options)) if isinstance(options, tuple) else (),
        value(question.answer),
        token_meanings(trace(), counted) if question.asks_for_a_step else (),
        (trace().source_text, str(value(Computed("translation")))) if question.asks_for_a_translation else None,
        {label: meaning for label, meaning in token_meanings(trace(), side) if meaning} if side else {},
    )


def keep_stop_view(lesson: Lesson, number: int, page: str) -> None:
    """Keep the written address as the stop's own view, unless its sentence is one that a person has typed. page: name
    of the open page."""
    state = current_state()
    if state is None or session().typed_at_stops.get((lesson.name, number)) != sentence_of(state):
        session().stop_view = (lesson.name, number, page, _address_of_view())


def _address_of_view() -> dict[str, str]:
    """What the address says of the view. The room is no part of it."""
    return {name: text for name, text in session().address.items() if name != ROOM}
