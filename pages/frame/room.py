"""The room that this session is in: the teacher's view that others follow, and what the members send.

The address names the room, so that a reload comes back to it. A cookie holds the session's ticket: the teacher's
secret, or the member's id. Size of text, language and theme stay each person's own.

A "find" is a view that a student has sent to the teacher.
"""

import csv
import functools
import html
import io
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from typing import Concatenate, ParamSpec, TypeVar
from urllib.parse import quote, unquote

import streamlit as st

from pages.frame import draft
from pages.frame.link import app_address, open_qr_code
from pages.frame.messages import capital, message
from pages.frame.state import (
    CHECKPOINT,
    LESSON,
    ROOM,
    SOURCE,
    STOP,
    TARGET,
    Move,
    RoomView,
    Seat,
    current_state,
    session,
)
from pages.runtime import cookies, language
from pages.runtime.followers import FOLLOWERS, About, keep_own
from pages.runtime.rooms import GUESSED, WATCH, rooms
from pages.runtime.session_models import own_models
from pages.runtime.streamlit import session_id, viewer_network
from transformer.lessons import Link
from transformer.rooms import Member, RoomError, StoreError
from transformer.rooms.store import HOURS, LENGTH, LONGEST_NAME, LONGEST_TEXT, Find, MemberAnswer, Revealed, read_code
from transformer.texts import _

MOST_REVEALED = 3_000  # characters in the cookie of revealed questions; a browser drops those above 4,096 bytes
FIND = "find"  # parameter of a room's view that a student has sent: the number of that find
OWN = frozenset({ROOM, "big", FIND})  # names in links that are not part of the view that a class shares
LESSONS = "lessons"  # path of the page of lessons
# For so many seconds after the teacher has called a member back, the browser may send the member's switch "Follow the
# teacher" as off, because it has not drawn the call yet: each of its messages has the values of all widgets.
CALL_DELAY = 3.0
TICK = 1.0  # seconds between two looks at who is there and what was answered
SLOW_TICK = 3.0  # the same on a student's screen, at least
MOST_LOOKS = 10  # in a second, of all students of a room
# A step of a room raises the revision of its members' states by so much: more than the changes of a member in one step.
REVISIONS_A_STEP = 1000
MARKS = {True: "✓ ", False: "✗ ", None: ""}
BINS = 8  # of a histogram of numbers
InWords = Callable[[str, str], tuple[str, str]]  # the name of a question and an answer -> both as people read them


def seat() -> Seat | None:
    """The place of this session in a room; None if it is in no room."""
    return session().seat


def revealed(question: str) -> Revealed | None:
    """What the room has revealed of a question, also after the room has ended; None if it has not revealed it."""
    here = seat()
    if here is None:
        return _known_revealed().get(question)
    return here.room.revealed.get(question) if here.room is not None else None


def _known_revealed() -> dict[str, Revealed]:
    """What all rooms of this session have revealed. After a reload only the questions are known, from the cookie."""
    kept = session()
    if kept.revealed is None:
        names = cookies.sent(cookies.REVEALED).split("/")
        kept.revealed = {unquote(name): Revealed() for name in names if name}
    return kept.revealed


def _keep_revealed(revealed: dict[str, Revealed]) -> None:
    session().revealed = revealed
    text = ""
    for name in reversed([*revealed]):  # the newest first
        if len(text) + len(quoted := quote(name, safe="")) > MOST_REVEALED:
            break
        text += f"/{quoted}"
    cookies.change(cookies.REVEALED, text)


def forget_revealed(lesson: str) -> None:
    """Call when a lesson begins again: what earlier rooms have revealed of it is asked again."""
    known = _known_revealed()
    _keep_revealed({name: about for name, about in known.items() if name.rpartition(" ")[0] != lesson})


def _take_seat(seat: Seat) -> None:
    session().seat = seat
    ticket = f"t.{seat.secret}" if seat.teaches else f"m.{seat.member}"
    cookies.change(cookies.SEAT, f"{seat.code}.{ticket}")


def _leave_seat(why: str = "") -> None:
    """Be in no room any more. why: what to say of it."""
    kept = session()
    if kept.seat is not None:
        WATCH.rise(session_id())
        kept.left_room = kept.seat.code
        kept.seat = None
        cookies.change(cookies.SEAT, "")
    if kept.move is not None and kept.move.why == "room":
        kept.move = None
    kept.room_message = why


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def _reporting(
    report: Callable[[str], None],
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result | None]]:
    """Decorates a function that asks the store of the rooms: an error becomes a sentence, and the page goes on."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result | None]:
        @functools.wraps(function)
        def called(*given: Arguments.args, **named: Arguments.kwargs) -> Result | None:
            try:
                return function(*given, **named)
            except RoomError as error:
                report(capital(error) + ".")
                return None

        return called

    return decorate


def _say(sentence: str) -> None:
    """Say a sentence in the next run."""
    session().room_message = sentence


_callback, _drawing = _reporting(_say), _reporting(message)  # for callbacks, and for functions that draw


def _seated(function: Callable[Concatenate[Seat, Arguments], Result]) -> Callable[Arguments, Result | None]:
    """Decorates a function whose first argument is this session's place in a room: without one it is not called."""

    @functools.wraps(function)
    def called(*given: Arguments.args, **named: Arguments.kwargs) -> Result | None:
        here = seat()
        return None if here is None else function(here, *given, **named)

    return called


@_callback
@_seated
def _steer(here: Seat, method: str, *values: object) -> None:
    """Callback of the teacher: call a method of the rooms."""
    getattr(rooms(), method)(here.code, here.secret, *values)


def teaches() -> bool:
    """Whether this session is the teacher of a room."""
    here = seat()
    return here is not None and here.teaches


def follows() -> bool:
    """Whether this session is a member of a room who follows the teacher through the lesson."""
    here = seat()
    return here is not None and not here.teaches and here.follows


# -- in and out --------------------------------------------------------------------------------------------------------


@_callback
def open_room() -> None:
    """Callback: open a room as its teacher."""
    code, secret = rooms().open()
    _take_seat(Seat(code, secret=secret))


def join(typed: str) -> None:
    """Enter the room of a code, as the same person if this browser was in it before. A callback; also called at the
    start of a run, for a link.

    A wrong code is refused after a wait if many came from this network, but never a right one: a whole class may join
    from one address at once.
    """
    code = read_code(typed)
    known_code, _dot, known = cookies.sent(cookies.SEAT).partition(".")
    role, _dot, ticket = known.partition(".") if known_code == code else ("", "", "")
    try:
        if role == "t" and rooms().steers(code, ticket):
            _take_seat(Seat(code, secret=ticket))
        else:
            known = ticket if role == "m" else ""
            member = rooms().join(code, known).id
            asks_name = not known or all(one.member != member for one in rooms().answers(code))
            _take_seat(Seat(code, member, asks_name=asks_name))
        session().left_room = ""
    except RoomError as error:
        if not isinstance(error, StoreError):
            time.sleep(GUESSED.count(viewer_network()))
        _say(capital(error) + ".")


@_callback
@_seated
def _leave(here: Seat) -> None:
    rooms().leave(here.code, here.member)
    _leave_seat()


def _ask_end(code: str) -> None:
    """Callback: ask whether to end the room; "": ask no more."""
    session().asks_to_end = code


@_callback
@_seated
def _end(here: Seat) -> None:
    st.session_state["hs-room-class"] = False
    rooms().end(here.code, here.secret)
    _leave_seat(_("The room {code} has ended; its answers are deleted.", code=here.code))


@_callback
def _join_typed() -> None:
    if seat() is None and (typed := st.session_state["hs-room-code"]).strip():
        join(typed)


def _last_code() -> str:
    """The code of the room that this browser was in last, if the room still exists; else ""."""
    code = cookies.sent(cookies.SEAT).partition(".")[0]
    try:
        return code if code and rooms().find(code) is not None else ""
    except RoomError:
        return ""


def join_or_open() -> None:
    """What the page Lessons has for a class: a room to open, and a code to type."""
    if keeps_last_view(LESSONS):
        message(_("The class does not see this page. It keeps the view that you showed last."), "note")
    if seat() is not None:
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="hs-room-doors"):
        with (
            st.form("hs-room-form", border=False, width="content"),
            st.container(horizontal=True, vertical_alignment="bottom", gap="small"),
        ):
            st.session_state.setdefault("hs-room-code", _last_code())
            st.text_input(
                _("Join a class"), key="hs-room-code", max_chars=LENGTH + 4, placeholder=_("teacher's code"), width=180
            )
            st.form_submit_button(_("Join"), key="hs-room-join", on_click=_join_typed)
        about = _("For a class: students join with a code and see your view; their answers arrive on your screen.")
        st.button(_("For teachers: open a room"), key="hs-room-open", on_click=open_room, help=about)


def draw_waiting() -> bool:
    """On the page Lessons: for a member who follows, draw what is shown until the teacher shows a view. Returns whether
    this session is one."""
    here = seat()
    if here is None or not follows():
        return False
    room, text = _("Room {code}", code=here.code), _("You are in. Your teacher's view will appear here.")
    st.html(f'<div class="hs-room-waits"><b>{html.escape(room)}</b><p role="status">{html.escape(text)}</p></div>')
    return True


# -- a run -------------------------------------------------------------------------------------------------------------


def news(path: str) -> Move | None:
    """Call at the start of a run. Brings the seat up to date, and returns the move to a new view of the teacher's, for
    a member who follows. path: of the open page; a member who has opened another page stops following.
    """
    asked = st.query_params.get(ROOM)
    if seat() is None and asked and session().left_room != read_code(asked):
        join(asked)
        if seat() is None:
            session().left_room = read_code(asked)
    here = seat()
    if here is None:
        return None
    try:
        found, member = rooms().find(here.code), rooms().member(here.code, here.member)
    except StoreError as error:
        _say(capital(error) + ".")
        return None
    if found is None:
        _leave_seat(_("The room {code} has ended.", code=here.code))
        return None
    here.room = found
    if found.revealed:
        _keep_revealed({**_known_revealed(), **found.revealed})
    if here.teaches:
        return None
    if member is None:
        _leave_seat(_("The teacher has removed you from the room {code}.", code=here.code))
        return None
    WATCH.sit(session_id(), here.code, here.member, found.step)
    called_back = member.follows and not here.follows
    if called_back:
        here.called_back = time.monotonic()
    here.follows, here.name = member.follows, member.name
    here.asks_name = here.asks_name and not here.name
    view = (found.path, found.params)
    if FOLLOWERS.moved():  # what the browser shows is not what the last run has drawn
        here.shown_step, here.shown_view = -1, None
    elif here.follows and found.step != here.shown_step:
        _show_panel(here, view, called_back)
    FOLLOWERS.begin(About(view, _look(here.code), _answered_stops()))
    is_new = here.follows and found.step != here.shown_step and found.step > 0 and view != here.shown_view
    if here.follows and not is_new and here.shown_view is not None and found.step > 0 and path != here.shown_view[0]:
        _set_follow(here, False)
    if here.follows:
        here.shown_step, here.shown_view = found.step, view
    return _move_to(view, here) if is_new else None


def _move_to(view: RoomView, here: Seat) -> Move:
    """The move to a view of the room, without what belongs to one viewer."""
    params = {name: text for name, text in view[1].items() if name not in OWN} | {ROOM: here.code}
    return Move(Link(view[0], tuple(params.items())), "room")


def _show_panel(here: Seat, view: RoomView, called_back: bool) -> None:
    """Show the lesson's panel again to a member who has hidden it, where it has news: at another stop, when an answer
    is revealed (the room's view is the same then), and when all are called back, which is said, too."""

    def stop(of: RoomView) -> tuple[str | None, str | None]:
        return of[1].get(LESSON), of[1].get(STOP)

    before = here.shown_view
    if called_back or before is None or view == before or stop(view) != stop(before):
        session().lesson_hidden = False
    if called_back:
        _say(_("Your teacher has called you back."))


def note_opened() -> None:
    """Call in a run that opens a view of the room: `offer_back` compares with the address that this run writes."""
    FOLLOWERS.arrive()
    if (here := seat()) is not None:
        here.opened_view = None


def revision(old: int) -> int:
    """The revision of the state in a run that opens a view of the room: greater than the old one, and the same in all
    sessions, so that they draw the same."""
    here = seat()
    return max(old + 1, REVISIONS_A_STEP * here.shown_step if here is not None else 0)


def _answered_stops() -> frozenset[tuple[str, str]]:
    """Lessons and stops with an answer of this session."""
    return frozenset((lesson, str(stop)) for lesson, stop, _trace in session().answers or {})


def _look(code: str) -> Hashable:
    """What a member's screen depends on beside the room's view: members with equal looks see the same."""
    menus = [bool(st.session_state.get(key)) for key in ("hs-room-menu", "hs-room-view", "hs-link", "hs-download")]
    state, here = current_state(), seat()
    asks_name, big = here is not None and here.asks_name, state is not None and state.view.big
    return code, language.session_language(), big, asks_name, session().lesson_hidden, *menus, *own_models()


def keeps_last_view(path: str) -> bool:
    """Whether the class keeps the view that it has while the teacher is on this page: so it is on Lessons, where a
    teacher prints or chooses what comes next, once the class has seen another page."""
    here = seat()
    if here is None or not here.teaches or here.room is None:
        return False
    return here.room.step > 0 and path == LESSONS != here.room.path


@_drawing
@_seated
def show(here: Seat, path: str) -> None:
    """Call after the address was written: if this is the teacher, send it to the class. path: of the open page."""
    if not here.teaches or keeps_last_view(path):
        return
    view = (path, _shared_params())
    number, shown_where = session().shown_find
    where = (path, *(view[1].get(name) for name in (LESSON, STOP, CHECKPOINT, SOURCE, TARGET)))
    if number and shown_where in (None, where):  # elsewhere it is no longer the student's view
        session().shown_find = (number, where)
        view[1][FIND] = str(number)
    else:
        end_find()
    if view != here.shown_view:
        here.shown_view = view
        try:
            rooms().show(here.code, here.secret, *view)
        except StoreError:
            here.shown_view = None  # send it again after the next run
            raise


def _shared_params() -> dict[str, str]:
    """The parameters of what is on the screen, without what nobody else has: a lesson that is being written."""
    params = {name: text for name, text in session().address.items() if name not in OWN}
    mine = (LESSON, STOP) if params.get(LESSON) == draft.NAME else ()
    return {name: text for name, text in params.items() if name not in mine}


# -- the bar under the header ------------------------------------------------------------------------------------------


def bar(path: str, in_words: InWords) -> None:
    """Draw who is in the room and what a person can do in it, and the message about a room, if there is one. path: of
    the open page."""
    if text := session().room_message:
        session().room_message = ""
        message(text)
        keep_own()
    here = seat()
    if here is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="hs-room"):
        if here.teaches:
            _teacher_bar(here, path, in_words)
        else:
            _member_bar(here, path)
        here.back_button = st.empty()
        _find_note(here, path)


def shows_a_find(path: str) -> bool:
    """Whether the view of this page is one that a student has sent."""
    return _shown_find(path) is not None


def end_find() -> None:
    """Call when the teacher goes on from a student's view: the next view is the teacher's own."""
    session().shown_find = (0, None)


def _shown_find(path: str) -> str | None:
    """The number of the student's view that this page shows; None if it shows none."""
    here = seat()
    if here is not None and here.teaches:
        number, where = session().shown_find
        return str(number) if number and (where is None or where[0] == path) else None
    if here is None or not here.follows or here.shown_view is None or here.shown_view[0] != path:
        return None
    return here.shown_view[1].get(FIND)


@_drawing
def _find_note(here: Seat, path: str) -> None:
    """What a student wrote about the view that all see now, without the student's name."""
    number = _shown_find(path)
    note = next((find.text for find in rooms().finds(here.code) if str(find.number) == number), None)
    if note is not None:
        about = _("A student's view: “{note}”", note=note) if note else _("A student's view")
        st.html(f'<p class="hs-room-find">{html.escape(about)}</p>')


@_seated
def offer_back(here: Seat, path: str) -> None:
    """Call after the address was written: draws a button to the teacher's view, for a member who has changed that view
    or does not follow. path: of the open page."""
    if here.teaches or here.room is None or here.room.step <= 0 or here.back_button is None:
        return
    view = (path, _shared_params())
    here.opened_view = here.opened_view or view
    if view != here.opened_view or not here.follows:  # who does not follow is not told that the teacher has gone on
        keep_own()
        here.back_button.button(
            _("Back to the teacher's view"), key="hs-room-back", on_click=_set_follow, args=(here, True), type="primary"
        )


def _teacher_bar(here: Seat, path: str, in_words: InWords) -> None:
    _presence(here)
    code = f"{app_address(path)[0]}?{ROOM}={here.code}", here.code, functools.partial(_joined, here)
    st.button(_("Show the code"), key="hs-room-qr", on_click=open_qr_code, args=code)
    help_text = _("All follow your view again, also those who look around by themselves.")
    st.button(_("Call all back"), key="hs-room-call", on_click=_steer, args=("call_back",), help=help_text)
    menu = st.popover(_("Class"), key="hs-room-class", on_change="rerun")
    if menu.open:
        with menu:
            _class(here, in_words)


@st.fragment(run_every=TICK)
@_drawing
def _presence(here: Seat) -> None:
    """How many students there are and how many follow, and a button to the finds that are new."""
    there = rooms().here(here.code)
    following = sum(member.follows for member in there)
    room = html.escape(_("Room {code}", code=here.code))
    counted = _("no students yet")
    if there:
        counted = _("students: {count}, following you: {following}", count=len(there), following=following)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.html(f'<p class="hs-room-code"><b>{room}</b> {html.escape(counted)}</p>', width="content")
        code, last = session().finds_put_away
        new = [find.number for find in rooms().finds(here.code) if code != here.code or find.number > last]
        if not new:
            return
        views, about = _("Views: {count}", count=len(new)), _("Views from students")
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
    """Callback: name the finds up to this one no more in the bar."""
    session().finds_put_away = (code, last)


def _open_class() -> None:
    """Callback: open the menu Class."""
    st.session_state["hs-room-class"] = True


@st.fragment(run_every=TICK)
@_drawing
def _class(here: Seat, in_words: InWords) -> None:
    """What members sent, and who they are. Names are folded away, because the class may see this screen."""
    _finds(here)
    answers, there = rooms().answers(here.code), rooms().here(here.code)
    with st.expander(_("Answers by name ({count})", count=len(answers)), key="hs-room-by-name"):
        _answers(here, answers, _persons(answers, there), in_words)
    with st.expander(_("People ({count})", count=len(there)), key="hs-room-people"):
        _people(there)
    if session().asks_to_end != here.code:
        st.button(_("End the room"), key="hs-room-end", on_click=_ask_end, args=(here.code,))
        return
    sure = _("End the room? Nobody has answered a question in it.")
    if answers:
        sure = _("End the room? Its answers ({count}) are deleted; save them first if you need them.")
    message(sure.format(count=len(answers)), "note")
    with st.container(horizontal=True, gap="small"):
        if answers:
            _save_answers(here, in_words, "hs-room-csv-end")
        if st.button(_("End and delete"), key="hs-room-end-now", on_click=_end):
            st.rerun()  # the page, not only this menu
        st.button(_("Keep the room"), key="hs-room-keep", on_click=_ask_end, args=("",), type="primary")


def _persons(answers: list[MemberAnswer], there: list[Member]) -> dict[str, str]:
    """Member -> "Person 1" and so on: those who are there, then those who have left and answered."""
    ids = dict.fromkeys([member.id for member in there] + [given.member for given in answers])
    return {member: _("Person {number}", number=number) for number, member in enumerate(ids, start=1)}


def _people(there: list[Member]) -> None:
    persons = _persons([], there)
    for member in there:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            name = member.name or persons[member.id]
            text = name if member.follows else _("{name} (looks around)", name=name)
            st.html(f'<p class="hs-room-line">{html.escape(text)}</p>', width="stretch")
            if member.name:
                st.button(_("Remove the name"), key=f"hs-room-unname-{member.id}", on_click=_steer,
                          args=("remove_name", member.id), type="tertiary")  # fmt: skip
            st.button(_("Remove"), key=f"hs-room-remove-{member.id}", on_click=_steer, args=("remove", member.id),
                      type="tertiary")  # fmt: skip
    st.caption(_("A room ends by itself after {hours} hours.", hours=HOURS))


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
            st.button(_("Remove"), key=f"hs-room-unfind-{find.number}", on_click=_steer,
                      args=("remove_find", find.number), type="tertiary")  # fmt: skip


@_seated
def _project(here: Seat, find: Find) -> None:
    """Callback: show a student's view to all, at the stop of the lesson where the teacher is."""
    stop = {name: text for name, text in session().address.items() if name in (LESSON, STOP)}
    view = {name: text for name, text in find.params.items() if name not in (LESSON, STOP)}
    session().move, session().shown_find = _move_to((find.path, view | stop), here), (find.number, None)
    st.session_state["hs-room-class"] = False


def _answers(here: Seat, answers: list[MemberAnswer], persons: Mapping[str, str], in_words: InWords) -> None:
    """A table with a row for each person and a column for each question. Names are shown only if asked for, and what is
    right only once it is revealed, because the class may see this screen."""
    if not answers:
        return
    names = any(given.name for given in answers) and st.toggle(_("Show the names"), key="hs-room-answer-names")
    people = {given.member: (given.name if names else "") or persons[given.member] for given in answers}
    titles = {given.question: in_words(given.question, "")[0] for given in answers}
    texts = {
        (given.member, given.question): (MARKS[given.verdict] if revealed(given.question) else "")
        + in_words(given.question, given.answer)[1]
        for given in answers
    }
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles.values())
    rows = "".join(
        f"<tr><th>{html.escape(person)}</th>"
        + "".join(f"<td>{html.escape(texts.get((member, question), ''))}</td>" for question in titles)
        + "</tr>"
        for member, person in people.items()
    )
    st.html(f'<div class="hs-room-table"><table><tr><th></th>{head}</tr>{rows}</table></div>')
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _save_answers(here, in_words, "hs-room-csv")
        chosen = st.selectbox(
            _("Remove an answer"), list(texts), index=None, key="hs-room-unanswer", placeholder=_("Remove an answer"),
            format_func=lambda place: f"{people[place[0]]}, {titles[place[1]]}: {texts[place]}",
            label_visibility="collapsed",
        )  # fmt: skip
        if chosen is not None:
            st.button(_("Remove"), key="hs-room-unanswer-now", on_click=_steer, args=("remove_answer", *chosen))


def _save_answers(here: Seat, in_words: InWords, key: str) -> None:
    st.download_button(
        _("All answers as CSV"), lambda: as_csv(rooms().answers(here.code), in_words), key=key,
        file_name=f"room-{here.code}.csv", mime="text/csv", on_click="ignore",
    )  # fmt: skip


def as_csv(answers: list[MemberAnswer], in_words: InWords) -> bytes:
    """A line for each answer. A text that a spreadsheet would take for a formula starts with an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["question", "name", "answer", "right"])
    for given in answers:
        row = [given.question, given.name, in_words(given.question, given.answer)[1]]
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
    menu = st.popover(_("Room {code}", code=here.code), key="hs-room-menu", on_change="rerun")
    if menu.open:
        keep_own()  # it has this person's name
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


@_callback
@_seated
def _follow(here: Seat) -> None:
    follows = bool(st.session_state["hs-room-follow"])
    if follows or time.monotonic() - here.called_back > CALL_DELAY:
        _set_follow(here, follows)


def _set_follow(here: Seat, follows: bool) -> None:
    rooms().follow(here.code, here.member, follows)
    here.follows = follows
    here.shown_step, here.shown_view = -1, None  # who follows again goes to the teacher's view


@_callback
@_seated
def _rename(here: Seat, field: str) -> None:
    rooms().rename(here.code, here.member, st.session_state[field])


@_seated
def _name_once(here: Seat) -> None:
    """Callback: ask no more; a name that was typed has been taken."""
    here.asks_name = False


@_callback
@_seated
def _send(here: Seat, path: str) -> None:
    rooms().send(here.code, here.member, path, _shared_params(), st.session_state["hs-room-note"])
    st.session_state["hs-room-note"], st.session_state["hs-room-view"] = "", False
    st.toast(_("Your view was sent to the teacher."), icon=":material/check:")


# -- the questions of a lesson, asked in a room --------------------------------------------------------------------


@_callback
@_seated
def send_answer(here: Seat, question: str, answer: str, verdict: bool | None) -> None:
    """A member's answer; nothing for the teacher or outside of a room."""
    if not here.teaches:
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
@_seated
def own_answers(here: Seat) -> list[MemberAnswer]:
    """What this member has answered, whatever session it was in."""
    return [given for given in rooms().answers(here.code) if given.member == here.member and not here.teaches]


@_drawing
@_seated
def answers_to(here: Seat, question: str) -> list[MemberAnswer]:
    """All answers to a question."""
    return rooms().answers(here.code, question)


def counts(answers: list[str], numbers: bool = False) -> dict[str, int]:
    """Answer -> how many gave it, as `bins` has them where they may be numbers."""
    return dict(bins(answers) if numbers else Counter(answers).most_common())


@st.fragment(run_every=TICK)
@_drawing
@_seated
def answers_so_far(here: Seat, question: str, draw: Callable[[list[MemberAnswer]], None]) -> None:
    """For the teacher, before the answer is revealed: how many have answered, and on demand what, because the class may
    see this screen. draw: draws the answers, or with none of them the options."""
    answers = rooms().answers(here.code, question)
    draw(answers if st.session_state.get("hs-room-live") else [])
    _count(here, answers)
    st.toggle(_("Show the answers as they arrive"), key="hs-room-live")


def _count(here: Seat, answers: list[MemberAnswer]) -> None:
    count = max(len(rooms().here(here.code)), len(answers))  # some may have left
    counted = _("{answers} of {count} have answered", answers=len(answers), count=count)
    st.html(f'<p class="hs-room-count">{html.escape(counted)}</p>')


@_seated
def count_of_answers(here: Seat, question: str) -> None:
    """For a student who has answered: how many have. It is drawn again every few seconds, less often in large rooms."""
    every = max(SLOW_TICK, len(rooms().here(here.code)) / MOST_LOOKS)
    st.fragment(_count_of_answers, run_every=every)(question)


@_drawing
@_seated
def _count_of_answers(here: Seat, question: str) -> None:
    _count(here, rooms().answers(here.code, question))


@_callback
@_seated
def reveal(here: Seat, question: str, right: str) -> None:
    """Callback of the teacher: show all what is right. right: for the open sentence."""
    if (state := current_state()) is not None:
        rooms().reveal(here.code, here.secret, question, right, state.source)
