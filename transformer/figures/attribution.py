"""Curves of faithfulness, and the share of the source at every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.roles import ROLE
from transformer.figures.style import BLUE, GREY, INK, Labels, dressed, label_axis, plain, titled
from transformer.texts import N_

REMOVAL = {
    "title": N_("Remove tokens in each method's order: how soon does the probability fall?"),
    "subtitle": N_("a token that is removed is hidden from all queries; dotted: ten random orders, their mean"),
    "removed": N_("tokens removed, the most important first"),
    "probability": N_("probability of the output token"),
    "random": N_("random order"),
}
SHARE = {
    "title": N_("How much of each output token comes from the source"),
    "subtitle": N_("share by {method}; the rest comes from the tokens that are fed in"),
    "share": N_("share of the source"),
    "tokens": N_("token to predict"),
}
# A colour for each of nine methods, and ink for a head, drawn first; every second line is dashed.
COLOURS = ("ink", "predicted", "fed", "previous", "same", "rarest", "next", "punctuation", "broad", "resting")


@plotly_figure
def removal_curves(
    curves: Mapping[str, Sequence[float]],
    names: Mapping[str, str],
    *,
    theme: str = "light",
    texts: Labels = REMOVAL,
) -> Drawing:
    """curves: method -> probabilities with 0, 1, 2, .. tokens removed, "random" among them; names: methods in words."""
    figure = Drawing()
    others = [name for name in curves if name != "random"]
    for index, name in enumerate(others, start=len(COLOURS) - len(others)):
        colour = {"ink": INK, **ROLE}[COLOURS[index]][theme]
        line = {"color": colour, "dash": "dash" if index % 2 else "solid", "width": 2}
        figure.add_scatter(y=list(curves[name]), mode="lines", line=line, name=plain(names[name]))
    line = {"color": GREY[theme], "dash": "dot", "width": 3}
    figure.add_scatter(y=list(curves["random"]), mode="lines", line=line, name=texts["random"])
    figure.update_layout(
        xaxis={"title": texts["removed"]}, yaxis={"title": texts["probability"], "rangemode": "tozero"},
        hovermode="closest",
    )  # fmt: skip
    return dressed(titled(figure, texts["title"], texts["subtitle"]), theme)


@plotly_figure
def source_share(
    shares: Sequence[float],
    tokens: Sequence[str],
    method: str,
    *,
    theme: str = "light",
    texts: Labels = SHARE,
) -> Drawing:
    """A point for each step. tokens: those the rows predict."""
    figure = Drawing()
    figure.add_scatter(
        y=list(shares), mode="lines+markers", line={"color": BLUE[theme], "width": 3}, marker={"size": 9}
    )
    figure.update_layout(
        yaxis={"title": texts["share"], "range": [0, 1], "tickformat": ".0%"}, xaxis={"title": texts["tokens"]},
        showlegend=False,
    )  # fmt: skip
    label_axis(figure, "x", tokens)
    # Labels turn when they would touch, not only when they would overlap.
    axis = figure.layout["xaxis"]
    axis["ticktext"] = [f"\u2002{label}\u2002" for label in axis["ticktext"]]
    return dressed(titled(figure, texts["title"], texts["subtitle"].format(method=plain(method))), theme)
