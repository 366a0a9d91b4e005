"""The cookies by which the app knows a visitor again.

The browser sends them with its first request, and Streamlit keeps those for the whole session. What a run changes is
written by frontend/src/host/viewer.js, which gets it from `viewer.tell_browser`.
"""

from dataclasses import dataclass, field

import streamlit as st

from pages.runtime.session import from_session

# Names of cookies, which browsers keep: they stay as they are.
LANGUAGE = "headscope_language"
BIG = "headscope_big"  # "1" for big text
SEAT = "headscope_room"  # the last room, and the person's ticket for it (pages/frame/room.py)
REVEALED = "headscope_revealed"  # questions that rooms have revealed
YEAR, DAY = 365 * 24 * 60 * 60, 24 * 60 * 60  # seconds
LIFETIMES = {LANGUAGE: YEAR, BIG: YEAR, SEAT: DAY, REVEALED: DAY}


@dataclass
class Changes:
    """values: name -> what this session has set it to; "" deletes the cookie."""

    values: dict[str, str] = field(default_factory=dict)


def sent(name: str) -> str:
    """The value that the browser sent with its first request; "" for none."""
    return str(st.context.cookies.get(name, ""))


def change(name: str, value: str) -> None:
    """Set a cookie for the next visit; "" deletes it."""
    from_session(Changes).values[name] = value


def changed(name: str) -> str | None:
    """What this session has set a cookie to; None if it has not changed it."""
    return from_session(Changes).values.get(name)


def to_write() -> dict[str, tuple[str, int]]:
    """Name -> value and seconds to live, of the cookies that this session has changed."""
    changes = from_session(Changes).values
    return {name: (value, LIFETIMES[name] if value else 0) for name, value in changes.items()}
