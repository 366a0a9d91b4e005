"""How far the encoder turns the vector of each token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import BLUE, Labels, dressed, label_axis, titled
from transformer.texts import N_

LABELS = {
    "title": N_("How far the encoder turns each token"),
    "equation": N_("cosine of the vectors before and after"),
    "y": N_("cosine"),
}


@plotly_figure
def turned_bars(tokens: Sequence[str], cosines: np.ndarray, *, theme: str = "light", texts: Labels = LABELS) -> Drawing:
    """tokens, cosines: [token]."""
    figure = Drawing()
    figure.add_bar(x=np.arange(len(tokens)), y=cosines, marker={"color": BLUE[theme]}, hovertemplate="%{y:.3f}")
    figure.update_layout(yaxis={"title": texts["y"]})
    return dressed(titled(label_axis(figure, "x", tokens), texts["title"], texts["equation"]), theme)
