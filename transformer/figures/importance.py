"""Pruning curves, and how well the gradient predicts what a head is worth."""

from collections.abc import Sequence

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import BLUE, GREY, ORANGE, PURPLE, TEAL, dressed, titled
from transformer.texts import _


@plotly_figure
def pruning_curves(
    metric: str,
    left: Sequence[int],
    least: Sequence[float],
    most: Sequence[float],
    random: Sequence[Sequence[float]],
    breaks: int,
) -> Drawing:
    """The score over the number of heads left, for three orders. metric: of the score; random: of several draws;
    breaks: the smallest number of heads with which the score of "least" is still near that of all."""
    figure = Drawing()
    for index, draw in enumerate(random):
        figure.add_scatter(
            x=left, y=draw, mode="lines", line={"color": GREY, "width": 1.5}, opacity=0.55,
            name=_("random order"), legendgroup="random", showlegend=index == 0,
        )  # fmt: skip
    lines = ((_("least important first"), least, TEAL), (_("most important first"), most, ORANGE))
    for name, values, colour in lines:
        figure.add_scatter(x=left, y=values, mode="lines+markers", line={"color": colour, "width": 3}, name=name)
    figure.add_scatter(
        x=[breaks, breaks], y=[0, least[left.index(breaks)]], mode="lines+text", showlegend=False,
        line={"color": TEAL, "width": 2, "dash": "dot"}, textposition="top right",
        text=["", _("breaks below {left}", left=breaks)], name=_("breaks below {left}", left=breaks),
    )  # fmt: skip
    figure.update_layout(
        xaxis={"title": _("heads left"), "autorange": "reversed"},
        yaxis={"title": _("BLEU") if metric == "bleu" else _("exact matches, %"), "rangemode": "tozero"},
        hovermode="closest",
    )  # fmt: skip
    subtitle = _("heads at 0, one after the other; thin: ten random orders")
    return dressed(titled(figure, _("Translation with fewer and fewer heads"), subtitle))


@plotly_figure
def predicted(places: Sequence[tuple[str, int, int]], estimates: Sequence[float], losses: Sequence[float]) -> Drawing:
    """A point for every head. places: kind of attention, layer and head from 1."""
    figure = Drawing()
    for kind, name, colour in (
        ("encoder_self", _("encoder self-attention"), BLUE),
        ("decoder_self", _("decoder self-attention"), ORANGE),
        ("cross", _("cross-attention"), PURPLE),
    ):
        rows = [index for index, place in enumerate(places) if place[0] == kind]
        figure.add_scatter(
            x=[estimates[row] for row in rows], y=[losses[row] for row in rows], mode="markers", name=name,
            marker={"color": colour, "size": 9},
            text=[_("layer {layer}, head {head}", layer=places[row][1], head=places[row][2]) for row in rows],
            hovertemplate="%{text}<br>%{x:.3f} → %{y:.4f}<extra></extra>",
        )  # fmt: skip
    figure.update_layout(xaxis={"title": _("estimate")}, yaxis={"title": _("change of the loss")}, hovermode="closest")
    subtitle = _("across: Michel et al. (2019), in a layer's own measure; up: measured, the head at 0")
    return dressed(titled(figure, _("The gradient's estimate, head by head"), subtitle))
