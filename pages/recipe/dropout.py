"""Section 5.4, dropout: one sentence passed many times, each time with other values dropped."""

from __future__ import annotations

import streamlit as st

from pages.components import figure
from pages.components.sentences import controls_and_picture, paragraph, point
from pages.frame.frame import PageFrame
from pages.runtime.shared import shared
from transformer.figures.attention import weight_map
from transformer.figures.recipe import scatter
from transformer.inference.pretrained import Pretrained
from transformer.probing.dropout import Scatter, dropout_passes
from transformer.texts import _
from transformer.tracing.trace import Trace

OPTIONS = ("p_drop", "passes", "seed")


@shared(queued=True)
def scattered(model: Pretrained, trace: Trace, probability: float, passes: int, seed: int) -> Scatter:
    return dropout_passes(model, trace, probability, passes, seed)


def draw(frame: PageFrame, trace: Trace) -> None:
    options = frame.options
    head = st.container()
    controls, picture = controls_and_picture()
    first, second, third = controls.columns(3)
    with first:
        help_ = _("The paper's base model: 0.1.")
        probability = options.fraction("p_drop", _("P_drop"), 0.0, 0.5, 0.1, 0.05, "%.2f", help=help_)
    with second:
        passes = options.number("passes", _("Passes"), 1, 50, 20)
    with third:
        seed = options.number("seed", _("Seed"), 0, 10_000, 0)
    found = scattered(frame.model, trace, probability, passes, seed)
    spread = found.probabilities.std(0) if passes > 1 else found.plain * 0
    widest = int(spread.argmax())
    with head:
        text = _(
            "In training, dropout sets each value to 0 with probability {p}, anew in every pass, so that the model "
            "relies on no single one: here “{token}” gets between {low} and {high}, without dropout {plain}."
        )
        low, high = float(found.probabilities[:, widest].min()), float(found.probabilities[:, widest].max())
        point(
            text.format(
                p=f"{probability:g}", token=trace.target_out_labels[widest], low=f"{100 * low:.0f} %",
                high=f"{100 * high:.0f} %", plain=f"{100 * float(found.plain[widest]):.0f} %",
            )
        )  # fmt: skip
    drawn = figure.built(
        scatter, trace.target_out_labels, found.probabilities.tolist(), found.plain.tolist(), probability
    )
    with picture:
        figure.draw(drawn, "recipe-scatter", "dropout", first=True, about=f"{probability:g}", trace=trace)
    view = frame.state.view
    kind = "cross" if view.kind == "all" else view.kind
    layer, head_ = view.layer or 0, view.head or 0
    for column, name, weights in zip(
        st.columns(2),
        (_("Attention, mean of the passes"), _("Attention, standard deviation")),
        (found.mean[kind][layer, head_], found.deviation[kind][layer, head_]),
        strict=True,
    ):
        with column:
            key = f"recipe-dropout-{'mean' if weights is found.mean[kind][layer, head_] else name}"
            drawn = figure.built(weight_map, trace, kind, weights.tolist(), f"{name}: L{layer + 1} H{head_ + 1}")
            figure.draw(drawn, key, "dropout-attention", about=kind, trace=trace)
    paragraph(
        _("Dropout acts on the output of every sub-layer and on the sums of embeddings and positions, as in training."),
        quiet=True,
    )
