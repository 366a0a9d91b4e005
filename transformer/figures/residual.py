"""Figures of the residual stream (section 3.1): the lengths of its vectors, and the parts of the last one."""

from collections.abc import Mapping, Sequence

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.embedding import SIDE, numbered, signed
from transformer.figures.style import GREY, INK, diverging, dressed, label_axis, ramp, slider, titled
from transformer.texts import N_, _, translate

QUANTITIES = ("enters", "update", "sum", "normed")
MOST_NUMBERS = 32  # up to this many tokens the shares are written in the cells


def vector_name(quantity: str) -> str:
    """One of QUANTITIES in words."""
    formulas = {"enters": "x", "update": "Sublayer(x)", "sum": "x + Sublayer(x)"}
    return formulas.get(quantity) or _("after LayerNorm")


@plotly_figure
def stream_figure(
    lengths: Mapping[str, np.ndarray],
    sublayers: Sequence[str],
    stack: str,
    equation: str = "LayerNorm(<i>x</i> + Sublayer(<i>x</i>))",
) -> Drawing:
    """Lengths of the vectors at every sub-layer, one line per quantity.

    lengths: quantity -> [sublayer], for those of QUANTITIES that this model has; sublayers: their names, in the order
    of the pass; stack: "encoder" or "decoder"; equation: of a sub-layer's output in this model.
    """
    colour = SIDE[stack]
    looks = {
        "enters": (GREY, "solid", "circle-open"),
        "update": (colour, "dot", "triangle-up"),
        "sum": (colour, "solid", "circle"),
        "normed": (INK, "dash", "square"),
    }
    figure, x = Drawing(), np.arange(len(sublayers))
    for name in (quantity for quantity in QUANTITIES if quantity in lengths):
        ink, dash, symbol = looks[name]
        figure.add_scatter(
            x=x, y=np.asarray(lengths[name], np.float32), name=vector_name(name), mode="lines+markers",
            line={"color": ink, "dash": dash, "width": 2.5}, marker={"symbol": symbol, "size": 9, "color": ink},
            hovertemplate="%{y:.2f}",
        )  # fmt: skip
    figure.update_layout(
        yaxis={"title": _("length ‖·‖"), "rangemode": "tozero"}, xaxis={"title": _("sub-layer")},
    )  # fmt: skip
    label_axis(figure, "x", sublayers)
    titled(figure, _("Lengths along the stack"), equation)
    return dressed(figure, 430).update_layout(legend={"y": 1.02, "yanchor": "bottom"})


def _cells(figure: Drawing, labels: Sequence[str], columns: Sequence[str], title: str, highest: int) -> Drawing:
    """Layout shared by heatmaps with one row per token: axes, and a height that grows with the rows up to `highest`
    pixels."""
    rows = min(highest, 24 * max(14, len(labels)))
    label_axis(label_axis(figure, "y", labels, most=rows // 20), "x", columns)
    figure.update_layout(hovermode="closest", yaxis={"autorange": "reversed"}, xaxis={"title": title})
    return dressed(figure, 150 + rows)


def _each(rows: Sequence[str], columns: int) -> list[list[str]]:
    """The hover text of a row, repeated for every cell, because an axis labels only some of many tokens."""
    return [[row] * columns for row in rows]


def vectors(lengths: Mapping[str, object]) -> tuple[list[str], str]:
    """The names of the frames of `stream_heatmap`, and that of the first one shown."""
    return [name for name in QUANTITIES if name in lengths], "sum" if "sum" in lengths else "update"


@plotly_figure
def stream_heatmap(
    lengths: Mapping[str, np.ndarray], labels: Sequence[str], sublayers: Sequence[str], stack: str
) -> Drawing:
    """Lengths of every token's vector at every sub-layer; a slider chooses among QUANTITIES.

    lengths: of those of QUANTITIES that there are, [sublayer, token]; labels: the tokens; sublayers: their names. One
    colour scale over all frames, from 0 to where 99% of the lengths end: a single vector ten times as long as the
    others (in en-de that of <s> after the decoder's first feed-forward sub-layer) would leave all of them pale.
    """
    names, first = vectors(lengths)
    values = {name: np.asarray(lengths[name], np.float32).T for name in names}
    every = np.concatenate([part.ravel() for part in values.values()])
    most = float(np.quantile(every, 0.99))
    ends = f"≥ {most:.3g}" if float(every.max()) > most else f"{most:.3g}"
    scale = {"title": _("length ‖·‖"), "tickvals": [0, most / 2, most], "ticktext": ["0", f"{most / 2:.3g}", ends]}
    start = names.index(first)
    hover = f"%{{customdata}}<br>{_('sub-layer')} %{{x}}<br>{_('length ‖·‖')} %{{z:.3f}}"
    figure = Drawing()
    for name, z in values.items():
        figure.add_frame(vector_name(name), [{"type": "heatmap", "z": z}])
    figure.add_heatmap(
        z=values[first], zmin=0, zmax=most, colorscale=ramp(SIDE[stack]), colorbar=scale,
        customdata=_each(numbered(labels), len(sublayers)), hovertemplate=hover + "<extra></extra>",
    )  # fmt: skip
    subtitle = "‖<i>v</i>‖ = √(Σ<sub>i</sub> <i>v</i><sub>i</sub><sup>2</sup>)"
    titled(slider(figure, _("vector"), start), _("Lengths, token by token"), subtitle)
    return _cells(figure, labels, sublayers, _("sub-layer"), 360)


@plotly_figure
def share_heatmap(shares: np.ndarray, labels: Sequence[str], parts: Sequence[str], stack: str) -> Drawing:
    """The share of every part in every token's vector, in per cent: the stack's colour above 0, ink below. A row sums
    to 100%. Of at most MOST_NUMBERS tokens the numbers stand in the cells.

    shares: [part, token], 1 for the whole; labels: the tokens; parts: their names; stack: "encoder" or "decoder".
    """
    values = 100 * np.asarray(shares, np.float32).T
    most = max(float(np.abs(values).max(initial=0.0)), 1.0)
    figure = Drawing()
    cells = [[[name, signed(share, 1)] for share in row] for name, row in zip(numbered(labels), values, strict=True)]
    hover = f"%{{customdata[0]}}<br>{_('part')} %{{x}}<br>{_('share')} %{{customdata[1]}}%<extra></extra>"
    figure.add_heatmap(
        z=values, zmid=0, zmin=-most, zmax=most, colorscale=diverging(SIDE[stack]), showscale=False,
        text=[[signed(share, 0) for share in row] for row in values],
        texttemplate="%{text}" if len(labels) <= MOST_NUMBERS else None, customdata=cells, hovertemplate=hover,
    )  # fmt: skip
    equations = {
        "encoder": N_(
            "share of part <i>p</i> = ⟨<i>p</i>, <i>x</i>⟩ / ⟨<i>x</i>, <i>x</i>⟩, in %; blue above 0, grey below"
        ),
        "decoder": N_(
            "share of part <i>p</i> = ⟨<i>p</i>, <i>x</i>⟩ / ⟨<i>x</i>, <i>x</i>⟩, in %; orange above 0, grey below"
        ),
    }
    titled(figure, _("What made the vector"), translate(equations[stack]))
    return _cells(figure, labels, parts, _("part"), 960)
