"""Figures of the position encodings (section 3.5): arrays in, figures out.

Positions and dimensions count from 0, as in the formula. The browser draws these figures again with other arrays for
another d_model, length, k or q (frontend/src/positions/fill.js): traces, shapes and annotations keep their order,
and titles with numbers are in `layout.meta` with their {placeholders}.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import (
    GREY,
    GUIDE,
    INK,
    PAPER,
    ROLE,
    TEAL,
    diverging,
    dressed,
    label_axis,
    ramp,
    titled,
)
from transformer.texts import _

SHOWN = 32  # dimensions of M_k and positions beside it: cells that are visible from the back row
# Dash and colour of each curve: no two look alike, not even in print.
STROKES = (
    ("solid", TEAL),
    ("dash", INK),
    ("dot", GREY),
    ("dashdot", ROLE["punctuation"]),
    ("longdash", ROLE["rarest"]),
    ("longdashdot", ROLE["same"]),
)
MOST_CURVES = len(STROKES)
MOST_ROWS = 20  # labels of rows
DOTTED = 64  # up to this many positions a curve has dots
A_WAVE, A_CURVE = 32, 64  # points of a drawn wave; points of a curve at least
RINGS = 100  # up to this many points are drawn as rings
FEW = 5  # numbers on an axis: plotly has up to 10 ticks, and would label so few in steps of a half
SHORTEST, LONGEST = 2 * math.pi, 20000 * math.pi
_GROWING = "10000<sup>2<i>i</i>/<i>d</i><sub>model</sub></sup>"
_ANGLE = f"<i>p</i> / {_GROWING}"
_BOTH = f"PE(<i>p</i>, 2<i>i</i>) = sin({_ANGLE}), PE(<i>p</i>, 2<i>i</i> + 1) = cos({_ANGLE})"
_DOT = "PE(<i>p</i>)·PE(<i>q</i>)"


def say(figure: Drawing, title: str, equation: str, **values: object) -> None:
    """Title and equation with numbers in them; the browser fills in other numbers."""
    titled(figure, title.format(**values), equation.format(**values))
    figure.meta.update(title=title, equation=equation)


def across(axis: str, value: float, colour: str, dash: str = "dash") -> dict[str, Any]:
    """A line across the figure at a value of the axis "x" or "y"."""
    other_axis = "y" if axis == "x" else "x"
    ends = {f"{axis}0": value, f"{axis}1": value, f"{other_axis}0": 0, f"{other_axis}1": 1}
    return {"type": "line", f"{axis}ref": axis, f"{other_axis}ref": f"{other_axis} domain", **ends,
            "line": {"color": colour, "width": 2, "dash": dash}}  # fmt: skip


def note(text: str, x: float, y: float, colour: str, **more: object) -> dict[str, Any]:
    return {"text": text, "x": x, "y": y, "showarrow": False, "font": {"color": colour}, "xref": "x domain", **more}


def _places(length: int, tokens: Sequence[str]) -> list[str]:
    """The positions of a table: tokens of the sentence, then numbers."""
    return [*tokens[:length], *map(str, range(len(tokens), length))]


def whole(count: int) -> dict[str, Any]:
    """Ticks at whole numbers, for an axis with this many positions from 0."""
    return {"dtick": 1} if count <= FEW else {}


def signed(figure: Drawing, z: np.ndarray, most: float, hover: str, title: str, **more: Any) -> Drawing:
    """Signed cells on the scale from -most to most, row 0 on top."""
    bar = {"title": {"text": title, "side": "right"}, "thickness": 14, **more.pop("bar", {})}
    scale = {"zmin": -most, "zmax": most, "zmid": 0, "colorscale": diverging()}
    return figure.add_heatmap(
        z=np.asarray(z, np.float32), hovertemplate=hover + "<extra></extra>", **{"colorbar": bar, **scale, **more}
    )


def wavelength_text(value: float) -> str:
    """A number of positions with three significant digits: "6.28", "19.9", "62,300"."""
    if value < 99.95:
        return f"{value:.2f}" if value < 9.995 else f"{value:.1f}"
    step = 10 ** max(0, math.floor(math.log10(value)) - 2)
    return f"{math.floor(value / step + 0.5) * step:,}"


@plotly_figure
def encoding_heatmap(table: np.ndarray, dimensions: Sequence[int] = (), tokens: Sequence[str] = ()) -> Drawing:
    """A table [position, dimension] on the scale from -1 to 1, its rows named by the tokens of the sentence.

    dimensions: at most MOST_CURVES columns with a tick above them, each in the colour of its curve. Shapes: the ticks;
    unused ones are hidden.
    """
    figure = Drawing()
    hover = f"{_('position p')} %{{y}}<br>{_('dimension')} %{{x}}<br>PE %{{z:.4f}}"
    signed(figure, table, 1, hover, "")
    figure.update_layout(
        xaxis={"title": _("dimension"), **whole(len(table[0]))},
        yaxis={"autorange": "reversed"},
        shapes=[_tick(list(dimensions[index : index + 1]), colour)
                for index, (_dash, colour) in enumerate(STROKES)],
        hovermode="closest",
    )  # fmt: skip
    label_axis(figure, "y", _places(len(table), tokens), MOST_ROWS)
    subtitle = _(
        "Each column is a wave. On the right waves are very long, so rows look alike. Press a column for its curve."
    )
    say(figure, _("The {d_model} numbers added to each token"), subtitle, d_model=len(table[0]))
    return dressed(figure, 420)


def _tick(positions: Sequence[int], colour: str) -> dict[str, Any]:
    """A mark above a column; hidden if there is none."""
    first = positions[0] if positions else 0
    return {"type": "line", "xref": "x", "yref": "y domain", "x0": first, "x1": first, "y0": 1.008, "y1": 1.04,
            "line": {"color": colour, "width": 4}, "visible": bool(positions)}  # fmt: skip


def _sine(length: int, dimension: int, wavelength: float) -> tuple[np.ndarray, np.ndarray]:
    """The function that a dimension takes its values from, at positions 0 to length - 1 and densely between them."""
    steps = max(A_CURVE, math.ceil((length - 1) / wavelength * A_WAVE))
    x = np.arange(steps + 1) * ((length - 1) / steps)
    angle = x * (2 * math.pi / wavelength)
    return x.astype(np.float32), (np.cos(angle) if dimension % 2 else np.sin(angle)).astype(np.float32)


@plotly_figure
def encoding_curves(
    table: np.ndarray, dimensions: Sequence[int], wavelengths: np.ndarray, tokens: Sequence[str] = ()
) -> Drawing:
    """Chosen dimensions of a table [position, dimension] over positions, named by the tokens of the sentence.

    dimensions: at most MOST_CURVES; wavelengths: of every pair, [d_model / 2]; tokens: at positions 0, 1, ...
    The curves are the sines and cosines themselves; the dots on them are the numbers of the table. Traces: MOST_CURVES
    lines, unused ones hidden; their dots, invisible for more than DOTTED positions. Raises ValueError for more
    dimensions.
    """
    if len(dimensions) > MOST_CURVES:
        raise ValueError(f"{len(dimensions)} curves were asked for; {MOST_CURVES} can be told apart")
    figure, positions = Drawing(), np.arange(len(table))
    none = np.zeros(0, np.float32)
    shown = [dimensions[index] if index < len(dimensions) else None for index in range(MOST_CURVES)]
    names = [
        _(
            "dim. {dimension}: λ {wavelength}",
            dimension=dimension or 0,
            wavelength=wavelength_text(wavelengths[(dimension or 0) // 2]),
        )
        for dimension in shown
    ]
    for (dash, colour), name, dimension in zip(STROKES, names, shown, strict=True):
        x, y = (none, none) if dimension is None else _sine(len(table), dimension, wavelengths[dimension // 2])
        figure.add_scatter(
            x=x, y=y, name=name, legendgroup=name, line={"color": colour, "dash": dash, "width": 2.5},
            mode="lines", visible=dimension is not None, hoverinfo="skip", meta=GUIDE,
        )  # fmt: skip
    for (_dash, colour), name, dimension in zip(STROKES, names, shown, strict=True):
        figure.add_scatter(
            x=positions, y=none if dimension is None else np.asarray(table[:, dimension], np.float32),
            name=name, legendgroup=name, showlegend=False, mode="markers", visible=dimension is not None,
            marker={"color": colour, "size": 6, "opacity": float(len(table) <= DOTTED)},
            hovertemplate="%{y:.4f}",
        )  # fmt: skip
    figure.update_layout(
        xaxis={"range": [-0.5, len(table) - 0.5], "tickangle": -60},
        yaxis={"range": [-1.08, 1.08]},
        meta={"curve": _("dim. {dimension}: λ {wavelength}")},
    )
    subtitle = _("dots: the numbers of the table; <i>λ</i>: wavelength in positions")
    say(figure, _("The marked columns as waves"), subtitle)
    label_axis(figure, "x", _places(len(table), tokens))
    return dressed(figure, 480)


@plotly_figure
def wavelength_curve(wavelengths: np.ndarray, dimensions: Sequence[int] = (), length: int | None = None) -> Drawing:
    """The wavelength of every pair of dimensions, [d_model / 2], on a logarithmic axis with the two ends from the
    paper.

    dimensions: marked on the line; length: of a table, a line across: pairs above it complete no cycle in it. Shapes: 2
    pi, 10000 * 2 pi, length. Traces: the line, the marks.
    """
    figure, even = Drawing(), 2 * np.arange(len(wavelengths))
    wavelength, hover = _("wavelength in positions"), "%{y:,.2f}<extra></extra>"
    figure.add_scatter(
        x=even, y=np.asarray(wavelengths, np.float32), mode="lines", name=wavelength, showlegend=False,
        line={"color": TEAL, "width": 3}, hovertemplate=hover,
    )  # fmt: skip
    figure.add_scatter(
        x=2 * (np.asarray(dimensions, np.int64) // 2),
        y=np.asarray([wavelengths[dimension // 2] for dimension in dimensions]), mode="markers",
        name=_("curves drawn"), marker={"color": INK, "size": 11}, hoverinfo="skip",
        visible=bool(len(dimensions)), showlegend=True,
    )  # fmt: skip
    grey, shown, last = GREY, length or 1, 2 * len(wavelengths) - 2
    # Two labels on one side: the lower of two close lines has its label below, the upper one above.
    above, below = ("bottom", "top") if length is not None and length < SHORTEST else ("top", "bottom")
    notes = ("2π ≈ 6.28", SHORTEST, 1, "right", above), ("10000 · 2π ≈ 62,832", LONGEST, 0, "left", "bottom")
    pad, ticks = max(1, 0.04 * last), {"dtick": 2} if last <= 2 * FEW else {}
    figure.update_layout(
        xaxis={"title": _("dimension 2i of the pair"), "range": [-pad, last + pad], **ticks},
        yaxis={"title": wavelength, "type": "log", "range": [-0.4, 5.5], "dtick": 1},
        shapes=[
            across("y", SHORTEST, grey), across("y", LONGEST, grey),
            {**across("y", shown, INK, "dot"), "visible": length is not None},
        ],
        annotations=[
            *(note(text, x, math.log10(y), grey, xanchor=side, yanchor=end) for text, y, x, side, end in notes),
            note(_("length shown: {length}", length=shown), 1, math.log10(shown), INK, xanchor="right",
                  yanchor=below, visible=length is not None),
        ],
        meta={"length": _("length shown: {length}")},
    )  # fmt: skip
    say(figure, _("Wavelengths"), (f"{_BOTH}; <i>λ</i><sub>i</sub> = 2π · {_GROWING}"))
    return dressed(figure, 360)


@plotly_figure
def product_matrix(products: np.ndarray, q: int | None = None, most: float | None = None) -> Drawing:
    """PE(p).PE(q), [position, position], p down, q across; column q is framed.

    most: end of the scale, d_model / 2 for the sinusoidal encoding; None: the largest product. The scale starts at 0 if
    no product is negative, otherwise at -most. Shapes: column q.
    """
    figure = Drawing()
    most = float(np.abs(products).max()) if most is None else most
    hover = f"{_('position p')} %{{y}}<br>{_('position q')} %{{x}}<br>PE(p)·PE(q) %{{z:.3f}}"
    scales = {"signed": diverging(), "unsigned": ramp(TEAL)}
    positive = {"zmin": 0, "zmid": None, "colorscale": scales["unsigned"]} if products.min() >= 0 else {}
    signed(figure, products, most, hover, "PE(p)·PE(q)", **positive)
    column = q or 0
    frame = {"type": "rect", "xref": "x", "yref": "y domain", "x0": column - 0.5, "x1": column + 0.5, "y0": 0, "y1": 1,
             "line": {"color": INK, "width": 2}, "visible": q is not None}  # fmt: skip
    annotation = note(f"q = {column}", column, 0, INK, xref="x", yref="y domain", yanchor="bottom",
                      bgcolor=PAPER, visible=q is not None)  # fmt: skip
    figure.update_layout(
        xaxis={"title": _("position q"), **whole(len(products))},
        yaxis={"title": _("position p"), "autorange": "reversed", **whole(len(products))},
        shapes=[frame], annotations=[annotation], hovermode="closest", meta={"row": "q = {q}", "scales": scales},
    )  # fmt: skip
    say(figure, _("Dot products of encodings"), (f"{_DOT} = Σ<sub>i</sub> cos((<i>p</i> − <i>q</i>) / {_GROWING})"))
    return dressed(figure, 460)


@plotly_figure
def products_by_offset(
    offsets: np.ndarray, mean: np.ndarray, row: np.ndarray | None = None, q: int = 0, half: float | None = None
) -> Drawing:
    """Products against p - q.

    offsets, mean: [2 * positions - 1]; row: the products of one q with every p, [position], as rings or, above RINGS of
    them, as a dotted line: where products depend on p - q only, it lies on the other; half: d_model / 2, a line across.
    Shapes: half.
    """
    figure = Drawing()
    figure.add_scatter(
        x=np.asarray(offsets), y=np.asarray(mean, np.float32), mode="lines", name=_("mean over pairs"),
        line={"color": TEAL, "width": 3}, hovertemplate="%{y:.3f}",
    )  # fmt: skip
    points = np.zeros(0, np.float32) if row is None else np.asarray(row, np.float32)
    figure.add_scatter(
        x=np.arange(len(points)) - q, y=points, name=f"q = {q}", visible=row is not None,
        mode="lines" if len(points) > RINGS else "markers", line={"color": INK, "width": 3, "dash": "dot"},
        marker={"color": INK, "size": 7, "symbol": "circle-open", "line": {"width": 2}},
        hovertemplate="%{y:.3f}",
    )  # fmt: skip
    end, top = int(np.abs(offsets).max()), half or 0.0
    middle = "<i>d</i><sub>model</sub> / 2 = {half}"
    annotation = note(middle.format(half=f"{top:g}"), 1, top, GREY, xanchor="right", yanchor="bottom",
                 visible=half is not None)  # fmt: skip
    figure.update_layout(
        xaxis={"title": "p − q", "range": [-end - 0.5, end + 0.5], **whole(2 * end + 1)},
        yaxis={"title": "PE(p)·PE(q)"},
        shapes=[{**across("y", top, GREY), "visible": half is not None}], annotations=[annotation],
        meta={"row": "q = {q}", "half": middle},
    )  # fmt: skip
    subtitle = _("PE(<i>p</i>)·PE(<i>q</i>): mean over the pairs with equal <i>p</i> − <i>q</i>")
    say(figure, _("Dot products against p − q"), subtitle)
    return dressed(figure, 380)


@plotly_figure
def shift_matrix(matrix: np.ndarray, k: int) -> Drawing:
    """M_k [d_model, d_model], of which the first SHOWN dimensions are drawn, as the title says."""
    figure, shown, d_model = Drawing(), matrix[:SHOWN, :SHOWN], len(matrix)
    into, of = _("dimension of PE(p + k)"), _("dimension of PE(p)")
    hover = f"{into} %{{y}}<br>{of} %{{x}}<br><i>M</i><sub>k</sub> %{{z:.4f}}"
    signed(figure, shown, 1, hover, "<i>M</i><sub>k</sub>")
    figure.update_layout(
        xaxis={"title": of, **whole(len(shown))},
        yaxis={"title": into, "autorange": "reversed", **whole(len(shown))}, hovermode="closest",
    )  # fmt: skip
    title = _("The map <i>M</i><sub>k</sub> for k = {k}: dimensions 0 to {last} of {d_model}")
    subtitle = _(
        "blocks with rows (cos <i>ωk</i>, sin <i>ωk</i>) and (−sin <i>ωk</i>, cos <i>ωk</i>), <i>ω</i> = "
        "10000<sup>−2<i>i</i>/<i>d</i><sub>model</sub></sup>"
    )
    say(figure, title, subtitle, k=k, last=len(shown) - 1, d_model=d_model)
    return dressed(figure, 420)


def two_tables(
    left: np.ndarray,
    right: np.ndarray,
    names: tuple[str, str],
    axes: tuple[str, str],
    most: float,
    hover: str,
    bar: str,
) -> Drawing:
    """Two heatmaps of one size side by side, with shared rows and scale and their names above. axes: titles of x and y.

    Annotations: the names.
    """
    figure, (rows, columns), top = Drawing(), left.shape, 0.89  # top of the plot, below the names
    for index, (z, name) in enumerate(zip((left, right), names, strict=True)):
        end = {"xaxis": "x2", "yaxis": "y2"} if index else {"showscale": False}
        placement = {"len": top, "y": 0, "yanchor": "bottom"}
        signed(figure, z, most, f"{name}<br>{hover}", bar, name=name, bar=placement, **end)
    across_, down = whole(columns), {"domain": [0, top], "autorange": "reversed", **whole(rows)}
    figure.update_layout(
        xaxis={"domain": [0, 0.48], "title": axes[0], **across_},
        xaxis2={"domain": [0.52, 1], "anchor": "y2", "matches": "x", "title": axes[0], **across_},
        yaxis={"title": axes[1], **down},
        yaxis2={"anchor": "x2", "matches": "y", "showticklabels": False, **down},
        annotations=[
            note(f"<b>{name}</b>", 0, 1, INK, xref=f"x{end} domain", yref="paper", xanchor="left", yanchor="top")
            for name, end in zip(names, ("", "2"), strict=True)
        ],
        hovermode="closest",
    )
    return figure


@plotly_figure
def shifted_beside(there: np.ndarray, mapped: np.ndarray, k: int) -> Drawing:
    """PE(p + k) from the table beside M_k PE(p), both [position, dimension]; of each only the first SHOWN are drawn."""
    left, right = (np.asarray(part)[:SHOWN, :SHOWN] for part in (there, mapped))
    hover = f"{_('position p')} %{{y}}<br>{_('dimension')} %{{x}}<br>%{{z:.4f}}"
    names, axes = ("PE(<i>p</i> + <i>k</i>)", "<i>M</i><sub>k</sub> PE(<i>p</i>)"), (_("dimension"), _("position p"))
    figure = two_tables(left, right, names, axes, 1, hover, "PE")
    title = _("Shifted by k = {k}: dimensions 0 to {last} of {d_model}")
    subtitle = "PE(<i>p</i> + <i>k</i>) = <i>M</i><sub>k</sub> PE(<i>p</i>)"
    say(figure, title, subtitle, k=k, last=left.shape[1] - 1, d_model=len(there[0]))
    return dressed(figure, 420)
