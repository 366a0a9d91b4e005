"""LayerNorm of one token, and how much of x is left along a stack."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import GREY, TEAL, Labels, dressed, label_axis, plain, titled
from transformer.texts import N_

LABELS = {
    "norm": N_("LayerNorm of “{token}” after {place}"),
    "equation": "<i>γ</i> (<i>v</i> − <i>μ</i>) / √(<i>σ</i>² + <i>ε</i>) + <i>β</i>",
    "normalised": N_("normalised: mean 0, variance 1"),
    "after": N_("with γ and β of each dimension"),
    "hover": N_(
        "dimension %{customdata[0]:.0f}<br>%{x:.3f} → %{y:.3f}<br>γ %{customdata[1]:.3f}, β %{customdata[2]:.3f}"
    ),
    "number_before": N_("number before"),
    "number_after": N_("number after"),
    "left": N_("How much of x is left after each sub-layer"),
    "left_equation": "cos(<i>x</i>, LayerNorm(<i>x</i> + Sublayer(<i>x</i>)))",
    "token": N_("this token"),
    "mean": N_("mean of all tokens"),
    "sublayer": N_("after"),
    "cosine": N_("cosine"),
}


@plotly_figure
def layer_norm(
    before: np.ndarray,
    normalised: np.ndarray,
    after: np.ndarray,
    gamma: np.ndarray,
    beta: np.ndarray,
    token: str,
    place: str,
    *,
    theme: str = "light",
    texts: Labels = LABELS,
) -> Drawing:
    """Each number of one vector, before against after; normalised alone they lie on a line through (mean, 0), which
    gamma and beta, in the tooltip, leave. All [d_model]."""
    figure, x = Drawing(), np.asarray(before, np.float32)
    order = np.argsort(before)[[0, -1]]
    figure.add_scatter(
        x=x[order], y=np.asarray(normalised, np.float32)[order], name=texts["normalised"], mode="lines",
        line={"color": GREY[theme], "width": 2}, hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=np.asarray(after, np.float32), name=texts["after"], mode="markers",
        marker={"color": TEAL[theme], "size": 6, "opacity": 0.7},
        customdata=np.stack((np.arange(len(x)), gamma, beta), 1).astype(np.float32),
        hovertemplate=texts["hover"] + "<extra></extra>",
    )  # fmt: skip
    figure.update_layout(
        xaxis={"title": texts["number_before"]}, yaxis={"title": texts["number_after"]}, hovermode="closest"
    )
    return dressed(titled(figure, texts["norm"].format(token=plain(token), place=place), texts["equation"]), theme)


@plotly_figure
def what_is_left(
    cosines: Sequence[float],
    means: Sequence[float],
    sublayers: Sequence[str],
    *,
    theme: str = "light",
    texts: Labels = LABELS,
) -> Drawing:
    """The cosine between x and the sub-layer's output, for one token and in the mean over all."""
    figure, x = Drawing(), np.arange(len(sublayers))
    for name, values, colour in (("token", cosines, TEAL), ("mean", means, GREY)):
        figure.add_scatter(x=x, y=list(values), name=texts[name], mode="lines+markers", line={"color": colour[theme]})
    figure.update_layout(yaxis={"title": texts["cosine"], "range": [-0.05, 1.05]}, xaxis={"title": texts["sublayer"]})
    label_axis(figure, "x", sublayers)
    return dressed(titled(figure, texts["left"], texts["left_equation"]), theme)
