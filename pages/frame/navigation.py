"""The header's links to all pages. They are one message: Streamlit's own links, one message each, took more of a run
than everything else in the header."""

import html
from collections.abc import Iterable
from typing import Protocol

import streamlit as st

from pages.frame.state import Move, session
from pages.runtime.session import reported
from transformer.lessons import Link
from transformer.texts import _

GO = "go"  # the event by which host/navigation.js asks for a page


class Listed(Protocol):
    """A page of the app, as `Page` in frame.py describes it."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def path(self) -> str: ...


def open_page(key: str) -> None:
    """Callback of the component with this key, which reports the path of the page whose link was pressed."""
    path = reported(key, GO)
    if isinstance(path, str):
        session().move = Move(Link(path), "page")


def draw(page: Listed, pages: Iterable[Listed]) -> None:
    """Draw the links. page: the open one; pages: all, in their order. A page without a group is a link, each group is a
    menu, with the name of the open page in the title of its menu. Where the header is folded, one menu of all pages
    takes their place. The browser opens the menus."""
    groups: dict[str, list[Listed]] = {}
    for listed in pages:
        groups.setdefault(listed.group, []).append(listed)
    wide, everything = "", ""
    for group, members in groups.items():
        links = "".join(_link(listed, listed.name == page.name) for listed in members)
        everything += f'<h2 class="hs-group">{html.escape(group)}</h2>{links}' if group else links
        if not group:
            wide += links
            continue
        label = html.escape(group) + (f": <b>{html.escape(page.title)}</b>" if group == page.group else "")
        wide += _menu(label, links)
    label = html.escape(f"☰ {page.group}: {page.title}" if page.group else f"☰ {page.title}")
    name = html.escape(_("Pages"))
    st.html(
        f'<nav class="hs-pages" aria-label="{name}"><div class="hs-pages-wide">{wide}</div>'
        f'<div class="hs-pages-folded">{_menu(label, everything)}</div></nav>',
        width="content",
    )


def _link(listed: Listed, is_open: bool) -> str:
    """The address is for a new tab; a plain click keeps the session."""
    current = ' aria-current="page"' if is_open else ""
    path = html.escape(listed.path)
    return f'<a href="{path or "./"}" data-page="{path}"{current}>{html.escape(listed.title)}</a>'


def _menu(label: str, links: str) -> str:
    return f'<details><summary>{label}</summary><div class="hs-page-menu">{links}</div></details>'
