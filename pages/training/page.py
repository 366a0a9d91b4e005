"""Training: a Transformer learns while you watch, complete or with one part of the paper taken away."""

import streamlit as st

from pages.components.sentences import point
from pages.frame.frame import Content, PageFrame
from pages.runtime.followers import keep_own
from pages.training import controls, form, live, runs
from transformer.live_training import training_queue
from transformer.live_training.finding_texts import headline
from transformer.texts import _


def draw(frame: PageFrame) -> None:
    keep_own()  # the runs of this session
    runs.join_teacher()
    places = [st.container(gap="small") for _place in range(3)]
    # A lesson has chosen the run: the form stands below its picture.
    top, picture, details = places if frame.lesson is None else (places[1], places[0], places[2])
    chosen = form.form(frame.options, top, details)
    with top:
        head = st.container()
        show_live = controls.train_buttons(frame.options, chosen)
    point("" if show_live else headline(chosen.preset), head)
    with picture:
        live.draw(frame, chosen.preset, show_live)
    with details:
        if chosen.experiment is not None and training_queue.shared().most > 0:
            controls.cost(chosen.experiment)
        controls.load_file()
        with frame.options.panel("about", _("What am I looking at?")):
            controls.about()


CONTENT = Content(draw, page_options=(*form.OPTIONS, *live.OPTIONS), sentence=False)
