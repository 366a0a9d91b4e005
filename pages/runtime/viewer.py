"""What belongs to the viewer and not to the link: big text, the language, the seat in a room. Kept in cookies."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.runtime import cookies, language
from transformer.texts import _
from transformer.view.bundle import script

KEY = "viewer"

_viewer = st.components.v2.component("headscope.viewer", js=script("viewer"))


def start_big() -> bool:
    """Whether a new session shows big text: a link asks for it, or it did on an earlier visit."""
    return st.query_params.get("big", cookies.sent(cookies.BIG)) == "1"


def keep_big(big: bool) -> None:
    """Keep the choice of big or usual text for the next visit."""
    cookies.change(cookies.BIG, "1" if big else "0")


def lost_connection() -> str:
    """What the page says while it cannot reach the server."""
    sentence = _(
        "No connection to the server. What you typed stays here, and the page continues by itself when the connection "
        "is back."
    )
    in_class = ".m." in (cookies.changed(cookies.SEAT) or "")  # a member of a room, not its teacher
    return f"{sentence} {_('The answers that you gave are kept.')}" if in_class else sentence


def tell_browser(on_link: Callable[[str], None]) -> None:
    """The language of the page, what the viewer chose in this session, and what to say without a connection.

    on_link: callback when a link to a page was pressed, with the key of the component that reports its path as "go".
    """
    data = {"language": language.session_language(), "keep": cookies.to_write(), "lost": lost_connection()}
    _viewer(key=KEY, data=data, height=1, on_go_change=partial(on_link, KEY))
