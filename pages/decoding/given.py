"""Teacher forcing against free running: the same head on the given target and on the model's own words."""

from __future__ import annotations

import html

import streamlit as st

from pages.components import figure
from pages.components.sentences import controls_and_picture, paragraph, point
from pages.components.translation import apart, words_row
from pages.decoding import beam
from pages.frame.frame import PageFrame
from pages.frame.state import max_tokens
from pages.runtime import cache
from transformer.analysis.translation import words
from transformer.figures.attention import head_map
from transformer.inference.pretrained import InputError, Pretrained
from transformer.inference.search import FINISHED
from transformer.interventions.sets import layers_of
from transformer.texts import _
from transformer.tracing.finite import check_numbers
from transformer.tracing.trace import Trace

OPTIONS = ("given_kind", "given_layer", "given_head")
MEAN = 0  # layer or head: the mean of all
BEAMS = 4  # as the part "Beam search" begins with


def _chosen(frame: PageFrame) -> tuple[str, int | None, int | None]:
    """Kind, layer and head of the maps, from 0 or None for the mean of all; at first those of the other pages."""
    options, view, config = frame.options, frame.state.view, frame.model.config
    kinds = {"cross": _("cross"), "decoder_self": _("masked self")}
    every = _("mean of all")

    def number(name: str, label: str, count: int, start: int | None) -> int | None:
        first = MEAN if start is None else min(start + 1, count)
        values = range(MEAN, count + 1)
        value = options.choose(name, label, values, first, lambda one: every if one == MEAN else str(one))
        return None if value == MEAN else int(value) - 1

    columns = st.columns([2, 1, 1, 2], vertical_alignment="bottom")
    with columns[0]:
        start = view.kind if view.kind in kinds else "cross"
        kind = str(options.segment("given_kind", _("Attention"), tuple(kinds), start, kinds.__getitem__))
    with columns[1]:
        layer = number("given_layer", _("Layer"), layers_of(config, kind), view.layer)
    with columns[2]:
        head = number("given_head", _("Head"), config.heads, view.head)
    return kind, layer, head


def stand_in(model: Pretrained, own: Trace) -> tuple[int, Trace] | None:
    """Rank and trace of the best finished hypothesis of beam search with other words than the model's own; None if
    there is none."""
    source, limit = own.source_text, max_tokens()
    tree = beam.reaching(model, source, BEAMS, model.alpha, (), limit)
    for rank, (number, place) in enumerate(tree.ranking(model.alpha), start=1):
        node = tree.steps[number][place]
        if node.fate != FINISHED or not node.text.strip() or node.text == own.target_text:
            continue
        try:
            found = cache.trace(model, model.name, source, node.text, limit)
        except InputError:
            continue  # its text needs more tokens than it was written with
        if found.target_out_ids != own.target_out_ids:
            return rank, found
    return None


def _stands_in(rank: int, typed: bool) -> str:
    """Why another translation is compared, and which."""
    why = _("Your target is what the model writes itself") if typed else _("No target was typed")
    if rank == 1:
        return _("{why}: here the best translation of beam search stands in for yours.").format(why=why)
    if rank == 2:
        return _("{why}: here the second best translation of beam search stands in for yours.").format(why=why)
    return _("{why}: here number {rank} of beam search's translations stands in for yours.").format(why=why, rank=rank)


def draw(frame: PageFrame, trace: Trace) -> None:
    own = cache.trace(frame.model, frame.model.name, trace.source_text, "", max_tokens())
    said = ""
    if trace.own or trace.target_out_ids == own.target_out_ids:
        check_numbers(own.logits)
        found = stand_in(frame.model, own)
        if found is None:
            point(_("Type a target that differs from the model's own words, and both are compared here."))
            paragraph(
                _(
                    "With a given target every step is fed the given tokens, whatever the model would have written: "
                    "teacher forcing, as in training. Without one it is fed its own tokens: free running."
                )
            )
            return
        rank, other = found
        said = _stands_in(rank, typed=not trace.own)
        trace = other
    check_numbers(trace.logits, own.logits)
    mean = {name: f"{100 * float(one.probabilities.mean()):.0f}%" for name, one in (("given", trace), ("own", own))}
    text = _(
        "In training the decoder always reads the right words, in use its own. After the given words it gives the "
        "next one a probability of {given} on average, after its own {own}."
    )
    point(" ".join(filter(None, (said, text.format(**mean)))))
    controls, picture = controls_and_picture()
    with controls:
        kind, layer, head = _chosen(frame)
    names = (_("It reads the given target: teacher forcing"), _("It reads its own words: free running"))
    given, free = (words(one.target_out, one.target_out_labels, one.probabilities.tolist()) for one in (trace, own))
    marks = apart(given, free)
    for column, name, one, word_list, marked in zip(
        picture.columns(2), names, (trace, own), (given, free), marks, strict=True
    ):
        with column:
            st.html(f'<h2 class="hs-tr-title">{html.escape(name)}</h2>{words_row(word_list, marked)}')
            drawn = figure.built(head_map, one, kind, layer, head)
            side = "own" if one.own else "given"
            at = ["all" if number is None else str(number + 1) for number in (layer, head)]
            figure.draw(drawn, f"decoding-{side}", "teacher-forcing", about="-".join([side, kind, *at]), trace=one)
