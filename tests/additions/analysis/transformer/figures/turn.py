"""How far the encoder turns the vector of each token."""

from collections.abc import Sequence

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import BLUE, dressed, label_axis, titled
from transformer.texts import _


@plotly_figure
def turned_bars(tokens: Sequence[str], cosines: np.ndarray) -> Drawing:
    """tokens, cosines: [token]."""
    figure = Drawing()
    figure.add_bar(x=np.arange(len(tokens)), y=cosines, marker={"color": BLUE}, hovertemplate="%{y:.3f}")
    figure.update_layout(yaxis={"title": _("cosine")})
    title, subtitle = _("How far the encoder turns each token"), _("cosine of the vectors before and after")
    return dressed(titled(label_axis(figure, "x", tokens), title, subtitle))
