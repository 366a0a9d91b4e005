"""Teacher forcing against free running: the same head on the given target and on the model's own words."""

from __future__ import annotations

import streamlit as st

from pages.components import figure
from pages.components.sentences import paragraph, point
from pages.frame.frame import PageFrame
from pages.frame.state import max_tokens
from pages.runtime import cache
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
    point(_("Fed your words, the model gives the next one {given} on average; fed its own, {own}.").format(**mean))
    view = frame.state.view
    kind = view.kind if view.kind in ("cross", "decoder_self") else "cross"
    names = (_("Fed the given target (teacher forcing)"), _("Fed its own words (free running)"))
    for column, name, one in zip(st.columns(2), names, (trace, own), strict=True):
        with column:
            paragraph(f"{name}: {one.target_text}")
            drawn = figure.built(head_map, one, kind, view.layer, view.head)
            key = f"decoding-{'own' if one.own else 'given'}"
            figure.draw(drawn, key, "teacher-forcing", about=f"{kind}-{view.layer}-{view.head}", trace=one)
