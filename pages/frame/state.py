"""The state all pages share: in session state while a person looks around, and in the address bar always."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import streamlit as st

from pages.runtime import session_models
from transformer.interventions.sets import NONE, InterventionError, Interventions
from transformer.model.config import ModelConfig
from transformer.texts import _
from transformer.view.state import View

KEY = "headscope"
LONGEST = 100_000  # characters a side that are read; a browser may send 200 million, minutes of work for all
START = "The man who called me yesterday is my brother."
SOURCE, TARGET, CHECKPOINT = "source", "target", "checkpoint"  # widget keys and names in the address bar alike


@dataclass(frozen=True)
class State:
    """checkpoint: name; source, target: text as typed; view: the picture; switches: those of the lab;
    chosen: page -> name -> what was chosen there, a text as long as only a link asked for it (`options`);
    revision: counts what Python changed in view or switches, so that the browser takes it over; renew: raise it once
    what the browser reported last has been taken in; notices: sentences to show once."""

    checkpoint: str
    source: str = START
    target: str = ""
    view: View = field(default_factory=View)
    switches: Interventions = NONE
    chosen: Mapping[str, Mapping[str, int | float | str]] = field(default_factory=dict)
    revision: int = 0
    renew: bool = False
    notices: tuple[str, ...] = ()


def max_tokens() -> int:
    """Tokens allowed a side: HEADSCOPE_MAX_TOKENS, or 128."""
    text = os.environ.get("HEADSCOPE_MAX_TOKENS", "")
    return int(text) if text.isdigit() and int(text) > 1 else 128


def current_state() -> State | None:
    """The state of this session, None before the first page has begun."""
    return st.session_state.get(KEY)


def store_state(state: State) -> State:
    st.session_state[KEY] = state
    return state


def change_state(**changes: object) -> None:
    """Change fields of the state from a callback."""
    state = current_state()
    if state is not None:
        store_state(replace(state, **changes))  # type: ignore[arg-type]


def arrive(names: list[str]) -> State:
    """The state a link asks for, texts and checkpoint only; the picture is read when the model's sizes are known.

    A name in a link is looked up among the checkpoints that were found, never opened as a path.
    """
    params = st.query_params.to_dict()
    notices = []
    start = os.environ.get("HEADSCOPE_CHECKPOINT", "")
    name = names[0]
    if start:
        name = start if start in names else Path(start).resolve().name
    asked = params.get(CHECKPOINT)
    if asked is not None:
        if asked in names:
            name = asked
        else:
            sentence = _("The link asks for the checkpoint {asked!r}. Available: {names}.")
            sentence_text = sentence.format(asked=asked[:60], names=", ".join(names))
            notices.append(f"{sentence_text} {session_models.from_elsewhere(asked)}".strip())
    return State(name, params.get(SOURCE, START), params.get(TARGET, ""), notices=tuple(notices))


def read_switches(params: Mapping[str, str], config: ModelConfig) -> tuple[Interventions, list[str]]:
    """The switches a link asks for; what cannot be set is left out, with one sentence for each parameter."""
    switches, notices = NONE, []
    for name in Interventions.PARAMS:
        if name in params:
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
    """Make the address bar say what is on the screen.

    chosen: on this page. names: all that can be chosen on it; a page with a layer and a head of its own shows no
    picture of heads, so the view's stay out of its address.
    """
    params = {CHECKPOINT: state.checkpoint, SOURCE: state.source}
    if state.target:
        params[TARGET] = state.target
    view = state.view.to_params()
    if {"layer", "head"} & set(names):
        view = {name: text for name, text in view.items() if name == "big"}
    params |= view | state.switches.to_params() | {name: str(value) for name, value in chosen.items()}
    # A text that is too long to be read is cut, and in the link too long still.
    params = {name: text[: LONGEST + 1].encode("utf-8", "replace").decode() for name, text in params.items()}
    if st.query_params.to_dict() != params:
        st.query_params.from_dict(params)
