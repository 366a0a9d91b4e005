"""The heads explorer: type a sentence, see every head."""

import html

import streamlit as st

from pages.components import payloads
from pages.frame import lesson, room, sentence
from pages.frame.frame import Content, PageFrame
from pages.frame.messages import message
from pages.heads import alignment, explorer, formation
from pages.runtime.texts import plain_markdown
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import layers_of
from transformer.lessons.lesson import FIRST
from transformer.texts import _, translate
from transformer.view.shared_texts import say


def draw(frame: PageFrame) -> None:
    trace, state = frame.trace, explorer.merge_browser(frame.state, frame.model)
    if trace is None and not frame.live:
        payloads.forget(explorer.KEY)
    else:
        if frame.lesson is None:  # the lesson says what to look at
            _lead(frame, state.view.sight != "all")
        if state.view.training is None:  # the hint is about the trained model
            sentence.example_line(frame.model, state)
        if state.switches:
            message(say("waiting_page"), "note")
        explorer.draw(state, trace, frame.model)
        frame.offer_downloads()
        if layers_of(frame.model.config, "cross"):
            panel = frame.options.panel("alignment", _("Which word translates which?"))
            if panel.open:
                with panel:
                    alignment.draw(frame.model, frame.pass_of_sentence())
    with frame.options.panel("about", say("about")):
        about(frame.model)


def _lead(frame: PageFrame, first_sight: bool) -> None:
    """What the page shows, and where a reader may begin."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="hs-heads-lead"):
        config = frame.model.config
        heads = layers_of(config, "cross") * config.heads
        text = html.escape(say("first_lead", n=heads) if first_sight else say("heads_lead"))
        st.html(f'<p class="hs-lead">{text}</p>', width="stretch" if first_sight else "content")
        found = lesson.find(FIRST, tuple(page.path for page in frame.links))
        member = room.seat() is not None and not room.teaches()
        if found is not None and not member:
            start = _("Start “{title}” →", title=plain_markdown(translate(found.title)))
            label, kind = (say("first_start"), "primary") if first_sight else (start, "tertiary")
            st.button(label, key="hs-start", on_click=lesson.start, args=(FIRST,), type=kind)  # type: ignore[arg-type]
        if not first_sight:
            if not member:
                st.page_link(frame.link_to("lessons"), label=_("All lessons, join or teach a class →"))
            st.page_link(frame.link_to("paper"), label=_("In the paper →"))


def about(model: Pretrained) -> None:
    st.markdown(say("about_squares"))
    st.latex(r"\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right) V")
    st.markdown(say("about_kinds" if model.config.causal else "about_kinds_uncausal"))
    if formation.available(model):
        st.markdown(say("about_formation"))


CONTENT = Content(draw, live=lambda state, part: not explorer.server_only(state))
