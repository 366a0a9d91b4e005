"""LayerNorm of one token, and how much of x is left along a stack."""

from collections.abc import Sequence

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import GREY, TEAL, dressed, label_axis, plain, titled
from transformer.texts import _


@plotly_figure
def layer_norm(
    before: np.ndarray,
    normalised: np.ndarray,
    after: np.ndarray,
    gamma: np.ndarray,
    beta: np.ndarray,
    token: str,
    place: str,
) -> Drawing:
    """Each number of one vector, before against after; normalised alone they lie on a line through (mean, 0), which
    gamma and beta, in the tooltip, leave. All [d_model]."""
    figure, x = Drawing(), np.asarray(before, np.float32)
    order = np.argsort(before)[[0, -1]]
    figure.add_scatter(
        x=x[order], y=np.asarray(normalised, np.float32)[order], name=_("normalised: mean 0, variance 1"), mode="lines",
        line={"color": GREY, "width": 2}, hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=np.asarray(after, np.float32), name=_("with γ and β of each dimension"), mode="markers",
        marker={"color": TEAL, "size": 6, "opacity": 0.7},
        customdata=np.stack((np.arange(len(x)), gamma, beta), 1).astype(np.float32),
        hovertemplate=_(
            "dimension %{customdata[0]:.0f}<br>%{x:.3f} → %{y:.3f}<br>γ %{customdata[1]:.3f}, β %{customdata[2]:.3f}"
        ) + "<extra></extra>",
    )  # fmt: skip
    figure.update_layout(xaxis={"title": _("number before")}, yaxis={"title": _("number after")}, hovermode="closest")
    title = _("LayerNorm of “{token}” after {place}", token=plain(token), place=place)
    subtitle = "<i>γ</i> (<i>v</i> − <i>μ</i>) / √(<i>σ</i>² + <i>ε</i>) + <i>β</i>"
    return dressed(titled(figure, title, subtitle))


@plotly_figure
def what_is_left(cosines: Sequence[float], means: Sequence[float], sublayers: Sequence[str]) -> Drawing:
    """The cosine between x and the sub-layer's output, for one token and in the mean over all."""
    figure, x = Drawing(), np.arange(len(sublayers))
    for name, values, colour in ((_("this token"), cosines, TEAL), (_("mean of all tokens"), means, GREY)):
        figure.add_scatter(x=x, y=list(values), name=name, mode="lines+markers", line={"color": colour})
    figure.update_layout(yaxis={"title": _("cosine"), "range": [-0.05, 1.05]}, xaxis={"title": _("after")})
    label_axis(figure, "x", sublayers)
    subtitle = "cos(<i>x</i>, LayerNorm(<i>x</i> + Sublayer(<i>x</i>)))"
    return dressed(titled(figure, _("How much of x is left after each sub-layer"), subtitle))
