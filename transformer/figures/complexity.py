"""What one layer of each kind costs over n (section 4, Table 1): counted multiply-adds, and measured times.

kinds: those of `transformer.cost.complexity` and `transformer.cost.layer_timing`; each has one colour, dash and mark.
names: kind -> what it is called in the legend.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.positions import across, note, say
from transformer.figures.style import BLUE, GREY, INK, PAPER, TEAL, dressed, plain
from transformer.texts import _

# Blue is the encoder's side, to which self-attention over the source belongs; the others belong to neither side.
STROKES: dict[str, tuple[str, str, str]] = {
    "attention": ("solid", BLUE, "circle"),
    "fused": ("dot", BLUE, "circle-open"),
    "recurrent": ("solid", INK, "square"),
    "convolution": ("dash", GREY, "diamond"),
    "separable": ("dot", GREY, "diamond-open"),
    "restricted": ("dash", TEAL, "triangle-up"),
}


def _pale(colour: str) -> str:
    """A colour "#rrggbb" that what lies below shines through."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.22)"


def _log_axis(title: str, **more: Any) -> dict[str, Any]:
    return {"title": title, "type": "log", "dtick": 1, "tickformat": "~s", **more}


def _marks(values: Mapping[str, int], lengths: Sequence[int]) -> dict[str, Any]:
    """Lines at this n, named above, and at n = d, named below; those outside the figure are left out."""
    lines, notes = [], []
    for name, equals, dash, colour, ends in (
        ("n", "n =", "solid", INK, dict[str, Any](y=1, yanchor="top")),
        ("d", "n = d =", "dot", GREY, dict[str, Any](y=0, yanchor="bottom")),
    ):
        position = values[name]
        if lengths[0] <= position <= lengths[-1]:
            lines.append(across("x", position, colour, dash))
            left = math.log(position / lengths[0]) < 0.75 * math.log(
                lengths[-1] / lengths[0]
            )  # room for it at the right
            ends.update(
                {"xref": "x", "yref": "y domain", "xanchor": "left" if left else "right", "xshift": 4 if left else -4}
            )
            at = math.log10(position)
            notes.append(note(f"{equals} {position:,}", at, colour=colour, bgcolor=PAPER, opacity=0.85, **ends))
    return {"shapes": lines, "annotations": notes}


@plotly_figure
def counts(
    lengths: Sequence[int],
    counts_by_kind: Mapping[str, Sequence[int]],
    names: Mapping[str, str],
    values: Mapping[str, int],
    exact: bool,
) -> Drawing:
    """Operations against n, kind -> one for every length, both axes logarithmic.

    values: n, d, kernel and window; exact: as built here, else by Table 1. Shapes: lines at n and at n = d.
    """
    figure = Drawing()
    for kind, ys in counts_by_kind.items():
        dash, colour, _mark = STROKES[kind]
        figure.add_scatter(
            x=list(lengths), y=[float(count) for count in ys], name=plain(names[kind]), mode="lines",
            hovertemplate="%{y:,.0f}", line={"color": colour, "width": 3, "dash": dash},
        )  # fmt: skip
    ends = [math.log10(lengths[0]), math.log10(lengths[-1])]
    figure.update_layout(
        xaxis=_log_axis(_("tokens n"), range=ends),
        yaxis=_log_axis(_("multiply-adds") if exact else _("operations")),
        **_marks(values, lengths),
    )
    if exact:
        title = _("Multiply-adds as built here")
        equation = _("every matrix product of one layer, projections and gates included")
    else:
        title = _("Operations by Table 1")
        equation = _(
            "<i>n</i>²<i>d</i>, <i>nd</i>², <i>knd</i>², <i>knd</i> + <i>nd</i>², <i>rnd</i> with <i>d</i> = {d}, "
            "<i>k</i> = {kernel}, <i>r</i> = {window}"
        )
    say(figure, title, equation, **{name: f"{value:,}" for name, value in values.items()})
    return dressed(figure, 400)


@plotly_figure
def timings(
    timings_by_kind: Mapping[str, Sequence[tuple[int, float, float, float]]],
    lengths: Sequence[int],
    names: Mapping[str, str],
    values: Mapping[str, int],
) -> Drawing:
    """Seconds of one pass against n, kind -> (n, median, fastest, upper quartile) of what was measured so far.

    lengths: all that will be; values: n and d. Traces: of each kind the fastest passes,
    the upper quartiles with the band between, the medians.
    """
    figure = Drawing()
    for kind, points in timings_by_kind.items():
        dash, colour, mark = STROKES[kind]
        x = [point[0] for point in points]
        low, middle, high = ([1000 * point[column] for point in points] for column in (2, 1, 3))
        name, ink = plain(names[kind]), colour
        edge = {"mode": "lines", "line": {"width": 0, "color": ink}, "hoverinfo": "skip", "showlegend": False,
                "legendgroup": kind}  # fmt: skip
        figure.add_scatter(x=x, y=low, name=_("{name}, fastest pass", name=name), **edge)
        figure.add_scatter(
            x=x, y=high, name=_("{name}, upper quartile", name=name), fill="tonexty", fillcolor=_pale(ink), **edge
        )
        figure.add_scatter(
            x=x, y=middle, name=name, mode="lines+markers", hovertemplate="%{y:.3f} ms", legendgroup=kind,
            line={"color": ink, "width": 2.5, "dash": dash}, marker={"symbol": mark, "size": 8},
        )  # fmt: skip
    span = [math.log10(lengths[0]) - 0.06, math.log10(lengths[-1]) + 0.06]
    ticks = {"tickmode": "array", "tickvals": list(lengths), "ticktext": [f"{length:,}" for length in lengths]}
    figure.update_layout(
        xaxis={**_log_axis(_("tokens n"), range=span), **ticks},
        yaxis=_log_axis(_("milliseconds"), tickformat=",~g"),
        **_marks(values, lengths),
    )
    title = _("Measured: one pass of one layer")
    subtitle = _("median, band from the fastest pass to the upper quartile; <i>d</i> = {d}, batch 1")
    say(figure, title, subtitle, **{name: f"{value:,}" for name, value in values.items()})
    dressed(figure, 460)
    palette = figure.meta["palette"]  # the bands' colours too, for a browser that changes its theme
    figure.meta["palette"] = {name: [*colours, *map(_pale, colours)] for name, colours in palette.items()}
    figure.dark = {**figure.dark, **{_pale(light): _pale(dark) for light, dark in figure.dark.items()}}
    return figure
