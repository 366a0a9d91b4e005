"""What the parts of the app keep for one browser session, between its runs.

Each part declares a dataclass with a default for every field. A session has at most one object of each class; they all
leave with it. Values of widgets stay in `st.session_state`, where Streamlit keeps them.
"""

from __future__ import annotations

from typing import Any, TypeVar

import streamlit as st

KEY = "headscope"  # in st.session_state: class -> this session's object of it
Kept = TypeVar("Kept")


def from_session(kind: type[Kept]) -> Kept:
    """This session's object of a class, made with its default values at the first call."""
    objects: dict[type, Any] = st.session_state.setdefault(KEY, {})
    if kind not in objects:
        objects[kind] = kind()
    found: Kept = objects[kind]
    return found
