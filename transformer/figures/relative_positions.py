"""What relative positions add to the scores, by head and distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import BLUE, ORANGE, Labels, diverging, dressed, label_axis, titled
from transformer.texts import N_

LABELS = {
    "encoder": N_("Position bias of the encoder"),
    "decoder": N_("Position bias of the decoder"),
    "equation": N_(
        "score = <i>q</i>·<i>k</i> + <i>b</i>(head, distance); from −{most} in ink over 0 to {most} in full colour"
    ),
    "before": N_("key before the query by"),
    "after": N_("after it by"),
    "head": N_("head"),
    "hover": N_("head %{y}, distance %{x}: %{customdata}"),
}
COLOURS = {"encoder": BLUE, "decoder": ORANGE}


@plotly_figure
def bias_by_distance(
    stack: str, distances: Sequence[str], bias: np.ndarray, *, theme: str = "light", texts: Labels = LABELS
) -> Drawing:
    """A row for each head, a column for each range of distances. distances: their names; bias: [head, range]."""
    values = np.asarray(bias, np.float32)
    most = max(float(np.abs(values).max(initial=0.0)), 1e-6)
    figure = Drawing()
    figure.add_heatmap(
        z=values, zmid=0, zmin=-most, zmax=most, colorscale=diverging(theme, COLOURS[stack]), showscale=False,
        xgap=1, ygap=1, customdata=[[f"{value:.3f}".replace("-", "−") for value in row] for row in values],
        hovertemplate=texts["hover"] + "<extra></extra>",
    )  # fmt: skip
    titles = texts["before"] if stack == "decoder" else f"← {texts['before']} · {texts['after']} →"
    figure.update_layout(
        hovermode="closest", yaxis={"autorange": "reversed", "title": texts["head"]}, xaxis={"title": titles}
    )
    label_axis(figure, "y", [str(head + 1) for head in range(len(values))])
    label_axis(figure, "x", distances)
    titled(figure, texts[stack], texts["equation"].format(most=f"{most:.2g}"))
    return dressed(figure, theme, 140 + 24 * len(values))
