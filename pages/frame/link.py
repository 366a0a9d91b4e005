"""The link to what is on the screen: to copy, as a QR code, and as a short link to type."""

from __future__ import annotations

import html
import io
from urllib.parse import urlencode, urlsplit

import segno
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.frame.menus import open_menu
from pages.runtime import short_links
from pages.runtime.streamlit import address_for_others
from transformer.texts import _

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def _base() -> tuple[str, bool]:
    """The address of this page without its query, as others can reach it, and whether they can.

    A server that was opened as localhost tells its address in the network, unless it listens on this machine alone.
    """
    url = urlsplit(str(st.context.url or ""))
    if url.hostname not in LOOPBACK:
        return f"{url.scheme}://{url.netloc}{url.path}", True
    host = address_for_others()
    if host is None:
        return f"{url.scheme}://{url.netloc}{url.path}", False
    host = f"[{host}]" if ":" in host else host
    return f"{url.scheme}://{host}{f':{url.port}' if url.port else ''}{url.path}", True


def link_menu(header: DeltaGenerator) -> None:
    menu = open_menu(header, _("Link"), "hs-link")
    if menu is None:
        return
    base, reachable = _base()
    params = st.query_params.to_dict()
    link = f"{base}?{urlencode(params)}"
    with menu:
        st.caption(_("The address bar always holds a link to what you see. This is the same link, to copy."))
        if not reachable:
            st.caption(_("Only this machine can open it: the server listens on this machine alone (see --address)."))
        st.code(link, language=None, wrap_lines=True)
        if st.button(_("Short link"), key="hs-short", help=_("Works as long as this server runs."), width="stretch"):
            code = short_links.shorten(params)
            if code is None:
                st.caption(_("This link is too long to be shortened."))
            else:
                st.code(f"{base}?{short_links.PARAM}={code}", language=None, wrap_lines=True)
        if st.button(_("QR code"), key="hs-qr", help=_("As large as the window, for phones to scan."), width="stretch"):
            st.dialog(_("Scan this code"), width="large")(_show_code)(link)


def _show_code(link: str) -> None:
    try:
        code = segno.make(link, micro=False)
    except segno.DataOverflowError:
        st.write(_("This link is too long for a QR code. Shorten the sentence, or make a short link."))
        return
    drawn = io.BytesIO()
    code.save(drawn, kind="svg", xmldecl=False, omitsize=True, dark="#000", light="#fff", border=2)
    label = html.escape(_("QR code of the link"))
    st.html(f'<div class="hs-qr" role="img" aria-label="{label}">{drawn.getvalue().decode()}</div>')
    st.code(link, language=None, wrap_lines=True)
