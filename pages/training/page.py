"""Training: a Transformer learns while you watch, complete or with one part of the paper taken away."""

from __future__ import annotations

import streamlit as st

from pages.frame.frame import Content, PageFrame
from pages.training import controls, form, live
from transformer.texts import _


def draw(frame: PageFrame) -> None:
    chosen = form.form(frame.options)
    with chosen.container:
        controls.begin_buttons(chosen)
    live.draw(frame.links)
    controls.load_file()
    with st.expander(_("What am I looking at?")):
        controls.about()


CONTENT = Content(draw, options=form.OPTIONS, sentence=False)
