"""Headscope: opens the page of a link inside the page frame."""

import streamlit as st

from pages.frame.frame import open_frame
from pages.registry import pages
from pages.runtime import language


def content() -> None:
    page.content.draw(frame)


language.begin()
links = {page: st.Page(content, title=page.title, url_path=page.name, default=page.first) for page in pages()}
shown = st.navigation(list(links.values()), position="hidden")
page = next(page for page, link in links.items() if link is shown)
frame = open_frame(page, links)
shown.run()
frame.finish(page.content)
