"""The heads explorer: type a sentence, see every head."""

from __future__ import annotations

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
from transformer.texts import _, translate

FIRST = "attention-in-10-minutes"  # the lesson for a person who has never seen any of it


def draw(frame: PageFrame) -> None:
    trace, state = frame.trace, frame.state
    if trace is None:
        payloads.forget(explorer.KEY)
    else:
        lead = _(
            "Each square is one attention head of the Transformer that reads your sentence. Press one, then a cell."
        )
        if frame.lesson is None:  # the lesson says what to look at
            with st.container(horizontal=True, vertical_alignment="center", gap="small", key="hs-heads-lead"):
                st.html(f'<p class="hs-lead">{html.escape(lead)}</p>', width="content")
                links = {page.name: link for page, link in frame.links.items()}
                member = room.seat() is not None and not room.teaches()
                first = lesson.find(FIRST, tuple(page.path for page in frame.links))
                if not member:
                    if first is not None:
                        start = _("Start “{title}” →").format(title=plain_markdown(translate(first.title)))
                        st.button(start, key="hs-start", on_click=lesson.begin, args=(FIRST,), type="tertiary")
                    st.page_link(links["lessons"], label=_("All lessons, join or teach a class →"))
                st.page_link(links["paper"], label=_("In the paper →"))
        if state.view.training is None:  # the hint is about the trained model
            sentence.example_line(frame.model, state)
        if state.switches:
            text = _(
                "Switches of the Lab are on. They have no effect on this page, which shows the model as it was trained."
            )
            message(text, "note")
        explorer.draw(state, trace, frame.model)
        frame.offer_downloads(trace)
        if not trace.interventions and layers_of(frame.model.config, "cross"):
            panel = frame.options.panel("alignment", _("Which word translates which?"))
            if panel.open:
                with panel:
                    alignment.draw(frame.model, trace)
    with frame.options.panel("about", _("What am I looking at?")):
        about(frame.model)


def about(model: Pretrained) -> None:
    st.markdown(
        _(
            "Every small square is one **head**. Each row is a query token, each column a key token. The "
            "stronger the colour of a cell, the more of that key's value flows to the query. A row sums to 1."
        )
    )
    st.latex(r"\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right) V")
    st.markdown(
        _(
            "*Encoder self*: source tokens attend to source tokens. *Decoder self*: each target token attends to "
            "itself and to earlier target tokens; a mask hides the later ones. *Cross*: target tokens attend to the "
            "source. A decoder row is one step: the decoder is fed one token and predicts the next. **Rows** chooses "
            "which of the two labels the row. Attention Is All You Need, sections 3.2.1 to 3.2.3."
        )
        if model.config.causal
        else _(
            "*Encoder self*: source tokens attend to source tokens. *Decoder self*: target tokens attend to all "
            "target tokens that are fed, also to later ones: this model was trained without the causal mask of the "
            "paper. *Cross*: target tokens attend to the source. A decoder row is one step: the decoder is fed one "
            "token and predicts the next. **Rows** chooses which of the two labels the row. Attention Is All You "
            "Need, sections 3.2.1 to 3.2.3."
        )
    )
    if formation.available(model):
        st.markdown(
            _(
                "**How it learned** shows the same attention at recorded states of the training, from random weights "
                "to the finished model, with BLEU and loss on the validation text. The recorded steps are log-spaced. "
                "The target is the same at every state; *Output* is the translation that the model of that state "
                "makes. *Formed at steps* is computed from these states: the first state at which a head has its "
                "largest weight on a paired word, or on the token before or after, in at least half of the rows, and "
                "in twice as many rows as any untrained head. Nothing was recorded between two states."
            )
        )


CONTENT = Content(draw)
