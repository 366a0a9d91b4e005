"""Section 5.4, dropout: one sentence passed many times, each time with other values dropped."""

from collections.abc import Sequence

import streamlit as st
from torch import Tensor

from pages.components import figure
from pages.components.one_head import choose_head
from pages.components.sentences import paragraph, part_layout, point
from pages.frame.frame import PageFrame
from pages.runtime.shared import shared
from transformer.figures.attention import weight_map
from transformer.figures.recipe import scatter
from transformer.inference.pretrained import Pretrained
from transformer.probing.dropout import Scatter, dropout_passes
from transformer.texts import _
from transformer.tracing.trace import Trace

OPTIONS = ("p_drop", "passes", "seed", "dropped_head")


@shared(queued=True)
def scattered(model: Pretrained, trace: Trace, probability: float, passes: int, seed: int) -> Scatter:
    return dropout_passes(model, trace, probability, passes, seed)


def draw(frame: PageFrame, trace: Trace) -> None:
    options = frame.options
    head, controls, picture = part_layout()
    first, second, third, fourth = controls.columns([1, 1, 1, 2])
    with first:
        help_ = _("The paper's base model: 0.1.")
        probability = options.fraction("p_drop", _("P_drop"), 0.0, 0.5, 0.1, 0.05, "%.6g", help=help_)
    passes = options.at(second).number("passes", _("Passes"), 1, 50, 20)
    seed = options.at(third).number("seed", _("Seed"), 0, 10_000, 0)
    with fourth:
        kind, layer, number = choose_head(options, "dropped_head", frame.model.config, frame.state.view)
    found = scattered(frame.model, trace, probability, passes, seed)
    spread = found.probabilities.std(0) if passes > 1 else (found.probabilities[0] - found.plain).abs()
    widest = int(spread.argmax())
    with head:
        token = trace.target_out_labels[widest]
        point(_says(probability, token, found.probabilities[:, widest].tolist(), float(found.plain[widest])))
    drawn = figure.built(
        scatter, trace.target_out_labels, found.probabilities.tolist(), found.plain.tolist(), probability
    )
    with picture:
        figure.draw(drawn, "recipe-scatter", "dropout", first=True, about=f"{probability:g}", trace=trace)
    weights = {"mean": found.mean[kind][layer, number], "deviation": found.deviation[kind][layer, number]}
    titles = {
        "mean": _("Mean of the passes: layer {layer}, head {head}"),
        "deviation": _("Standard deviation: layer {layer}, head {head}"),
    }
    for column, (name, title) in zip(st.columns(2), titles.items(), strict=True):
        with column:
            values = [[round(value, 6) for value in row] for row in weights[name].tolist()]
            drawn = figure.built(
                weight_map, trace, kind, values, title.format(layer=layer + 1, head=number + 1),
                rows=frame.state.view.rows,
            )  # fmt: skip
            about = f"{name}-{kind}-{layer + 1}-{number + 1}"
            figure.draw(drawn, f"recipe-dropout-{name}", "dropout-attention", about=about, trace=trace)
    paragraph(_scatters(weights["deviation"], trace.attention(kind).mask[0, 0]) if passes > 1 else "")
    paragraph(
        _("Both maps have the colours of weights, 0 to 1."),
        _("Dropout acts on the output of every sub-layer and on the sums of embeddings and positions, as in training."),
        quiet=True,
    )


def _says(probability: float, token: str, passes: Sequence[float], plain: float) -> str:
    """What dropout does to one token's probability, pass by pass."""
    low, high = f"{100 * min(passes):.0f}%", f"{100 * max(passes):.0f}%"
    if not probability:
        text = _("With probability 0 nothing is dropped, so every pass is the same: here “{token}” gets {plain}.")
    elif low == high:  # one pass, or passes that agree
        text = _(
            "In training, dropout sets each value to 0 with probability {p}, anew in every pass, so that the model "
            "relies on no single one: here “{token}” gets {low}, without dropout {plain}."
        )
    else:
        text = _(
            "In training, dropout sets each value to 0 with probability {p}, anew in every pass, so that the model "
            "relies on no single one: here “{token}” gets between {low} and {high}, without dropout {plain}."
        )
    return text.format(p=f"{probability:g}", token=token, low=low, high=high, plain=f"{100 * plain:.0f}%")


def _scatters(deviation: Tensor, visible: Tensor) -> str:
    """How far the weights of a head scatter, [query, key]; hidden keys do not count."""
    shown = deviation[visible.expand_as(deviation)]
    text = _("From pass to pass a weight of this head deviates by {mean} on average, and by {most} at most.")
    return text.format(mean=f"{float(shown.mean()):.3f}", most=f"{float(shown.max()):.3f}")
