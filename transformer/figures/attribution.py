"""Curves of faithfulness, and the share of the source at every step."""

from collections.abc import Mapping, Sequence

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import BLUE, GREY, INK, ROLE, dressed, label_axis, plain, titled
from transformer.texts import _

# A colour for each of nine methods, and ink for a head, drawn first; every second line is dashed.
COLOURS = ("ink", "predicted", "fed", "previous", "same", "rarest", "next", "punctuation", "broad", "resting")


@plotly_figure
def removal_curves(curves: Mapping[str, Sequence[float]], names: Mapping[str, str]) -> Drawing:
    """curves: method -> probabilities with 0, 1, 2, .. tokens removed, "random" among them; names: methods in words."""
    figure = Drawing()
    others = [name for name in curves if name != "random"]
    for index, name in enumerate(others, start=len(COLOURS) - len(others)):
        colour = {"ink": INK, **ROLE}[COLOURS[index]]
        line = {"color": colour, "dash": "dash" if index % 2 else "solid", "width": 2}
        figure.add_scatter(y=list(curves[name]), mode="lines", line=line, name=plain(names[name]))
    line = {"color": GREY, "dash": "dot", "width": 3}
    figure.add_scatter(y=list(curves["random"]), mode="lines", line=line, name=_("random order"))
    figure.update_layout(
        xaxis={"title": _("tokens removed, the most important first")},
        yaxis={"title": _("probability of the output token"), "rangemode": "tozero"},
        hovermode="closest",
    )  # fmt: skip
    title = _("Remove tokens in each method's order: how soon does the probability fall?")
    subtitle = _("a token that is removed is hidden from all queries; dotted: ten random orders, their mean")
    return dressed(titled(figure, title, subtitle))


@plotly_figure
def source_share(shares: Sequence[float], tokens: Sequence[str], method: str) -> Drawing:
    """A point for each step. tokens: those the rows predict."""
    figure = Drawing()
    figure.add_scatter(y=list(shares), mode="lines+markers", line={"color": BLUE, "width": 3}, marker={"size": 9})
    figure.update_layout(
        xaxis={"title": _("token to predict")},
        yaxis={"title": _("share of the source"), "range": [0, 1], "tickformat": ".0%"},
        showlegend=False,
    )  # fmt: skip
    label_axis(figure, "x", tokens)
    # Labels turn when they would touch, not only when they would overlap.
    axis = figure.layout["xaxis"]
    axis["ticktext"] = [f"\u2002{label}\u2002" for label in axis["ticktext"]]
    subtitle = _("share by {method}; the rest comes from the tokens that are fed in", method=plain(method))
    return dressed(titled(figure, _("How much of each output token comes from the source"), subtitle))
