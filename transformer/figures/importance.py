"""Pruning curves, and how well the gradient predicts what a head is worth."""

from __future__ import annotations

from collections.abc import Sequence

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import BLUE, GREY, ORANGE, PURPLE, TEAL, Labels, dressed, titled
from transformer.texts import N_

PRUNING = {
    "title": N_("Translation with fewer and fewer heads"),
    "subtitle": N_("heads at 0, one after the other; thin: ten random orders"),
    "left": N_("heads left"),
    "bleu": N_("BLEU"),
    "exact": N_("exact matches, %"),
    "least": N_("least important first"),
    "most": N_("most important first"),
    "random": N_("random order"),
    "breaks": N_("breaks below {left}"),
}
PREDICTED = {
    "title": N_("The gradient's estimate, head by head"),
    "subtitle": N_("across: Michel et al. (2019), in a layer's own measure; up: measured, the head at 0"),
    "estimate": N_("estimate"),
    "loss": N_("change of the loss"),
    "encoder_self": N_("encoder self-attention"),
    "decoder_self": N_("decoder self-attention"),
    "cross": N_("cross-attention"),
    "head": N_("layer {layer}, head {head}"),
}


@plotly_figure
def pruning_curves(
    metric: str,
    left: Sequence[int],
    least: Sequence[float],
    most: Sequence[float],
    random: Sequence[Sequence[float]],
    breaks: int,
    *,
    theme: str = "light",
    texts: Labels = PRUNING,
) -> Drawing:
    """The score over the number of heads left, for three orders. metric: of the score; random: of several draws;
    breaks: the smallest number of heads with which the score of "least" is still near that of all."""
    figure = Drawing()
    for index, draw in enumerate(random):
        figure.add_scatter(
            x=left, y=draw, mode="lines", line={"color": GREY[theme], "width": 1.5}, opacity=0.55, name=texts["random"],
            legendgroup="random", showlegend=index == 0,
        )  # fmt: skip
    for name, values, colour in (("least", least, TEAL), ("most", most, ORANGE)):
        figure.add_scatter(
            x=left, y=values, mode="lines+markers", line={"color": colour[theme], "width": 3}, name=texts[name]
        )
    figure.add_scatter(
        x=[breaks, breaks], y=[0, least[left.index(breaks)]], mode="lines+text", showlegend=False,
        line={"color": TEAL[theme], "width": 2, "dash": "dot"}, textposition="top right",
        text=["", texts["breaks"].format(left=breaks)], name=texts["breaks"].format(left=breaks),
    )  # fmt: skip
    figure.update_layout(
        xaxis={"title": texts["left"], "autorange": "reversed"}, yaxis={"title": texts[metric], "rangemode": "tozero"},
        hovermode="closest",
    )  # fmt: skip
    return dressed(titled(figure, texts["title"], texts["subtitle"]), theme)


@plotly_figure
def predicted(
    places: Sequence[tuple[str, int, int]],
    estimates: Sequence[float],
    losses: Sequence[float],
    *,
    theme: str = "light",
    texts: Labels = PREDICTED,
) -> Drawing:
    """A point for every head. places: kind of attention, layer and head from 1."""
    figure = Drawing()
    for kind, colour in (("encoder_self", BLUE), ("decoder_self", ORANGE), ("cross", PURPLE)):
        rows = [index for index, place in enumerate(places) if place[0] == kind]
        figure.add_scatter(
            x=[estimates[row] for row in rows], y=[losses[row] for row in rows], mode="markers", name=texts[kind],
            marker={"color": colour[theme], "size": 9},
            text=[texts["head"].format(layer=places[row][1], head=places[row][2]) for row in rows],
            hovertemplate="%{text}<br>%{x:.3f} → %{y:.4f}<extra></extra>",
        )  # fmt: skip
    figure.update_layout(xaxis={"title": texts["estimate"]}, yaxis={"title": texts["loss"]}, hovermode="closest")
    return dressed(titled(figure, texts["title"], texts["subtitle"]), theme)
