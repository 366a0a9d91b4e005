"""The heads explorer: type a sentence, see every head."""

import streamlit as st

from pages.frame import downloads, sentence
from pages.frame.frame import begin, big_button, message
from pages.frame.state import write_address
from pages.heads import explorer, formation
from pages.runtime.texts import _

begun = begin(_("Heads"))
sentence.fields(begun)
state = begun.state
trace = sentence.traced(begun, look=state.view.training is None)  # that is said of the trained model
if trace is not None:
    if state.switches:
        message(_("Your switches do not reach here: this page shows the model as it was trained."), "note")
    state = explorer.draw(state, trace, begun.model)  # before the menus: what is drawn first is sent first
else:
    explorer.forget()
sentence.example_menu(begun)
if trace is not None:
    downloads.download_menu(begun, trace, state)
write_address(state)
downloads.link_menu(begun)
big_button(begun)
with st.expander(_("What am I looking at?")):
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
        if begun.model.config.causal
        else _(
            "*Encoder self*: source tokens look at source tokens. *Decoder self*: target tokens look at all target "
            "tokens that are fed, also at later ones: this model was trained without the mask that hides them in the "
            "paper. *Cross*: target tokens look at the source. A decoder row is a step: it is fed one token and "
            "predicts the next; **Rows** chooses which of the two labels it. Attention Is All You Need, sections 3.2.1 "
            "to 3.2.3."
        )
    )
    if formation.available(begun.model):
        st.markdown(
            _(
                "**How it learned**: the same attention at states of the training that were recorded, log-spaced from "
                "random weights to the model as it is, with BLEU and loss on the validation text. The target is the "
                "same at each; *It writes* is that state's own translation. *Formed at steps* is computed from the "
                "states: the first at which a head has its largest weight on a paired word, or on the token before or "
                "after, in at least half of the rows, and in twice as many as any untrained head. What happened "
                "between two states nobody recorded."
            )
        )
