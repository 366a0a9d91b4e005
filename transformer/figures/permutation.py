"""The encoder with its tokens in another order."""

from collections.abc import Sequence

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import BLUE, GREY, INK, dressed, plain, titled
from transformer.texts import _

FLOOR = 1e-9  # smaller deviations are drawn here, because a logarithmic axis has no 0


@plotly_figure
def permutation_deviations(with_positions: Sequence[float], without: Sequence[float], size: Sequence[float]) -> Drawing:
    """Largest |f(P x) - P f(x)| of every encoder layer, on a logarithmic axis, beside the size of its outputs.

    with_positions, without, size: [layer], as in `analysis.permutation.Equivariance`; with_positions is empty for a
    model without positions.
    """
    layers = np.arange(1, len(size) + 1)
    figure = Drawing()
    lines = (
        (_("typical size of an output"), size, GREY, "dash", "line-ew-open"),
        (_("with positions"), with_positions, BLUE, "solid", "circle"),
        (_("without positions"), without, INK, "solid", "square-open"),
    )
    for name, values, colour, dash, symbol in lines:
        if not len(values):
            continue
        figure.add_scatter(
            x=layers,
            y=np.maximum(np.asarray(values, float), FLOOR),
            customdata=np.asarray(values, float),
            name=plain(name),
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2.5},
            marker={"symbol": symbol, "size": 11},
            hovertemplate="%{customdata:.2e}",
        )
    figure.update_layout(
        xaxis={"title": plain(_("encoder layer")), "dtick": 1},
        yaxis={"title": plain(_("largest deviation")), "type": "log", "exponentformat": "power", "dtick": 2},
    )
    subtitle = _("max |<i>f</i>(<i>Px</i>) − <i>P f</i>(<i>x</i>)|, <i>P</i>: the tokens in another order")
    titled(figure, plain(_("Tokens in another order: does only the order change?")), subtitle)
    above = {"y": 1.02, "yanchor": "bottom"}  # below the lines it would be under the fold
    return dressed(figure, 340).update_layout(legend=above)
