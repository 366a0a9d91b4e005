"""The header's links to all pages. They are one message: Streamlit's own links, one message each, took more of a run
than everything else in the header."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Protocol

import streamlit as st

from transformer.texts import _

GO = "go"  # the event by which host/navigation.js asks for a page
ASKED = "headscope_page_asked"


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


def asked(key: str) -> None:
    """Callback of the component with this key: remember the page that was pressed."""
    path = getattr(st.session_state.get(key), GO, None)
    if isinstance(path, str):
        st.session_state[ASKED] = path


def take_jump(paths: Iterable[str]) -> tuple[str, Mapping[str, str]] | None:
    """The page that was pressed since the last run, as a path and no parameters; once."""
    path = st.session_state.pop(ASKED, None)
    return (path, {}) if path in set(paths) else None


def draw(page: Listed, pages: Iterable[Listed]) -> None:
    """Those without a group as links, each group as a menu, the open page's with its name; and the one menu of all
    pages that stands there instead where the header is folded. The browser opens the menus."""
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
