"""What relative positions add to the scores, by head and distance."""

from collections.abc import Sequence

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import BLUE, ORANGE, diverging, dressed, label_axis, titled
from transformer.texts import _

COLOURS = {"encoder": BLUE, "decoder": ORANGE}


@plotly_figure
def bias_by_distance(stack: str, distances: Sequence[str], bias: np.ndarray) -> Drawing:
    """A row for each head, a column for each range of distances. distances: their names; bias: [head, range]."""
    values = np.asarray(bias, np.float32)
    most = max(float(np.abs(values).max(initial=0.0)), 1e-6)
    figure = Drawing()
    figure.add_heatmap(
        z=values, zmid=0, zmin=-most, zmax=most, colorscale=diverging(COLOURS[stack]), showscale=False,
        xgap=1, ygap=1, customdata=[[f"{value:.3f}".replace("-", "−") for value in row] for row in values],
        hovertemplate=_("head %{y}, distance %{x}: %{customdata}") + "<extra></extra>",
    )  # fmt: skip
    before = _("key before the query by")
    titles = before if stack == "decoder" else f"← {before} · {_('after it by')} →"
    figure.update_layout(
        hovermode="closest", yaxis={"autorange": "reversed", "title": _("head")}, xaxis={"title": titles}
    )
    label_axis(figure, "y", [str(head + 1) for head in range(len(values))])
    label_axis(figure, "x", distances)
    title = _("Position bias of the encoder") if stack == "encoder" else _("Position bias of the decoder")
    subtitle = _(
        "score = <i>q</i>·<i>k</i> + <i>b</i>(head, distance); from −{most} in ink over 0 to {most} in full colour",
        most=f"{most:.2g}",
    )
    titled(figure, title, subtitle)
    return dressed(figure, 140 + 24 * len(values))
