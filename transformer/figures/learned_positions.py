"""Learned positions (Table 3, row E) beside the formula, and what models do beyond the lengths they were trained on.

trained: first and last trained position or length, both among the trained; None: nothing is shaded.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.positions import STROKES, across, note, say, two_tables, whole
from transformer.figures.style import GREY, INK, PAPER, dressed, plain
from transformer.texts import _

SYMBOLS = ("circle", "square", "diamond", "cross")


def _trained(trained: tuple[int, int] | None, text: str) -> dict[str, Any]:
    """Layout of the shaded range on the x axis, both ends included."""
    if trained is None:
        return {}
    low, high = trained[0] - 0.5, trained[1] + 0.5
    area = {"type": "rect", "xref": "x", "yref": "y domain", "x0": low, "x1": high, "y0": 0, "y1": 1, "layer": "below",
            "fillcolor": GREY, "opacity": 0.16, "line": {"width": 0}}  # fmt: skip
    mark = note(text, high, 0, GREY, xref="x", yref="y domain", xanchor="right", yanchor="bottom")
    return {"shapes": [area], "annotations": [mark]}


@plotly_figure
def tables_beside(
    first: np.ndarray, second: np.ndarray, names: tuple[str, str], trained: tuple[int, int] | None = None
) -> Drawing:
    """Two tables [position, dimension] on one scale, sinusoidal and learned, with a line below the last trained
    position.

    Annotations: the names, then the meaning of the line, on the learned table.
    """
    most = float(max(np.abs(first).max(), np.abs(second).max()))
    hover = f"{_('position p')} %{{y}}<br>{_('dimension')} %{{x}}<br>PE %{{z:.4f}}"
    shown, axes = (plain(names[0]), plain(names[1])), (_("dimension"), _("position p"))
    figure = two_tables(first, second, shown, axes, most, hover, "PE")
    if trained is not None:
        for end in ("", "2"):
            line = {**across("y", trained[1] + 0.5, INK), "xref": f"x{end} domain", "yref": f"y{end}"}
            figure.add_shape(**line)
        figure.layout["annotations"].append(
            note(_("trained range"), 0, trained[1] + 0.5, INK, xref="x2 domain", yref="y2", xanchor="left",
                 yanchor="bottom", bgcolor=PAPER, opacity=0.85)
        )  # fmt: skip
    subtitle = _("left section 3.5, right Table 3, row E: one learned vector per position")
    say(figure, _("Sinusoidal and learned"), subtitle)
    return dressed(figure, 460)


def _lines(
    series: Mapping[str, np.ndarray], hover: str, x: Sequence[int] | None = None, marks: bool = False
) -> Drawing:
    """One line per name, each with its own colour, dash and mark. x: 0, 1, ... without it."""
    figure = Drawing()
    for index, (name, y) in enumerate(series.items()):
        dash, colour = STROKES[index % len(STROKES)]
        figure.add_scatter(
            x=np.arange(len(y)) if x is None else np.asarray(x), y=np.asarray(y, np.float32), name=plain(name),
            mode="lines+markers", hovertemplate=hover,
            line={"color": colour, "width": 2.5, "dash": dash},
            marker={"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 9 if marks else 6},
        )  # fmt: skip
    return figure


@plotly_figure
def row_norms(norms: Mapping[str, np.ndarray], trained: tuple[int, int] | None = None) -> Drawing:
    """Length of every row of tables, name -> [position]; trained: first and last trained position, shaded."""
    figure = _lines(norms, "%{y:.3f}")
    figure.update_layout(
        xaxis={"title": _("position p")}, yaxis={"title": _("norm"), "rangemode": "tozero"},
        **_trained(trained, _("trained range")),
    )  # fmt: skip
    say(figure, _("Norm of every row"), _("‖PE(<i>p</i>)‖; of the formula √(<i>d</i><sub>model</sub> / 2)"))
    return dressed(figure, 340)


@plotly_figure
def neighbour_cosines(cosines: Mapping[str, np.ndarray], trained: tuple[int, int] | None = None) -> Drawing:
    """Cosine between rows p and p + 1 of tables, name -> [position - 1]; trained: as in `row_norms`, shaded up to the
    last p whose neighbour is trained too."""
    figure = _lines(cosines, "%{y:.3f}")
    both = None if trained is None else (trained[0], max(trained[0], trained[1] - 1))
    figure.update_layout(
        xaxis={"title": _("position p")}, yaxis={"title": _("cosine"), "range": [-1.05, 1.05]},
        **_trained(both, _("trained range")),
    )  # fmt: skip
    say(figure, _("Neighbouring rows"), "cos(PE(<i>p</i>), PE(<i>p</i> + 1))")
    return dressed(figure, 340)


@plotly_figure
def exact_by_length(
    lengths: Sequence[int], exact: Mapping[str, Sequence[float | None]], trained: tuple[int, int] | None = None
) -> Drawing:
    """Share of exact answers, 0 to 1, over the length of the input; model name -> one share per length.

    None: not measured, because the model has no such positions; its line has a gap there.
    """
    shares = {name: np.array([np.nan if share is None else 100 * share for share in ys]) for name, ys in exact.items()}
    figure = _lines(shares, "%{y:.0f}%", lengths, marks=True)
    figure.update_layout(
        xaxis={"title": _("symbols of the input"), "range": [min(lengths) - 0.5, max(lengths) + 0.5],
               **whole(len(lengths))},
        yaxis={"title": _("exact, %"), "range": [-4, 104]},
        **_trained(trained, _("trained range")),
    )  # fmt: skip
    say(figure, _("Exact answers by length of the input"), _("share of inputs whose output is right, letter by letter"))
    return dressed(figure, 380)
