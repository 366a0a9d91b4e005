"""The room that this session is in: the teacher's view that others follow, and what the members send.

The address names the room, so that a reload comes back to it. A cookie holds who one is: the teacher's secret, or the
member's id. Size of text, language and theme stay each person's own.
"""

from __future__ import annotations

import csv
import functools
import html
import io
import math
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar
from urllib.parse import quote, unquote

import streamlit as st

from pages.frame import draft
from pages.frame.link import app_address, ask_for_code
from pages.frame.messages import capital, message
from pages.frame.state import (
    CHECKPOINT,
    FOLDED,
    GIVEN,
    LESSON,
    ROOM,
    SEAT,
    SOURCE,
    STOP,
    TARGET,
    current_state,
    written_address,
)
from pages.runtime import language, viewer
from pages.runtime.followers import FOLLOWERS, About, ViewOf, keep_own
from pages.runtime.rooms import GUESSED, WATCH, rooms
from pages.runtime.session_models import own_models
from pages.runtime.streamlit import session_id, viewer_network
from transformer.rooms import Member, Room, RoomError, StoreError
from transformer.rooms.store import HOURS, LENGTH, LONGEST_NAME, LONGEST_TEXT, Find, Given, Revealed, read_code
from transformer.texts import _

LEFT, JUMP, ARRIVING, SAID, ENDING, SHOWN = (
    f"headscope_room_{name}" for name in ("left", "jump", "arriving", "said", "ending", "shown")
)
REVEALED = "headscope_room_revealed"  # in the session: of all rooms that it was in, as of `Room`
MOST_KEPT = 3_000  # characters in a cookie; a browser drops those above 4,096 bytes
PUT_AWAY = "headscope_room_put_away"  # in the session: code, and the last view that the bar says no more of
FIND = "find"  # in the room's view: the number of the student's view that it is
OWN = frozenset({ROOM, "big", FIND})  # names in links that are not part of the common view
LESSONS = "lessons"  # path of the page of lessons
# Seconds after a call in which a switch that is off comes from a browser that has not drawn the call yet: whatever it
# asks meanwhile, such as the newest answers, names the value of every field.
ON_THE_WAY = 3.0
TICK = 1.0  # seconds between two looks at who is there and what was answered
SLOW_TICK = 3.0  # the same, of a student at least
MOST_LOOKS = 10  # in a second, of all students of a room
EACH_STEP = 1000  # of the room: how far it raises the revision of its members' states
MARKS = {True: "✓ ", False: "✗ ", None: ""}
BINS = 8  # of a histogram of numbers
Spell = Callable[[str, str], tuple[str, str]]  # the name of a question and an answer -> both as people read them


@dataclass
class Seat:
    """member: id, "" for the teacher, who has the secret. room, follows, name: as they were at the start of this run.
    asks_name: the bar asks for a name, until there is one, an answer, or none is wanted. step, shown: what of the room
    this session has shown last; opened: the same as the address has it; called: when the teacher called this member
    back; back: a place in the bar for the way back."""

    code: str
    member: str = ""
    secret: str = ""
    room: Room | None = None
    follows: bool = True
    name: str = ""
    asks_name: bool = True
    step: int = -1
    shown: tuple[str, Mapping[str, str]] | None = None
    opened: ViewOf | None = None
    called: float = -math.inf
    back: st.delta_generator.DeltaGenerator | None = None

    @property
    def teaches(self) -> bool:
        return bool(self.secret)


def seat() -> Seat | None:
    """Of this session; None if it is in no room."""
    return st.session_state.get(SEAT)


def revealed(question: str) -> Revealed | None:
    """What the room has revealed; of a room that has ended, what it had."""
    here = seat()
    if here is None:
        return _known().get(question)
    return here.room.revealed.get(question) if here.room is not None else None


def _known() -> Mapping[str, Revealed]:
    """What the rooms of this session had revealed; after a reload the questions alone, of the browser's last visit."""
    if REVEALED not in st.session_state:
        kept = str(st.context.cookies.get(viewer.REVEALED_KEPT, ""))
        st.session_state[REVEALED] = {unquote(name): Revealed() for name in kept.split("/") if name}
    return st.session_state[REVEALED]


def _know(revealed: Mapping[str, Revealed]) -> None:
    st.session_state[REVEALED] = revealed
    kept = ""
    for name in reversed([*revealed]):  # the newest first
        if len(kept) + len(quoted := quote(name, safe="")) > MOST_KEPT:
            break
        kept += f"/{quoted}"
    st.session_state[viewer.REVEALED_KEPT] = kept


def forget(lesson: str) -> None:
    """The lesson begins again: nothing in it is revealed, but by the room of now."""
    _know({name: about for name, about in _known().items() if name.rpartition(" ")[0] != lesson})


def _take(seat: Seat) -> None:
    st.session_state[SEAT] = seat
    st.session_state[viewer.SEAT_KEPT] = f"{seat.code}.{'t' if seat.teaches else 'm'}.{seat.secret or seat.member}"


def _rise(said: str = "") -> None:
    """Leave the seat; say why."""
    gone = st.session_state.pop(SEAT, None)
    if gone is not None:
        WATCH.rise(session_id())
        st.session_state[LEFT] = gone.code
        st.session_state[viewer.SEAT_KEPT] = ""
    st.session_state[SAID] = said


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def _telling(
    tell: Callable[[str], None],
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result | None]]:
    """Decorates a function that asks the rooms: an error of theirs is told, and the page goes on."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result | None]:
        @functools.wraps(function)
        def called(*given: Arguments.args, **named: Arguments.kwargs) -> Result | None:
            try:
                return function(*given, **named)
            except RoomError as error:
                tell(capital(error) + ".")
                return None

        return called

    return decorate


def _say(sentence: str) -> None:
    st.session_state[SAID] = sentence


_saying, _drawing = _telling(_say), _telling(message)  # of callbacks, and of what draws


@_saying
def _ask(method: str, *values: object) -> None:
    """Callback: call a method of the rooms."""
    getattr(rooms(), method)(*values)


def teaches() -> bool:
    """Whether this session is the teacher of a room."""
    here = seat()
    return here is not None and here.teaches


def led() -> bool:
    """Whether this session follows its teacher, who moves through the lesson."""
    here = seat()
    return here is not None and not here.teaches and here.follows


# -- in and out --------------------------------------------------------------------------------------------------------


@_saying
def open_room() -> None:
    """Callback: open a room as its teacher."""
    code, secret = rooms().open()
    _take(Seat(code, secret=secret))


def join(typed: str) -> None:
    """Callback, or at the start of a run: enter the room of a code, as the one who was there before if there was.

    Only a wrong code may be told late: a right one lets everybody of a class behind one address in at once."""
    code = read_code(typed)
    kept_code, _dot, kept = str(st.context.cookies.get(viewer.SEAT_KEPT, "")).partition(".")
    role, _dot, ticket = kept.partition(".") if kept_code == code else ("", "", "")
    try:
        if role == "t" and rooms().steers(code, ticket):
            _take(Seat(code, secret=ticket))
        else:
            known = ticket if role == "m" else ""
            member = rooms().join(code, known).id
            asks_name = not known or all(one.member != member for one in rooms().answers(code))
            _take(Seat(code, member, asks_name=asks_name))
        st.session_state.pop(LEFT, None)
    except RoomError as error:
        if not isinstance(error, StoreError):
            time.sleep(GUESSED.count(viewer_network()))
        _say(capital(error) + ".")


@_saying
def _leave() -> None:
    here = seat()
    if here is not None:
        rooms().leave(here.code, here.member)
        _rise()


def _ask_end(code: str) -> None:
    st.session_state[ENDING] = code


@_saying
def _end() -> None:
    here = seat()
    if here is not None:
        st.session_state["hs-room-class"] = False
        rooms().end(here.code, here.secret)
        _rise(_("The room {code} has ended; its answers are deleted.").format(code=here.code))


@_saying
def _join_typed() -> None:
    if seat() is None and (typed := st.session_state["hs-room-code"]).strip():
        join(typed)


def _kept_code() -> str:
    """Of the room that this browser was in, if it still exists."""
    code = str(st.context.cookies.get(viewer.SEAT_KEPT, "")).partition(".")[0]
    try:
        return code if code and rooms().find(code) is not None else ""
    except RoomError:
        return ""


def join_or_open() -> None:
    """What the page Lessons has for a class: a room to open, and a code to type."""
    if stays(LESSONS):
        message(_("The class does not see this page. It keeps the view that you showed last."), "note")
    if seat() is not None:
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="hs-room-doors"):
        with (
            st.form("hs-room-form", border=False, width="content"),
            st.container(horizontal=True, vertical_alignment="bottom", gap="small"),
        ):
            st.session_state.setdefault("hs-room-code", _kept_code())
            st.text_input(
                _("Join a class"), key="hs-room-code", max_chars=LENGTH + 4, placeholder=_("teacher's code"), width=180
            )
            st.form_submit_button(_("Join"), key="hs-room-join", on_click=_join_typed)
        about = _("For a class: students join with a code and see your view; their answers arrive on your screen.")
        st.button(_("For teachers: open a room"), key="hs-room-open", on_click=open_room, help=about)


def waits() -> bool:
    """Draw, on the page Lessons, what members see until their teacher shows a view; whether this is one of them."""
    here = seat()
    if here is None or not led():
        return False
    room, said = _("Room {code}").format(code=here.code), _("You are in. Your teacher's view will appear here.")
    st.html(f'<div class="hs-room-waits"><b>{html.escape(room)}</b><p role="status">{html.escape(said)}</p></div>')
    return True


# -- a run -------------------------------------------------------------------------------------------------------------


def take_jump(path: str) -> tuple[str, dict[str, str]] | None:
    """Call at the start of a run of a page. Path and parameters of the view to go to: one that the teacher shows, once.

    A member who goes to another page by himself follows no longer.
    """
    asked = st.query_params.get(ROOM)
    if seat() is None and asked and st.session_state.get(LEFT) != read_code(asked):
        join(asked)
        if seat() is None:
            st.session_state[LEFT] = read_code(asked)
    here = seat()
    if here is None:
        return None
    try:
        found, member = rooms().find(here.code), rooms().member(here.code, here.member)
    except StoreError as error:
        _say(capital(error) + ".")
        return None
    if found is None:
        _rise(_("The room {code} has ended.").format(code=here.code))
        return None
    here.room = found
    if found.revealed:
        _know({**_known(), **found.revealed})
    if here.teaches:
        jump = st.session_state.pop(JUMP, None)
    elif member is None:
        _rise(_("The teacher has removed you from the room {code}.").format(code=here.code))
        return None
    else:
        WATCH.sit(session_id(), here.code, here.member, here.room.step)
        called = member.follows and not here.follows
        if called:
            here.called = time.monotonic()
        here.follows, here.name = member.follows, member.name
        here.asks_name = here.asks_name and not here.name
        view = (here.room.path, here.room.params)
        if FOLLOWERS.moved():  # what the browser shows is not what the last run has drawn
            here.step, here.shown = -1, None
        elif here.follows and here.room.step != here.step:
            _open_sheet(here, view, called)
        FOLLOWERS.begin(About(view, _look(here.code), _answered()))
        news = here.follows and here.room.step != here.step and here.room.step > 0 and view != here.shown
        if here.follows and not news and here.shown is not None and here.room.step > 0 and path != here.shown[0]:
            _set_follow(here, False)
        jump = view if news else None
        if here.follows:
            here.step, here.shown = here.room.step, view
    if jump is None:
        return None
    st.session_state[ARRIVING] = True
    return jump[0], {name: text for name, text in jump[1].items() if name not in OWN} | {ROOM: here.code}


def _open_sheet(here: Seat, view: ViewOf, called: bool) -> None:
    """At news that the lesson's panel tells, show it to a member who has hidden it: at another stop, when an answer is
    revealed, and when all are called back, which a member who was elsewhere is told."""

    def stop(of: ViewOf) -> tuple[str | None, str | None]:
        return of[1].get(LESSON), of[1].get(STOP)

    if called or here.shown is None or view == here.shown or stop(view) != stop(here.shown):
        st.session_state[FOLDED] = False
    if called:
        _say(_("Your teacher has called you back."))


def arriving() -> bool:
    """Whether this run shows a view of the room for the first time; once."""
    arrives = bool(st.session_state.pop(ARRIVING, False))
    if arrives:
        FOLLOWERS.arrive()
        if (here := seat()) is not None:
            here.opened = None
    return arrives


def revision(old: int) -> int:
    """Of the state in a run that shows a view of the room: greater than the old one, and in all sessions the same, so
    that they draw the same."""
    here = seat()
    return max(old + 1, EACH_STEP * here.step if here is not None else 0)


def _answered() -> frozenset[tuple[str, str]]:
    """Lessons and stops with an answer of this session."""
    given: Mapping[tuple[str, int, str], Any] = st.session_state.get(GIVEN, {})
    return frozenset((lesson, str(stop)) for lesson, stop, _trace in given)


def _look(code: str) -> Hashable:
    """What a member's screen depends on beside the room's view."""
    chosen = tuple(
        bool(st.session_state.get(key)) for key in ("hs-room-menu", "hs-room-view", "hs-link", "hs-download", FOLDED)
    )
    state, here = current_state(), seat()
    chosen += (here is not None and here.asks_name,)
    return code, language.session_language(), state is not None and state.view.big, chosen, tuple(own_models())


def stays(path: str) -> bool:
    """Whether the class keeps its view while the teacher is on this page: on Lessons, to print or to choose what comes
    next, once the class has seen another page."""
    here = seat()
    if here is None or not here.teaches or here.room is None:
        return False
    return here.room.step > 0 and path == LESSONS != here.room.path


@_drawing
def show(path: str) -> None:
    """After the address was written: make it the room's view, if this is the teacher."""
    here = seat()
    if here is None or not here.teaches:
        return
    view = (path, _common())
    if stays(path):
        return
    number, found = st.session_state.get(SHOWN, (0, None))
    place = (path, *(view[1].get(name) for name in (LESSON, STOP, CHECKPOINT, SOURCE, TARGET)))
    if number and found in (None, place):  # elsewhere it is no longer the student's view
        st.session_state[SHOWN] = (number, place)
        view[1][FIND] = str(number)
    else:
        end_find()
    if view != here.shown:
        here.shown = view
        try:
            rooms().show(here.code, here.secret, *view)
        except StoreError:
            here.shown = None  # again after the next run
            raise


def _common() -> dict[str, str]:
    """What is on the screen, without what nobody else has: a lesson that is being written."""
    params = {name: text for name, text in written_address().items() if name not in OWN}
    mine = (LESSON, STOP) if params.get(LESSON) == draft.NAME else ()
    return {name: text for name, text in params.items() if name not in mine}


# -- the bar under the header ------------------------------------------------------------------------------------------


def bar(path: str, spell: Spell) -> None:
    """Who is in the room and what one can do in it; and what was said of a room since the last run."""
    if said := st.session_state.pop(SAID, ""):
        message(said)
        keep_own()
    here = seat()
    if here is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="hs-room"):
        if here.teaches:
            _teacher_bar(here, path, spell)
        else:
            _member_bar(here, path)
        here.back = st.empty()
        _find_note(here, path)


def shows_a_find(path: str) -> bool:
    """Whether the view of this page is one that a student has sent."""
    return _shown_find(path) is not None


def end_find() -> None:
    """The view that comes now is the teacher's own."""
    st.session_state.pop(SHOWN, None)


def _shown_find(path: str) -> str | None:
    """Its number."""
    here = seat()
    if here is not None and here.teaches:
        number, place = st.session_state.get(SHOWN, (0, None))
        return str(number) if number and (place is None or place[0] == path) else None
    if here is None or not here.follows or here.shown is None or here.shown[0] != path:
        return None
    return here.shown[1].get(FIND)


@_drawing
def _find_note(here: Seat, path: str) -> None:
    """What a student wrote about the view that all see now; no name."""
    number = _shown_find(path)
    note = next((find.text for find in rooms().finds(here.code) if str(find.number) == number), None)
    if note is not None:
        about = _("A student's view: “{note}”").format(note=note) if note else _("A student's view")
        st.html(f'<p class="hs-room-find">{html.escape(about)}</p>')


def offer_back(path: str) -> None:
    """After the address was written: a button to the teacher's view, for a member whose view is another one or who does
    not follow."""
    here = seat()
    if here is None or here.teaches or here.room is None or here.room.step <= 0 or here.back is None:
        return
    view = (path, _common())
    here.opened = here.opened or view
    if view != here.opened or not here.follows:  # who does not follow is not told that the teacher has gone on
        keep_own()
        here.back.button(
            _("Back to the teacher's view"), key="hs-room-back", on_click=_set_follow, args=(here, True), type="primary"
        )


def _link(here: Seat, path: str) -> str:
    return f"{app_address(path)[0]}?{ROOM}={here.code}"


def _teacher_bar(here: Seat, path: str, spell: Spell) -> None:
    _presence(here)
    code = _link(here, path), here.code, functools.partial(_joined, here)
    st.button(_("Show the code"), key="hs-room-qr", on_click=ask_for_code, args=code)
    help_text = _("All follow your view again, also those who look around by themselves.")
    st.button(_("Call all back"), key="hs-room-call", on_click=_ask, args=("call_back", here.code, here.secret),
              help=help_text)  # fmt: skip
    menu = st.popover(_("Class"), key="hs-room-class", on_change="rerun")
    if menu.open:
        with menu:
            _class(here, spell)


@st.fragment(run_every=TICK)
@_drawing
def _presence(here: Seat) -> None:
    there = rooms().here(here.code)
    following = sum(member.follows for member in there)
    room = html.escape(_("Room {code}").format(code=here.code))
    counted = _("no students yet")
    if there:
        counted = _("students: {count}, following you: {following}").format(count=len(there), following=following)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.html(f'<p class="hs-room-code"><b>{room}</b> {html.escape(counted)}</p>', width="content")
        code, last = st.session_state.get(PUT_AWAY, ("", 0))
        new = [find.number for find in rooms().finds(here.code) if code != here.code or find.number > last]
        if not new:
            return
        views, about = _("Views: {count}").format(count=len(new)), _("Views from students")
        if st.button(views, key="hs-room-finds", on_click=_open_class, help=about):
            st.rerun()  # the page, not only this line
        about = _("Put away until another view is sent; Class keeps them all")
        st.button("✕", key="hs-room-put-away", on_click=_put_away, args=(here.code, max(new)), help=about,
                  type="tertiary")  # fmt: skip


@st.fragment(run_every=TICK)
@_drawing
def _joined(here: Seat) -> None:
    """Below the code, while students join."""
    counted = html.escape(_("Students in the room: {count}", count=len(rooms().here(here.code))))
    st.html(f'<p class="hs-room-joined" role="status">{counted}</p>')


def _put_away(code: str, last: int) -> None:
    """Callback: say no more in the bar of the views up to this one."""
    st.session_state[PUT_AWAY] = (code, last)


def _open_class() -> None:
    st.session_state["hs-room-class"] = True


@st.fragment(run_every=TICK)
@_drawing
def _class(here: Seat, spell: Spell) -> None:
    """What members sent, and who they are: names are folded away, because the class may see this screen."""
    _finds(here)
    answers, there = rooms().answers(here.code), rooms().here(here.code)
    with st.expander(_("Answers by name ({count})").format(count=len(answers)), key="hs-room-by-name"):
        _answers(here, answers, _persons(answers, there), spell)
    with st.expander(_("People ({count})").format(count=len(there)), key="hs-room-people"):
        _people(here, there)
    if st.session_state.get(ENDING) != here.code:
        st.button(_("End the room"), key="hs-room-end", on_click=_ask_end, args=(here.code,))
        return
    sure = _("End the room? Nobody has answered a question in it.")
    if answers:
        sure = _("End the room? Its answers ({count}) are deleted; save them first if you need them.")
    message(sure.format(count=len(answers)), "note")
    with st.container(horizontal=True, gap="small"):
        if answers:
            _save_answers(here, spell, "hs-room-csv-end")
        if st.button(_("End and delete"), key="hs-room-end-now", on_click=_end):
            st.rerun()  # the page, not only this menu
        st.button(_("Keep the room"), key="hs-room-keep", on_click=_ask_end, args=("",), type="primary")


def _persons(answers: list[Given], there: list[Member]) -> dict[str, str]:
    """Member -> "Person 1" and so on: those who are there, then those who have left and answered."""
    ids = dict.fromkeys([member.id for member in there] + [given.member for given in answers])
    return {one: _("Person {number}").format(number=number) for number, one in enumerate(ids, start=1)}


def _people(here: Seat, there: list[Member]) -> None:
    persons = _persons([], there)
    for member in there:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            name = member.name or persons[member.id]
            text = name if member.follows else _("{name} (looks around)").format(name=name)
            st.html(f'<p class="hs-room-line">{html.escape(text)}</p>', width="stretch")
            if member.name:
                st.button(_("Remove the name"), key=f"hs-room-unname-{member.id}", on_click=_ask,
                          args=("remove_name", here.code, here.secret, member.id), type="tertiary")  # fmt: skip
            st.button(_("Remove"), key=f"hs-room-remove-{member.id}", on_click=_ask,
                      args=("remove", here.code, here.secret, member.id), type="tertiary")  # fmt: skip
    st.caption(_("A room ends by itself after {hours} hours.").format(hours=HOURS))


def _finds(here: Seat) -> None:
    finds = rooms().finds(here.code)
    about = _("Views from students") if finds else _("Students can send you the view that they look at.")
    st.html(f'<p class="hs-room-line">{html.escape(about)}</p>')
    names = any(find.name for find in finds) and st.toggle(_("Show the names"), key="hs-room-names")
    for find in finds:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            text = ": ".join(filter(None, (find.name if names else "", find.text or _("a view"))))
            st.html(f'<p class="hs-room-line">{html.escape(text)}</p>', width="stretch")
            if st.button(_("Show to all"), key=f"hs-room-project-{find.number}", on_click=_project, args=(find,)):
                st.rerun()
            st.button(_("Remove"), key=f"hs-room-unfind-{find.number}", on_click=_ask,
                      args=("remove_find", here.code, here.secret, find.number), type="tertiary")  # fmt: skip


def _project(find: Find) -> None:
    """Callback: the student's view, at the teacher's stop of the lesson."""
    now = {name: text for name, text in written_address().items() if name in (LESSON, STOP)}
    view = {name: text for name, text in find.params.items() if name not in (LESSON, STOP)}
    st.session_state[JUMP], st.session_state[SHOWN] = (find.path, view | now), (find.number, None)
    st.session_state["hs-room-class"] = False


def _answers(here: Seat, answers: list[Given], persons: Mapping[str, str], spell: Spell) -> None:
    """A table, people down, questions across. Names only if asked for, and what is right only once it is revealed,
    because the class may see this screen."""
    if not answers:
        return
    names = any(given.name for given in answers) and st.toggle(_("Show the names"), key="hs-room-answer-names")
    people = {given.member: (given.name if names else "") or persons[given.member] for given in answers}
    titles = {given.question: spell(given.question, "")[0] for given in answers}
    said = {
        (given.member, given.question): (MARKS[given.verdict] if revealed(given.question) else "")
        + spell(given.question, given.answer)[1]
        for given in answers
    }
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles.values())
    rows = "".join(
        f"<tr><th>{html.escape(person)}</th>"
        + "".join(f"<td>{html.escape(said.get((member, question), ''))}</td>" for question in titles)
        + "</tr>"
        for member, person in people.items()
    )
    st.html(f'<div class="hs-room-table"><table><tr><th></th>{head}</tr>{rows}</table></div>')
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _save_answers(here, spell, "hs-room-csv")
        chosen = st.selectbox(
            _("Remove an answer"), list(said), index=None, key="hs-room-unanswer", placeholder=_("Remove an answer"),
            format_func=lambda place: f"{people[place[0]]}, {titles[place[1]]}: {said[place]}",
            label_visibility="collapsed",
        )  # fmt: skip
        if chosen is not None:
            st.button(_("Remove"), key="hs-room-unanswer-now", on_click=_ask,
                      args=("remove_answer", here.code, here.secret, *chosen))  # fmt: skip


def _save_answers(here: Seat, spell: Spell, key: str) -> None:
    st.download_button(
        _("All answers as CSV"), lambda: as_csv(rooms().answers(here.code), spell), key=key,
        file_name=f"room-{here.code}.csv", mime="text/csv", on_click="ignore",
    )  # fmt: skip


def as_csv(answers: list[Given], spell: Spell) -> bytes:
    """One line an answer. A text that a spreadsheet would take for a formula starts with an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["question", "name", "answer", "right"])
    for given in answers:
        row = [given.question, given.name, spell(given.question, given.answer)[1]]
        writer.writerow([f"'{cell}" if cell[:1] in "=+-@\t" and cell else cell for cell in row]
                        + [{True: "yes", False: "no", None: ""}[given.verdict]])  # fmt: skip
    return text.getvalue().encode("utf-8-sig")


def _member_bar(here: Seat, path: str) -> None:
    if here.asks_name:  # who came by a link has not been asked
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="hs-room-ask"):
            name = _("Your name (optional)")
            st.text_input(name, key="hs-room-first-name", max_chars=LONGEST_NAME, placeholder=name, width="stretch",
                          on_change=_rename, args=("hs-room-first-name",), label_visibility="collapsed")  # fmt: skip
            st.button(_("OK"), key="hs-room-named", on_click=_name_once)
    menu = st.popover(_("Room {code}").format(code=here.code), key="hs-room-menu", on_change="rerun")
    if menu.open:
        keep_own()  # it has one's name
        st.session_state["hs-room-name"] = here.name
        with menu:
            about = _("Your teacher sees it beside your answers; the class does, too, if the list is opened for all.")
            st.text_input(_("Your name (optional)"), key="hs-room-name", max_chars=LONGEST_NAME, help=about,
                          on_change=_rename, args=("hs-room-name",))  # fmt: skip
            about = _("Your answers are deleted.")
            st.button(_("Leave the room"), key="hs-room-leave", on_click=_leave, help=about, type="tertiary")
    menu = st.popover(_("Send this view"), key="hs-room-view", on_change="rerun")
    if menu.open:
        with menu:
            st.text_area(_("Send this view to the teacher: what is there to see?"), key="hs-room-note",
                         max_chars=LONGEST_TEXT, height=90)  # fmt: skip
            st.button(_("Send"), key="hs-room-send", on_click=_send, args=(path,), type="primary")
    st.session_state["hs-room-follow"] = here.follows
    st.toggle(_("Follow the teacher"), key="hs-room-follow", on_change=_follow)


@_saying
def _follow() -> None:
    here = seat()
    follows = bool(st.session_state["hs-room-follow"])
    if here is not None and (follows or time.monotonic() - here.called > ON_THE_WAY):
        _set_follow(here, follows)


def _set_follow(here: Seat, follows: bool) -> None:
    rooms().follow(here.code, here.member, follows)
    here.follows = follows
    here.step, here.shown = -1, None  # who comes back goes to the teacher's view


@_saying
def _rename(field: str) -> None:
    here = seat()
    if here is not None:
        rooms().rename(here.code, here.member, st.session_state[field])


def _name_once() -> None:
    """Callback: ask no more; a name that was typed has been taken."""
    here = seat()
    if here is not None:
        here.asks_name = False


@_saying
def _send(path: str) -> None:
    here = seat()
    if here is not None:
        rooms().send(here.code, here.member, path, _common(), st.session_state["hs-room-note"])
        st.session_state["hs-room-note"], st.session_state["hs-room-view"] = "", False
        st.toast(_("Your view was sent to the teacher."), icon=":material/check:")


# -- the questions of a lesson, asked in a room --------------------------------------------------------------------


@_saying
def send_answer(question: str, answer: str, verdict: bool | None) -> None:
    """A member's answer; nothing for the teacher or outside of a room."""
    here = seat()
    if here is not None and not here.teaches:
        here.asks_name = False
        rooms().answer(here.code, here.member, question, answer, verdict)


def bins(answers: list[str]) -> list[tuple[str, int]]:
    """A label and a count for each bar: each answer with how often it came, most often first; of many different numbers
    a histogram with bins of equal width."""
    counts = Counter(answers)
    try:
        numbers = sorted(float(answer.replace(",", "")) for answer in answers)
    except ValueError:
        return counts.most_common()
    if len(counts) <= BINS:
        return sorted(counts.items(), key=lambda pair: float(pair[0].replace(",", "")))
    low, width = numbers[0], (numbers[-1] - numbers[0]) / BINS
    places = Counter(min(int((number - low) / width), BINS - 1) for number in numbers)
    return [(f"{low + place * width:.3g} – {low + (place + 1) * width:.3g}", places[place]) for place in range(BINS)]


@_drawing
def own_answers() -> list[Given]:
    """What this member has answered, whatever session it was in."""
    here = seat()
    if here is None or here.teaches:
        return []
    return [one for one in rooms().answers(here.code) if one.member == here.member]


@_drawing
def given(question: str) -> list[Given]:
    """All answers to a question; none outside of a room."""
    here = seat()
    return rooms().answers(here.code, question) if here is not None else []


def counts(answers: list[str], numbers: bool = False) -> dict[str, int]:
    """Answer -> how many gave it, as `bins` has them where they may be numbers."""
    return dict(bins(answers) if numbers else Counter(answers).most_common())


@st.fragment(run_every=TICK)
@_drawing
def answered(question: str, draw: Callable[[list[Given]], None]) -> None:
    """For the teacher, before the answer is revealed: how many have answered; what, if wanted, because the class may
    see this screen. draw: draws the answers, or the options alone."""
    here = seat()
    if here is None:
        return
    answers = rooms().answers(here.code, question)
    draw(answers if st.session_state.get("hs-room-live") else [])
    _count(here, answers)
    st.toggle(_("Show the answers as they arrive"), key="hs-room-live")


def _count(here: Seat, answers: list[Given]) -> None:
    count = max(len(rooms().here(here.code)), len(answers))  # some may have left
    counted = _("{answers} of {count} have answered").format(answers=len(answers), count=count)
    st.html(f'<p class="hs-room-count">{html.escape(counted)}</p>')


def counted(question: str) -> None:
    """For a student who has answered, whose screen is no other's: how many have."""
    here = seat()
    if here is not None:
        every = max(SLOW_TICK, len(rooms().here(here.code)) / MOST_LOOKS)
        st.fragment(_counted, run_every=every)(question)


@_drawing
def _counted(question: str) -> None:
    here = seat()
    if here is not None:
        _count(here, rooms().answers(here.code, question))


@_saying
def reveal(question: str, right: str) -> None:
    """Callback of the teacher. right: what is right for the sentence of now."""
    here, state = seat(), current_state()
    if here is not None and state is not None:
        rooms().reveal(here.code, here.secret, question, right, state.source)
