"""Position-wise: one token's vector changes; attention carries it to others, the feed-forward network does not."""

from __future__ import annotations

import streamlit as st

from pages.components import figure
from pages.components.sentences import controls_and_picture, paragraph, point
from pages.feedforward.activity import choose_layer, labels
from pages.frame.frame import PageFrame
from pages.runtime.shared import shared
from transformer.figures.feedforward import moved_columns
from transformer.inference.pretrained import Pretrained
from transformer.probing.position_wise import Moved, moved
from transformer.texts import _
from transformer.tracing.trace import Trace

STILL = 1e-6  # a difference below it is rounding


@shared(queued=True)
def _moved(model: Pretrained, trace: Trace, stack: str, layer: int, token: int, by: int) -> Moved:
    return moved(model, trace, stack, layer, token, by)


def draw(frame: PageFrame, trace: Trace) -> None:
    options = frame.options
    head = st.container()
    controls, picture = controls_and_picture()
    first, second, third = controls.columns(3)
    stack, layer = choose_layer(options, trace, first, second)
    tokens = labels(trace)[stack]
    with third:
        chosen = int(
            options.choose(
                "token", _("Token that changes"), range(1, len(tokens) + 1), min(2, len(tokens)),
                lambda number: f"{number}: {tokens[number - 1]}",
            )
        ) - 1  # fmt: skip
    by = (chosen + 1) % len(tokens)
    found = _moved(frame.model, trace, stack, layer, chosen, by)
    counts = [int((part.amax(-1) > STILL).sum()) for part in (found.attention, found.feed_forward)]
    with head:
        text = _(
            "Change the vector of “{token}” alone: after attention {attention} of {count} tokens have other numbers, "
            "many only a little; after the feed-forward network only {own}, “{token}” itself."
        )
        point(text.format(token=tokens[chosen], attention=counts[0], count=len(tokens), own=counts[1]))
    for column, name, part in zip(
        picture.columns(2),
        (_("After attention"), _("After the feed-forward network")),
        (found.attention, found.feed_forward),
        strict=True,
    ):
        with column:
            drawn = figure.built(moved_columns, tokens, part.T.numpy(), float(part.max()), name)
            key = f"feedforward-moved-{'self' if part is found.attention else 'ff'}"
            figure.draw(drawn, key, "position-wise", first=True, about=f"{stack}-{layer + 1}-{chosen + 1}", trace=trace)
    note = _(
        "What is changed: “{token}” enters the sub-layer with the vector of “{other}”, all others with their own. "
        "Drawn is how far each number of the sub-layer's output moves; each picture has its own scale."
    )
    masked = _("In the masked decoder no token before it changes.") if stack == "decoder" and trace.causal else ""
    paragraph(note.format(token=tokens[chosen], other=tokens[by]), masked, quiet=True)
