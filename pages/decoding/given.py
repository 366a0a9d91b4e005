"""Teacher forcing against free running: the same head on the given target and on the model's own words."""

import contextlib
import html

import streamlit as st

from pages.components import figure
from pages.components.sentences import controls_and_picture, paragraph, point
from pages.components.translation import apart, words_row
from pages.decoding import payload
from pages.frame.frame import PageFrame
from pages.frame.state import max_tokens
from pages.runtime import cache
from transformer.analysis.translation import words
from transformer.figures.attention import head_map
from transformer.inference.pretrained import InputError, Pretrained
from transformer.interventions.sets import layers_of
from transformer.texts import _
from transformer.tracing.finite import check_numbers
from transformer.tracing.trace import Trace

OPTIONS = ("given_kind", "given_layer", "given_head")
MEAN = 0  # layer or head: the mean of all
TRIES = 5  # steps from which another translation is looked for


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
        kind = options.labelled("given_kind", _("Attention"), kinds, start)
    with columns[1]:
        layer = number("given_layer", _("Layer"), layers_of(config, kind), view.layer)
    with columns[2]:
        head = number("given_head", _("Head"), config.heads, view.head)
    return kind, layer, head


def stand_in(model: Pretrained, own: Trace) -> Trace | None:
    """The pass of another translation: the model's own as far as the step where it is least certain, its second choice
    there, and what it writes after that. From the next step if that is the same text, or has no end; None if no step
    gives another one."""
    source, limit = own.source_text, max_tokens()
    (first,) = payload.continued(model, source, ((),), limit)
    ids, steps = first.hypothesis.ids, first.steps
    for number in sorted(range(len(steps)), key=lambda one: -steps[one].entropy)[:TRIES]:
        second = steps[number].ids[1]
        if second == model.config.end_id:
            continue
        (other,) = payload.continued(model, source, ((*ids[:number], second),), limit)
        text = model.tokenizer.decode(other.hypothesis.ids)
        if not other.hypothesis.complete or not text.strip() or text == own.target_text:
            continue
        with contextlib.suppress(InputError):  # its text needs more tokens than it was written with
            found = cache.trace(model, model.name, source, text, limit)
            if found.target_out_ids != own.target_out_ids:
                return found
    return None


def _stands_in(typed: bool) -> str:
    """Why another translation is compared, and which."""
    if typed:
        return _(
            "Your target is what the model writes itself; here its second choice at its least certain step, and what "
            "follows, stands in for yours."
        )
    return _(
        "No target was typed; here the model's second choice at its least certain step, and what follows, stands in "
        "for yours."
    )


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
        said = _stands_in(typed=not trace.own)
        trace = found
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
    for column, name, one, other, word_list, marked in zip(
        picture.container(key="hs-decoding-pair").columns(2), names, (trace, own), (own, trace), (given, free), marks,
        strict=True,
    ):  # fmt: skip
        with column:
            st.html(f'<h2 class="hs-tr-title">{html.escape(name)}</h2>{words_row(word_list, marked)}')
            drawn = figure.built(head_map, one, kind, layer, head, beside=other)
            side = "own" if one.own else "given"
            at = ["all" if number is None else str(number + 1) for number in (layer, head)]
            figure.draw(drawn, f"decoding-{side}", "teacher-forcing", about="-".join([side, kind, *at]), trace=one)
