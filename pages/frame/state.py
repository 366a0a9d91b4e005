"""The state that all pages share: in the session, and always in the address bar."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import streamlit as st

from pages.runtime import session_models
from transformer.checkpoints.folder import CheckpointError
from transformer.interventions.sets import NONE, InterventionError, Interventions, Paint
from transformer.model.config import ModelConfig
from transformer.texts import _
from transformer.view.state import View

KEY = "headscope"
WRITTEN = "headscope_written"  # in the session: the parameters that were written last
# Most characters of a text that a session holds, and for each token that is allowed: words have about 5 characters a
# token, but a tokenizer reads any number of unknown ones as one.
LONGEST, EACH = 100_000, 32
START = "The man who called me yesterday is my brother."
SOURCE, TARGET, CHECKPOINT = "source", "target", "checkpoint"  # widget keys and names in the address bar
LESSON, STOP = "lesson", "stop"  # names in the address bar
ROOM = "room"  # name in the address bar: the code of the room that this session is in
FOLDED, GIVEN = "headscope_lesson_folded", "headscope_lesson_answers"  # in the session (pages/frame/lesson.py)
TYPED = "headscope_typed_at_stop"  # in the session: (lesson, stop) -> the sentence that was typed or chosen there
SEAT = "headscope_seat"  # in the session: where it sits in that room (pages/frame/room.py)


@dataclass(frozen=True)
class State:
    """checkpoint: name; source, target: texts as typed; view: the picture; switches: those of the lab;
    chosen: page -> option -> value, a text while only a link asked for it (`options`);
    lesson, stop: the open lesson, "" for none, and the stop it is at, from 1;
    revision: counts Python's changes of view or switches, so that the browser takes them over; renew: raise the
    revision after the browser's last report was read; notices: sentences to show once."""

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


def max_tokens() -> int:
    """Tokens allowed per side: HEADSCOPE_MAX_TOKENS, or 128."""
    text = os.environ.get("HEADSCOPE_MAX_TOKENS", "")
    return int(text) if text.isdigit() and int(text) > 1 else 128


def longest() -> int:
    """Characters allowed per side."""
    return min(LONGEST, EACH * max_tokens())


def current_state() -> State | None:
    """The state of this session; None before the first page has started."""
    return st.session_state.get(KEY)


def store_state(state: State) -> State:
    st.session_state[KEY] = state
    return state


def change_state(**changes: object) -> None:
    """Change fields of the state from a callback."""
    state = current_state()
    if state is not None:
        store_state(replace(state, **changes))  # type: ignore[arg-type]


def sentence_of(state: State) -> dict[str, str]:
    """Model and texts, as links name them."""
    return {CHECKPOINT: state.checkpoint, SOURCE: state.source, TARGET: state.target}


def typed_at_stops() -> dict[tuple[str, int], dict[str, str]]:
    """(lesson, stop) -> the sentence that was typed or chosen there last."""
    typed: dict[tuple[str, int], dict[str, str]] = st.session_state.setdefault(TYPED, {})
    return typed


def keep_typed() -> None:
    """After a sentence was typed or chosen: coming back to this stop of the lesson opens it again."""
    state = current_state()
    if state is not None and state.lesson:
        typed_at_stops()[state.lesson, state.stop] = sentence_of(state)


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


def arrive(names: list[str], big: bool = False) -> State:
    """The state a link asks for: texts and checkpoint; the picture is read when the model's sizes are known. big: text
    for a projector."""
    params = st.query_params.to_dict()
    notices: tuple[str, ...] = ()
    start = os.environ.get("HEADSCOPE_CHECKPOINT", "")
    name = names[0]
    if start:
        name = start if start in names else Path(start).resolve().name
    if CHECKPOINT in params:
        name, notices = linked_checkpoint(params[CHECKPOINT], name)
    source, target = (params.get(side, text)[: LONGEST + 1] for side, text in ((SOURCE, START), (TARGET, "")))
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
    if (seat := st.session_state.get(SEAT)) is not None:
        params[ROOM] = seat.code
    # A text that is too long is cut, but stays too long in the link.
    params = {name: text[: longest() + 1].encode("utf-8", "replace").decode() for name, text in params.items()}
    st.session_state[WRITTEN] = params
    if st.query_params.to_dict() != params:
        st.query_params.from_dict(params)


def written_address() -> dict[str, str]:
    """The parameters that were written into the address last; others come from a link."""
    return st.session_state.get(WRITTEN, {})
