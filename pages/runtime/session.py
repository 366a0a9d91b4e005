"""What the parts of the app keep for one browser session, between its runs.

Each part declares a dataclass with a default for every field. A session has at most one object of each class; they all
leave with it. Values of widgets stay in `st.session_state`, where Streamlit keeps them.
"""

from collections.abc import Mapping
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


def reported(key: str, name: str) -> Any:
    """What the component of this key reports under a name; None before it does."""
    found = st.session_state.get(key)
    return found.get(name) if isinstance(found, Mapping) else getattr(found, name, None)


def reported_since(revision: int, key: str, name: str) -> Mapping[str, Any]:
    """The values that it reports under a name; none if they are older than Python's last change, which made this
    revision."""
    values = reported(key, name)
    return values if isinstance(values, Mapping) and values.get("revision") == revision else {}
