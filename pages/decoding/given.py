"""Teacher forcing against free running: the same head on the given target and on the model's own words."""

from __future__ import annotations

import html

import streamlit as st

from pages.components import figure
from pages.components.sentences import paragraph, point
from pages.components.translation import apart, words_row
from pages.frame.frame import PageFrame
from pages.frame.state import max_tokens
from pages.runtime import cache
from transformer.analysis.translation import words
from transformer.figures.attention import head_map
from transformer.texts import _
from transformer.tracing.trace import Trace


def draw(frame: PageFrame, trace: Trace) -> None:
    own = cache.trace(frame.model, frame.model.name, trace.source_text, "", max_tokens())
    if trace.own or trace.target_out_ids == own.target_out_ids:
        point(_("Type a target that differs from the model's own words, and both are compared here."))
        paragraph(
            _(
                "With a given target every step is fed the given tokens, whatever the model would have written: "
                "teacher forcing, as in training. Without one it is fed its own tokens: free running."
            )
        )
        return
    mean = {name: f"{100 * float(one.probabilities.mean()):.0f} %" for name, one in (("given", trace), ("own", own))}
    text = _(
        "In training the decoder always reads the right words, in use its own. After your words it gives the next one "
        "a probability of {given} on average, after its own {own}."
    )
    point(text.format(**mean))
    view = frame.state.view
    kind = view.kind if view.kind in ("cross", "decoder_self") else "cross"
    names = (_("It reads your target: teacher forcing"), _("It reads its own words: free running"))
    given, free = (words(one.target_out, one.target_out_labels, one.probabilities.tolist()) for one in (trace, own))
    marks = apart(given, free)
    for column, name, one, word_list, marked in zip(
        st.columns(2), names, (trace, own), (given, free), marks, strict=True
    ):
        with column:
            st.html(f'<h2 class="hs-tr-title">{html.escape(name)}</h2>{words_row(word_list, marked)}')
            drawn = figure.built(head_map, one, kind, view.layer, view.head)
            key = f"decoding-{'own' if one.own else 'given'}"
            figure.draw(drawn, key, "teacher-forcing", about=f"{kind}-{view.layer}-{view.head}", trace=one)
