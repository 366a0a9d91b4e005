"""LayerNorm of one token, and how much of x is left along a stack."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.figures.style import BLUE, GREY, ORANGE, PURPLE, Labels, dressed, label_axis, titled
from transformer.texts import N_

LABELS = {
    "norm": N_("LayerNorm of {token}, {place}"),
    "equation": "<i>γ</i> (<i>v</i> − <i>μ</i>) / √(<i>σ</i>² + <i>ε</i>) + <i>β</i>",
    "before": N_("before"),
    "after": N_("after"),
    "gamma": "γ",
    "beta": "β",
    "dimension": N_("dimension"),
    "value": N_("value"),
    "left": N_("How much of x is left after each sub-layer"),
    "left_equation": "cos(<i>x</i>, LayerNorm(<i>x</i> + Sublayer(<i>x</i>)))",
    "token": N_("this token"),
    "mean": N_("mean of all tokens"),
    "sublayer": N_("after"),
    "cosine": N_("cosine"),
}


def layer_norm(
    before: np.ndarray,
    after: np.ndarray,
    gamma: np.ndarray,
    beta: np.ndarray,
    token: str,
    place: str,
    *,
    theme: str = "light",
    texts: Labels = LABELS,
) -> go.Figure:
    """The numbers of one vector before and after; gamma and beta, which the model learned. All [d_model]."""
    figure, x = go.Figure(), np.arange(len(before))
    looks = (("before", before, GREY), ("after", after, PURPLE), ("gamma", gamma, BLUE), ("beta", beta, ORANGE))
    for name, values, colour in looks:
        figure.add_scatter(
            x=x, y=np.asarray(values, np.float32), name=texts[name], mode="lines",
            line={"color": colour[theme], "width": 2 if name in ("before", "after") else 1},
            visible=True if name in ("before", "after") else "legendonly",
        )  # fmt: skip
    figure.update_layout(xaxis={"title": texts["dimension"]}, yaxis={"title": texts["value"]})
    return dressed(titled(figure, texts["norm"].format(token=token, place=place), texts["equation"]), theme)


def what_is_left(
    cosines: Sequence[float],
    means: Sequence[float],
    sublayers: Sequence[str],
    *,
    theme: str = "light",
    texts: Labels = LABELS,
) -> go.Figure:
    """The cosine between x and the sub-layer's output, for one token and in the mean over all."""
    figure, x = go.Figure(), np.arange(len(sublayers))
    for name, values, colour in (("token", cosines, PURPLE), ("mean", means, GREY)):
        figure.add_scatter(x=x, y=list(values), name=texts[name], mode="lines+markers", line={"color": colour[theme]})
    figure.update_layout(yaxis={"title": texts["cosine"], "range": [-0.05, 1.05]}, xaxis={"title": texts["sublayer"]})
    label_axis(figure, "x", sublayers)
    return dressed(titled(figure, texts["left"], texts["left_equation"]), theme)
