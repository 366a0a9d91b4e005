"""What one browser session keeps for the page frame, and the state that all pages share, which is always in the address
bar."""

import math
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.runtime import session_models
from pages.runtime.language import session_language
from pages.runtime.session import from_session
from transformer.checkpoints.folder import CheckpointError
from transformer.interventions.sets import NONE, InterventionError, Interventions, Paint
from transformer.lessons import Link
from transformer.model.config import ModelConfig
from transformer.rooms import Room
from transformer.rooms.store import Revealed
from transformer.text.meanings import LANGUAGES
from transformer.texts import ENGLISH, _
from transformer.view.state import View

# Most characters of a text that a session holds, and those for each token that is allowed: words have about 5
# characters a token, but a tokenizer reads any number of unknown ones as one.
LONGEST_TEXT, CHARACTERS_A_TOKEN = 100_000, 32
OF_VIEWER = {"big", "lang"}  # query parameters that say nothing of what is shown
START = "The man who called me yesterday is my brother."
SOURCE, TARGET, CHECKPOINT = "source", "target", "checkpoint"  # widget keys and names in the address bar
LESSON, STOP = "lesson", "stop"  # names in the address bar
ROOM = "room"  # name in the address bar: the code of the room that this session is in


@dataclass(frozen=True)
class State:
    """checkpoint: name; source, target: texts as typed; view: the picture; switches: those of the lab;
    chosen: page -> option -> value, a text while only a link asked for it (`options`);
    lesson, stop: the open lesson, "" for none, and the stop it is at, from 1;
    revision: counts Python's changes of view or switches, so that the browser takes them over; renew: the revision must
    be raised, but not before what the browser reported last was read; notices: sentences to show once."""

    checkpoint: str
    source: str = START
    target: str = ""
    view: View = field(default_factory=View)
    switches: Interventions = NONE
    chosen: Mapping[str, Mapping[str, int | float | str]] = field(default_factory=dict)
    lesson: str = ""
    stop: int = 1
    revision: int = 0
    renew: bool = False
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Move:
    """A link within the app that the next run opens, whatever page is open. why: "page", a person chose a page; "stop",
    a stop of a lesson, where a link that names no view stands for the stop's own; "room", a view that a room shows."""

    link: Link
    why: Literal["page", "stop", "room"]


@dataclass(frozen=True)
class GivenAnswer:
    """An answer that this session gave to a question. text: what was answered; right: what is right by the model, ""
    where that is not known; verdict: None where nothing is right or wrong."""

    text: str
    right: str
    verdict: bool | None


AnswerKey = tuple[str, int, str]  # lesson, stop and the id of the trace that was open, "" where that is not known
RoomView = tuple[str, Mapping[str, str]]  # path and parameters of a view that a room shows


@dataclass
class Seat:
    """This session's place in a room, as its teacher or as a member.

    member: id; "" for the teacher. secret: of the teacher, "" for a member.
    room, follows, name: as the store had them at the start of this run; follows: the teacher's view is opened here.
    asks_name: the bar asks for a name: not any more once there is one, an answer was given, or none is wanted.
    shown_step, shown_view: of the teacher's views, the one that this session opened last; of a teacher, the view that
        was sent to the room last. -1, None: none, or it must be opened or sent again.
    opened_view: the address as that view was opened here, to see whether a member has changed it since.
    called_back: when the teacher called this member back, by `time.monotonic`.
    back_button: place in the bar for the button that leads back to the teacher's view.
    """

    code: str
    member: str = ""
    secret: str = ""
    room: Room | None = None
    follows: bool = True
    name: str = ""
    asks_name: bool = True
    shown_step: int = -1
    shown_view: RoomView | None = None
    opened_view: RoomView | None = None
    called_back: float = -math.inf
    back_button: DeltaGenerator | None = None

    @property
    def teaches(self) -> bool:
        return bool(self.secret)


@dataclass
class Session:
    """What one session keeps for the frame between its runs.

    state: None before the first page has started.
    address: the parameters that were written into the address bar last; others come from a link.
    page: name of the page that the last run drew.
    link_was_read: a model was open, so the first link could be read.
    move: the link that the next run opens; opened: why the link was opened that the next run draws, until it does.
    typed_texts: the two languages of models -> source and target that were typed for them last.
    drawn_texts: source and target as the last run drew the fields.
    example_chosen: an example was chosen since the last run.
    explained_models: names of models whose notes were shown.
    qr_code: the dialog that is open: the link, the code of a room or "", and what draws how many have joined.

    lesson_hidden: the panel of the lesson is folded.
    answers: None until those of a room were asked for.
    typed_at_stops: (lesson, stop) -> model and sentence that were typed or chosen there last.
    stop_view: lesson, stop, page and parameters of the stop's view as it was opened.
    stop_shown_since: what the panel shows of a stop, and when that began, in seconds since 1970.
    answer_missing: key of a field, and why what it holds is no answer.

    seat: None in no room. left_room: code of the room that was left last.
    room_message: what to say of a room in the next run.
    asks_to_end: code of the room whose teacher is asked whether to end it.
    shown_find: number of the student's view that the teacher shows, and page, stop and sentence where it is shown, None
        until it is; 0: none.
    revealed: what the rooms of this session have revealed; None until the browser's cookie was read.
    finds_put_away: code of a room, and number of the last student's view that the bar says no more of.
    """

    state: State | None = None
    address: dict[str, str] = field(default_factory=dict)
    page: str = ""
    link_was_read: bool = False
    move: Move | None = None
    opened: Literal["stop", "room"] | None = None
    typed_texts: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    drawn_texts: tuple[str, str] | None = None
    example_chosen: bool = False
    explained_models: set[str] = field(default_factory=set)
    qr_code: tuple[str, str, Callable[[], None] | None] | None = None

    lesson_hidden: bool = False
    answers: dict[AnswerKey, GivenAnswer] | None = None
    typed_at_stops: dict[tuple[str, int], dict[str, str]] = field(default_factory=dict)
    stop_view: tuple[str, int, str, dict[str, str]] | None = None
    stop_shown_since: tuple[str, float] = ("", 0.0)
    answer_missing: tuple[str, str] = ("", "")

    seat: Seat | None = None
    left_room: str = ""
    room_message: str = ""
    asks_to_end: str = ""
    shown_find: tuple[int, tuple[str | None, ...] | None] = (0, None)
    revealed: dict[str, Revealed] | None = None
    finds_put_away: tuple[str, int] = ("", 0)


def session() -> Session:
    """What this session keeps for the frame."""
    return from_session(Session)


def max_tokens() -> int:
    """Tokens allowed per side: HEADSCOPE_MAX_TOKENS, or 128."""
    text = os.environ.get("HEADSCOPE_MAX_TOKENS", "")
    return int(text) if text.isdigit() and int(text) > 1 else 128


def max_characters() -> int:
    """Characters allowed per side."""
    return min(LONGEST_TEXT, CHARACTERS_A_TOKEN * max_tokens())


def current_state() -> State | None:
    """The state of this session; None before the first page has started."""
    return session().state


def page_state() -> State:
    """The state of this session while a page is open: in a run and in the callbacks of its widgets."""
    state = current_state()
    assert state is not None
    return state


def store_state(state: State) -> State:
    """Keep the state in this session. Returns it."""
    session().state = state
    return state


def change_state(**changes: object) -> None:
    """Change fields of the state from a callback."""
    state = current_state()
    if state is not None:
        store_state(replace(state, **changes))  # type: ignore[arg-type]


def add_notices(*sentences: str) -> None:
    """Show sentences once, above the page that is open."""
    if (state := current_state()) is not None:
        store_state(replace(state, notices=(*state.notices, *sentences)))


def sentence_of(state: State) -> dict[str, str]:
    """Model and texts, as links name them."""
    return {CHECKPOINT: state.checkpoint, SOURCE: state.source, TARGET: state.target}


def keep_sentence_of_stop() -> None:
    """Call after a sentence was typed or chosen: going to this stop of the lesson again opens it again."""
    state = current_state()
    if state is not None and state.lesson:
        session().typed_at_stops[state.lesson, state.stop] = sentence_of(state)


def linked_checkpoint(asked: str, otherwise: str) -> tuple[str, tuple[str, ...]]:
    """The checkpoint that a link asks for; if there is none, another one, and a sentence.

    It is looked up among the available checkpoints and never opened as a path.
    """
    names, base, whole = session_models.names(), session_models.base_name(asked), session_models.whole_name(asked)
    if base not in names:
        sentence = _("The link asks for the checkpoint {asked!r}. Available: {names}.")
        text = sentence.format(asked=asked[:60], names=", ".join(names))
        return otherwise, (f"{text} {session_models.from_elsewhere(asked)}".strip(),)
    try:
        if base != asked:
            session_models.load(asked)
    except CheckpointError as error:
        if base != whole:
            sentence = _("The link asks for {asked}, but {reason}. {base} is open now.")
            return base, (sentence.format(asked=asked[:60], reason=error, base=base),)
        sentence = _("The link asks for {whole} without some heads, but {reason}. All its heads are there now.")
        return whole, (sentence.format(whole=whole, reason=error),)
    return asked, ()


def _reads(name: str) -> str | None:
    """The code of the language that a model reads sentences of; None for a toy, or a model that cannot be opened."""
    found = session_models.languages_of(name)
    return LANGUAGES.get(found[0]) if found else None


def state_of_link(names: list[str], big: bool = False) -> State:
    """The state that the link in the address bar asks for: lesson, checkpoint and texts. Its view and switches are read
    later, when the sizes of the model are known. Without a link, the first model that reads the reader's
    language opens, for readers of English the first one. names: of all models; big: text for a projector."""
    params = st.query_params.to_dict()
    notices: tuple[str, ...] = ()
    start = os.environ.get("HEADSCOPE_CHECKPOINT", "")
    name = names[0]
    if start:
        name = start if start in names else Path(start).resolve().name
    elif not params.keys() - OF_VIEWER and (reader := session_language()) != ENGLISH.code:
        name = next((one for one in names if _reads(one) == reader), name)
    if CHECKPOINT in params:
        name, notices = linked_checkpoint(params[CHECKPOINT], name)
    source, target = (params.get(side, text)[: LONGEST_TEXT + 1] for side, text in ((SOURCE, START), (TARGET, "")))
    lesson, stop = params.get(LESSON, "")[:80], params.get(STOP, "1")
    number = int(stop) if stop.isdecimal() and len(stop) < 4 else 1
    return State(name, source, target, View(big=big), notices=notices, lesson=lesson, stop=number)


def read_switches(params: Mapping[str, str], config: ModelConfig) -> tuple[Interventions, list[str]]:
    """The switches of a link; an invalid parameter is ignored, with one sentence for each."""
    switches, notices = NONE, []
    for name in Interventions.PARAMS:
        if name in params and name not in Paint.PARAMS:  # the Decoding page has them as an option of its own
            try:
                asked = Interventions.parse({name: params[name]})
                asked.check(config)
                switches += asked
            except InterventionError as error:
                notices.append(
                    _("The link asks for {name} {asked!r}, which is ignored: {reason}.").format(
                        name=name, asked=params[name][:40], reason=error
                    )
                )
    return switches, notices


def write_address(state: State, chosen: Mapping[str, int | float | str], names: Collection[str]) -> None:
    """Write what is on the screen to the address bar.

    chosen: on this page. names: all options of this page; a page with its own layer and head shows no picture of heads,
    so the view stays out of its address.
    """
    params = {CHECKPOINT: state.checkpoint, SOURCE: state.source}
    if state.target:
        params[TARGET] = state.target
    view = {} if {"layer", "head"} & set(names) else state.view.to_params()
    params |= view | state.switches.to_params() | {name: str(value) for name, value in chosen.items()}
    if state.lesson:
        params |= {LESSON: state.lesson, STOP: str(state.stop)}
    if (seat := session().seat) is not None:
        params[ROOM] = seat.code
    # A text that is too long is cut, but stays too long in the link.
    params = {name: text[: max_characters() + 1].encode("utf-8", "replace").decode() for name, text in params.items()}
    session().address = params
    if st.query_params.to_dict() != params:
        st.query_params.from_dict(params)
