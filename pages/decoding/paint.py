"""Attention by hand: the weights of one row set by a person, decoding going on from them, before and after."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.components.descriptions import heads_in_words
from pages.components.sentences import controls_and_picture, paragraph, point
from pages.components.translation import apart, words_of, words_row
from pages.frame.frame import PageFrame
from pages.frame.messages import capital, message
from pages.frame.options import Options
from pages.frame.state import max_tokens
from pages.runtime import cache
from transformer.inference.pretrained import InputError
from transformer.interventions.sets import NONE, InterventionError, Interventions, Paint, Where, layers_of
from transformer.texts import _
from transformer.tracing.trace import Trace
from transformer.view.bundle import script, style
from transformer.view.languages import browser_texts

OPTIONS = ("paint_kind", "paint_layer", "paint_head", "paint_row", "paint_span", "paint")
KEY = "paint"
ALL = 0  # layer or head: all of them

_picture = st.components.v2.component("headscope.paint", js=script("paint"), css=style("paint"))


def read_weights(text: str, count: int) -> list[float] | None:
    """The weights of a link, "0_1_0.5", as many as there are keys; None if they cannot be read."""
    try:
        found = [float(part) for part in text.split("_")]
    except ValueError:
        return None
    fits = len(found) == count and all(0 <= one <= 1 for one in found)
    return found if fits else None


def _number(options: Options, name: str, label: str, count: int, start: int) -> int:
    """A layer or a head from 1, or ALL."""
    every = _("all")
    return int(
        options.choose(name, label, (ALL, *range(1, count + 1)), start, lambda one: every if one == ALL else str(one))
    )


def draw(frame: PageFrame, trace: Trace) -> None:
    model, options, config = frame.model, frame.options, frame.model.config
    head = st.container()
    controls, picture = controls_and_picture()
    columns = controls.columns(5, vertical_alignment="bottom")
    own = cache.trace(model, model.name, trace.source_text, "", max_tokens())
    kinds = {"cross": _("cross"), "decoder_self": _("masked self")}
    with columns[0]:
        kind = str(options.segment("paint_kind", _("Attention"), tuple(kinds), "cross", kinds.__getitem__))
    with columns[1]:
        layer = _number(options, "paint_layer", _("Layer"), layers_of(config, kind), ALL)
    with columns[2]:
        head_number = _number(options, "paint_head", _("Head"), config.heads, ALL)
    with columns[3]:
        labels = own.target_out_labels
        start = min(2, len(labels))
        row = int(
            options.choose(
                "paint_row", _("Step that predicts"), range(1, len(labels) + 1), start,
                lambda one: f"{one}: {labels[one - 1]}",
            )
        ) - 1  # fmt: skip
    with columns[4]:
        spans = {"step": _("this step"), "later": _("this step and all later")}
        later = options.segment("paint_span", _("Applies to"), tuple(spans), "later", spans.__getitem__) == "later"
    keys = own.source_labels if kind == "cross" else own.target_in_labels[: row + 1]
    picked = own.attention(kind).weights[slice(None) if layer == ALL else slice(layer - 1, layer)]
    picked = picked[:, slice(None) if head_number == ALL else slice(head_number - 1, head_number), row, : len(keys)]
    plain = [round(value, 3) for value in picked.flatten(0, 1).mean(0).tolist()]
    asked = options.typed("paint", "", longest=4_000)
    weights = read_weights(asked, len(keys)) if asked else None

    def painted() -> None:
        found: Any = getattr(st.session_state.get(KEY), "weights", None)
        if isinstance(found, list) and len(found) == len(keys) and all(isinstance(one, int | float) for one in found):
            options.report("paint", "_".join(f"{max(0.0, min(1.0, float(one))):.3g}" for one in found))

    where = Where(kind, None if layer == ALL else layer - 1, None if head_number == ALL else head_number - 1)
    left, right = picture.columns([2, 3])
    with left:
        _picture(
            key=KEY,
            data={
                "keys": list(keys),
                "weights": weights or plain,
                "plain": plain,
                "painted": weights is not None,
                "place": f"{kind}.{layer}.{head_number}.{row}",
                "colour": "cross" if kind == "cross" else "target",
                "big": frame.state.view.big,
                "texts": browser_texts("paint"),
            },
            on_weights_change=painted,
        )
        if weights is not None:
            st.button(_("As the model had it"), on_click=lambda: options.report("paint", "", ""))
    with right:
        before = cache.translate(model, trace.source_text, NONE, max_tokens())
        if weights is None:
            with head:
                point(
                    _(
                        "What the decoder attends to decides what it writes: move a weight, and see whether the "
                        "translation changes."
                    )
                )
            st.html(f'<h2 class="hs-tr-title">{_("As the model attends")}</h2>')
            st.html(words_row(words_of(before), [False] * len(words_of(before))))
            return
        try:
            switch = Paint(row, tuple(weights), later, where)
            after = cache.translate(model, trace.source_text, Interventions((switch,)), max_tokens())
        except (InterventionError, InputError) as error:
            message(capital(error) + ".", "error")
            return
        marks = apart(words_of(before), words_of(after))
        for title, one, marked in (
            (_("As the model attends"), before, marks[0]),
            (_("As you painted"), after, marks[1]),
        ):
            st.html(f'<h2 class="hs-tr-title">{title}</h2>{words_row(words_of(one), marked)}')
        with head:
            text = (
                _("{heads}, from step {row}: “{before}” becomes “{after}”.")
                if later
                else _("{heads}, step {row}: “{before}” becomes “{after}”.")
            )
            if before.text == after.text:
                text = _("{heads}, step {row}: the translation stays “{before}”. Paint more heads, or another step.")
            point(text.format(heads=capital(heads_in_words(where)), row=row + 1, before=before.text, after=after.text))
        paragraph(_("In Python and on the command line: {switch}").format(switch=f"paint={switch.value}"), quiet=True)
