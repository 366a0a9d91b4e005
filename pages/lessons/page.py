"""Lessons: ways through the app with stops and questions."""

import html

import streamlit as st

from pages.components.sentences import point
from pages.frame import lesson, room
from pages.frame.frame import Content, PageFrame, Part
from pages.frame.messages import message
from pages.lessons import own, worksheets
from transformer.lessons import Lesson
from transformer.lessons.lesson import FIRST
from transformer.lessons.thumbnail import thumbnail
from transformer.texts import N_, _, translate


def draw(frame: PageFrame) -> None:
    if room.draw_waiting():
        return
    point(_("A lesson leads through the app stop by stop: look, predict, then see what the model does."))
    room.join_or_open()
    found = dict(lesson.files(tuple(listed.path for listed in frame.links)))
    first = found.pop(FIRST, None)
    if isinstance(first, Lesson):
        with st.container(key="hs-lesson-first"):
            _card(frame, FIRST, first)
    elif first is not None:
        found[FIRST] = first
    with st.container(key="hs-lesson-cards"):
        for name, one in found.items():
            if isinstance(one, Lesson):
                _card(frame, name, one)
    for name, one in found.items():
        if not isinstance(one, Lesson):
            message(_("The lesson {name} cannot be read: {error}.", name=name, error=one), "error")


def _card(frame: PageFrame, name: str, one: Lesson) -> None:
    with st.container(border=True, key=f"hs-lesson-card-{name}"):
        counts = _("{minutes} minutes, {stops} stops, {questions} questions").format(
            minutes=one.minutes, stops=len(one.stops), questions=len(one.questions)
        )
        picture = f'<img class="hs-card-picture" src="{drawn}" alt="">' if (drawn := thumbnail(name)) else ""
        new = f'<p class="hs-card-new">{html.escape(_("New here?"))}</p>' if name == FIRST else ""
        st.html(
            f"{picture}{new}"
            f'<h2 class="hs-card-title">{html.escape(translate(one.title))}</h2>'
            f'<p class="hs-said">{html.escape(translate(one.about))}</p>'
            f'<p class="hs-said hs-said-quiet">{html.escape(counts)}</p>'
        )
        answered = bool(lesson.answers_of(one)) and not room.teaches()
        if answered:
            lesson.draw_answers(one)
        with st.container(horizontal=True, gap="small"):
            st.button(
                _("Start again") if answered else _("Start"), key=f"hs-lesson-start-{name}", on_click=lesson.start,
                args=(name,), type="primary" if name == FIRST else "secondary",
                help=_("Your answers above are deleted.") if answered else None,
            )  # fmt: skip
            worksheets.menu(frame, one)


PARTS = {"all": Part(N_("All lessons"), draw), "own": Part(N_("My lesson"), own.draw)}
CONTENT = Content(table=PARTS, sentence=False, beyond=("all", "own"))
