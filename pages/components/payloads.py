"""Payloads of pictures: packed once a trace and once a change by Python, kept in the session.

What a person does in a picture stays in the browser. Where Python changes something that the browser is to take over,
the state gets a new revision, and with it every payload a new name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

import streamlit as st

from pages.frame.state import State, current_state, store_state
from transformer.texts import Language, reader_language
from transformer.tracing.trace import Trace
from transformer.view.state import fit_cell

KEY = "headscope_payloads"


def payload(picture: str, part: str, name: Hashable, make: Callable[[], bytes]) -> bytes:
    """A part of a picture's data: the bytes sent last if they have this name and language, or new ones."""
    found: dict[str, tuple[Hashable, bytes, Language]] = st.session_state.setdefault(KEY, {}).setdefault(picture, {})
    language = reader_language()
    if part not in found or (found[part][0], found[part][2]) != (name, language):
        found[part] = (name, make(), language)
    return found[part][1]


def forget(picture: str) -> None:
    """A run without the picture: one that is mounted next knows nothing of what was chosen since it was packed."""
    state = current_state()
    if st.session_state.get(KEY, {}).pop(picture, None) is not None and state is not None:
        store_state(replace(state, revision=state.revision + 1))


def renewed(state: State) -> State:
    """The state with a new revision if Python changed something that the browser is to take over."""
    return store_state(replace(state, renew=False, revision=state.revision + 1)) if state.renew else state


def bounded(state: State, trace: Trace) -> State:
    """The same state, its chosen cell forgotten where the picture has no such cell."""
    rows = len(trace.source_tokens if state.view.kind == "encoder_self" else trace.target_in)
    columns = len(trace.target_in if state.view.kind == "decoder_self" else trace.source_tokens)
    return replace(state, view=fit_cell(state.view, rows, columns))
