"""The heads explorer: type a sentence, see every head."""

from __future__ import annotations

import streamlit as st

from pages.components import payloads
from pages.frame import sentence
from pages.frame.frame import Content, PageFrame
from pages.frame.messages import message
from pages.heads import explorer, formation
from transformer.inference.pretrained import Pretrained
from transformer.texts import _


def draw(frame: PageFrame) -> None:
    trace, state = frame.trace, frame.state
    if trace is None:
        payloads.forget(explorer.KEY)
    else:
        if state.view.training is None:  # what to look for is said of the trained model
            sentence.example_line(frame.model, state)
        if state.switches:
            message(_("Your switches do not reach here: this page shows the model as it was trained."), "note")
        explorer.draw(state, trace, frame.model)
        frame.offer_downloads(trace)
    with st.expander(_("What am I looking at?")):
        about(frame.model)


def about(model: Pretrained) -> None:
    st.markdown(
        _(
            "Every small square is one **head**: each row is a token that asks (query), each column a token that "
            "answers (key), and the darker a cell, the more of that key's value flows to the query. A row sums to 1."
        )
    )
    st.latex(r"\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right) V")
    st.markdown(
        _(
            "*Encoder self*: source tokens look at source tokens. *Decoder self*: target tokens look back, a mask "
            "hides the future. *Cross*: target tokens look at the source. A decoder row is a step: it is fed one "
            "token and predicts the next; **Rows** chooses which of the two labels it. Attention Is All You Need, "
            "sections 3.2.1 to 3.2.3."
        )
        if model.config.causal
        else _(
            "*Encoder self*: source tokens look at source tokens. *Decoder self*: target tokens look at all target "
            "tokens that are fed, also at later ones: this model was trained without the mask that hides them in the "
            "paper. *Cross*: target tokens look at the source. A decoder row is a step: it is fed one token and "
            "predicts the next; **Rows** chooses which of the two labels it. Attention Is All You Need, sections 3.2.1 "
            "to 3.2.3."
        )
    )
    if formation.available(model):
        st.markdown(
            _(
                "**How it learned**: the same attention at states of the training that were recorded, log-spaced from "
                "random weights to the model as it is, with BLEU and loss on the validation text. The target is the "
                "same at each; *Output* is that state's own translation. *Formed at steps* is computed from the "
                "states: the first at which a head has its largest weight on a paired word, or on the token before or "
                "after, in at least half of the rows, and in twice as many as any untrained head. What happened "
                "between two states nobody recorded."
            )
        )


CONTENT = Content(draw)
