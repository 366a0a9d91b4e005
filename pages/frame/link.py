"""The link to what is on the screen: to copy, as a QR code, as a short link to type, and as a stop of the lesson that a
person writes."""

import html
from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

import segno
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from pages.frame import draft
from pages.frame.menus import open_menu
from pages.frame.state import session
from pages.runtime import short_links
from pages.runtime.streamlit import network_address
from transformer.lessons import Link
from transformer.lessons.lesson import MOST_STOPS
from transformer.texts import _

LOOPBACK = ("localhost", "127.0.0.1", "::1")
MENU = "hs-link"  # key of the menu


def page_address() -> tuple[str, bool]:
    """The address of this page without its query, as others can reach it, and whether they can.

    A server that was opened as localhost tells its address in the network, unless it listens on this machine alone.
    """
    url = urlsplit(str(st.context.url or ""))
    netloc, reachable = url.netloc, True
    if url.hostname in LOOPBACK:
        host = network_address()
        reachable = host is not None
        if host is not None:
            netloc = f"{f'[{host}]' if ':' in host else host}{f':{url.port}' if url.port else ''}"
    return f"{url.scheme}://{netloc}{url.path or '/'}", reachable


def app_address(path: str) -> tuple[str, bool]:
    """The address of the app itself, and whether others can reach it. path: of the open page."""
    address, reachable = page_address()
    return address.rstrip("/").removesuffix(f"/{path}").rstrip("/") + "/", reachable


def link_menu(header: DeltaGenerator, view: Link, title: str, lessons: StreamlitPage) -> None:
    """Draw the menu, and the dialog with the QR code while it is open. view, title: of the open page; lessons: the page
    where the session's own lesson is edited."""
    menu = open_menu(header, _("Link"), MENU)
    if menu is not None:
        with menu:
            _links()
            _add_to_lesson(view, title, lessons)
    if (code := session().qr_code) is not None:  # in every run until a person closes it
        link, room, count = code
        title = _("Scan this code to join room {room}", room=room) if room else _("Scan this code")
        st.dialog(title, width="large", on_dismiss=_close_qr_code)(_draw_qr_code)(link, room, count)


def _links() -> None:
    base, reachable = page_address()
    params = st.query_params.to_dict()
    st.caption(_("The address bar always holds a link to what you see. This is the same link, to copy."))
    if not reachable:
        st.caption(_("Only this machine can open it: the server listens on this machine alone (see --address)."))
    link = f"{base}?{urlencode(params)}"
    st.code(link, language=None, wrap_lines=True)
    if st.button(_("Short link"), key="hs-short", help=_("Works as long as this server runs."), width="stretch"):
        short = short_links.shorten(params)
        if short is None:
            st.caption(_("This link is too long to be shortened."))
        else:
            st.code(f"{base}?{short_links.PARAM}={short}", language=None, wrap_lines=True)
    large = _("As large as the window, for phones to scan.")
    st.button(_("QR code"), key="hs-qr", help=large, on_click=open_qr_code, args=(link,), width="stretch")


def _add_to_lesson(view: Link, title: str, lessons: StreamlitPage) -> None:
    if st.button(_("Add to my lesson"), key="hs-add-to-lesson", width="stretch"):
        number = draft.add(view, title)
        if number:
            st.caption(_("This view is stop {number} of your lesson.", number=number))
        else:
            st.caption(_("Your lesson is full: it has {most} stops.", most=MOST_STOPS))
    if draft.current() is not None:
        st.page_link(lessons, label=_("Edit my lesson"), query_params={"part": "own"})


def open_qr_code(link: str, room: str = "", count: Callable[[], None] | None = None) -> None:
    """Callback: show the QR code of a link, as large as the window, and close the menu. room: the code of the room that
    it opens; count: draws how many have joined."""
    st.session_state[MENU] = False
    session().qr_code = (link, room, count)


def _close_qr_code() -> None:
    """Callback."""
    session().qr_code = None


def _draw_qr_code(link: str, room: str, count: Callable[[], None] | None) -> None:
    try:
        drawn = segno.make(link, micro=False).svg_data_uri(dark="#000", light="#fff", border=2, omitsize=True)
    except segno.DataOverflowError:
        st.write(_("This link is too long for a QR code. Shorten the sentence."))
        return
    picture = f'<img class="hs-qr" src="{drawn}" alt="{html.escape(_("QR code of the link"))}">'
    if room:
        letters = html.escape(_("Or type these letters on the page Lessons."))
        typed = html.escape(_("Or type the address: {link}", link=link.removeprefix("http://")))
        words = f'<b>{html.escape(room)}</b><p>{letters}</p><p class="hs-room-address">{typed}</p>'
        st.html(f'<div class="hs-room-codes">{picture}<div>{words}</div></div>')
        if count is not None:
            count()
    else:
        st.html(picture)
        st.code(link, language=None, wrap_lines=True)
