"""What belongs to the viewer and not to the link: big text, the language, who one is in a room. Kept in cookies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.runtime import language
from transformer.texts import _
from transformer.view.bundle import script

BIG = "headscope_big"  # in the session and as a cookie
SEAT_KEPT = "headscope_room"  # the same: who one is in a room (pages/frame/room.py)
REVEALED_KEPT = "headscope_revealed"  # the same: questions that it has revealed
KEY = "viewer"
YEAR, DAY = 365 * 24 * 60 * 60, 24 * 60 * 60  # seconds

_viewer = st.components.v2.component("headscope.viewer", js=script("viewer"))


def start_big() -> bool:
    """Whether a new session shows big text: a link asks for it, or it did on an earlier visit."""
    asked = st.query_params.get("big", st.context.cookies.get(BIG))
    return asked == "1"


def keep_big(big: bool) -> None:
    """Keep a choice for the next visit."""
    st.session_state[BIG] = "1" if big else "0"


def lost_connection() -> str:
    """What the page says while it cannot reach the server."""
    sentence = _(
        "No connection to the server. What you typed stays here, and the page continues by itself when the connection "
        "is back."
    )
    in_class = ".m." in str(st.session_state.get(SEAT_KEPT, ""))
    return f"{sentence} {_('The answers that you gave are kept.')}" if in_class else sentence


def tell_browser(on_link: Callable[[str], None]) -> None:
    """The language of the page, what the viewer chose in this session, and what to say without a connection.

    on_link: callback when a link to a page was pressed, with the key of the component that reports its path as "go".
    """
    ages = {language.CHOSEN: YEAR, BIG: YEAR, SEAT_KEPT: DAY, REVEALED_KEPT: DAY}
    chosen = {name: (st.session_state.get(name), age) for name, age in ages.items()}
    keep = {name: (value, age if value else 0) for name, (value, age) in chosen.items() if value is not None}
    data = {"language": language.session_language(), "keep": keep, "lost": lost_connection()}
    _viewer(key=KEY, data=data, height=1, on_go_change=partial(on_link, KEY))
