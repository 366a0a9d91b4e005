"""The language of a session: chosen in the header or by `?lang=`, else the server's, else the browser's."""

import os

import streamlit as st

from pages.runtime import cookies
from pages.runtime.streamlit import session_id
from transformer.texts import ENGLISH, Language, _, find_language_with, use_language
from transformer.view.languages import best_language, languages, load_language

ASKED = "lang"  # in links; taken over once, and never part of a link that the app writes
VARIABLE = "HEADSCOPE_LANGUAGE"  # `headscope --language`
MENU = "headscope_language_menu"  # key of the menu


def chosen_language() -> str | None:
    """What the person of this session chose: in the menu, by the link, or on an earlier visit. None for nothing."""
    asked = (cookies.changed(cookies.LANGUAGE), st.query_params.get(ASKED), cookies.sent(cookies.LANGUAGE))
    return next((code for code in asked if code in languages()), None)


def session_language() -> str:
    """The code of the language that this session reads."""
    asked = [chosen_language(), os.environ.get(VARIABLE), st.context.locale]
    return best_language([code for code in asked if code]) or ENGLISH.code


def _of_session() -> Language:
    """The language for a thread that has none yet, such as that of a callback. A thread belongs to one session, so it
    keeps the language; `use_session_language` sets it again in every run."""
    if not session_id():
        return ENGLISH
    language = load_language(session_language())
    use_language(language)
    return language


def use_session_language() -> None:
    """Call at the start of a run: uses the session's language in it, and keeps the one that the link asks for."""
    asked = st.query_params.get(ASKED, "")
    if asked in languages() and cookies.changed(cookies.LANGUAGE) is None:
        cookies.change(cookies.LANGUAGE, asked)
    use_language(load_language(session_language()))


def menu() -> None:
    """The choice of a language, where there is one."""
    names, code = languages(), session_language()
    if len(names) > 1:
        st.session_state[MENU] = code
        st.selectbox(
            _("Language"), list(names), key=MENU, format_func=lambda code: names[code], on_change=_choose,
            label_visibility="collapsed", width=120,
        )  # fmt: skip


def _choose() -> None:
    """Callback of the menu."""
    cookies.change(cookies.LANGUAGE, st.session_state[MENU])


find_language_with(_of_session)  # callbacks and fragments may run in a new thread, before or without app.py
