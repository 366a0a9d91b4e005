"""Headscope: opens the page of a link inside the page frame."""

import streamlit as st

from pages.frame.frame import open_frame
from pages.operator import page as operator_page
from pages.registry import pages
from pages.runtime import language
from transformer.operator_key import operator_key
from transformer.texts import _


def run() -> None:
    """A function: Streamlit keeps the globals of the last run, and with them a model whose session has ended."""

    def content() -> None:
        page.content.draw(frame)

    links = {page: st.Page(content, title=page.title, url_path=page.name, default=page.first) for page in pages()}
    operator = [st.Page(operator_page.draw, title=_("Operator"), url_path=operator_page.NAME)] if operator_key() else []
    shown = st.navigation([*links.values(), *operator], position="hidden")
    if shown in operator:
        shown.run()
    else:
        page = next(page for page, link in links.items() if link is shown)
        frame = open_frame(page, links)
        shown.run()
        frame.finish()


language.use_session_language()
run()
