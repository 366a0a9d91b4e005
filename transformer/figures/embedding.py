"""Embeddings (section 3.4): lengths beside the positions, neighbours, and the tokens in a plane."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import (
    BLUE,
    GREY,
    INK,
    LONGEST_LABEL,
    ORANGE,
    SIZE,
    TEAL,
    dressed,
    label_axis,
    plain,
    short,
    slider,
    titled,
)
from transformer.texts import _

SIDE = {"source": BLUE, "target": ORANGE, "encoder": BLUE, "decoder": ORANGE}
HIDDEN = "rgba(1,1,1,0)"  # colour of a label that does not fit; it stays in the figure's data
_CENTRED = "(<i>x</i> − <i>x̄</i>)"


def numbered(labels: Sequence[str]) -> list[str]:
    """ "3 · the": labels with their position, counted from 1, for hover texts, because tokens repeat and axes leave
    labels out."""
    return [f"{position} · {plain(label)}" for position, label in enumerate(labels, 1)]


def signed(value: float, digits: int) -> str:
    """A number with a real minus sign, "−0.20"; without a sign if it rounds to 0."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


@plotly_figure
def norm_figure(
    labels: Sequence[str],
    row: np.ndarray,
    scaled: np.ndarray,
    positions: np.ndarray,
    side: str,
    most: float | None = None,
    factor: bool = True,
) -> Drawing:
    """Length of every token's embedding, without and with the factor sqrt(d_model), and of its position encoding.

    labels: the tokens; row, scaled, positions: [token]; side: "source" or "target"; most: the largest length on the
    axis, so that two figures can be compared; factor: whether the model multiplies its embeddings by sqrt(d_model).
    """
    colour = SIDE[side]
    x, names = np.arange(len(labels)), numbered(labels)
    first, last = "%{customdata}<br>", " %{y:.3f}<extra></extra>"
    figure = Drawing()
    alone = _("embedding E(<i>t</i>), factor off") if factor else _("embedding E(<i>t</i>), as this model adds it")
    root = "√<i>d</i><sub>model</sub> · E(<i>t</i>)"
    multiplied = root if factor else _("√<i>d</i><sub>model</sub> · E(<i>t</i>), with the paper's factor")
    encoding = _("position encoding PE(<i>p</i>)")
    for name, values, opacity, width in ((multiplied, scaled, 0.38, 0.72), (alone, row, 1.0, 0.36)):
        figure.add_bar(
            x=x, y=np.asarray(values, np.float32), name=name, customdata=names, width=width, opacity=opacity,
            marker={"color": colour}, hovertemplate=first + name + last,
        )  # fmt: skip
    figure.add_scatter(
        x=x, y=np.asarray(positions, np.float32), name=encoding, customdata=names, mode="lines+markers",
        line={"color": TEAL, "width": 2.5}, marker={"color": TEAL, "size": 8, "symbol": "diamond"},
        hovertemplate=first + encoding + last,
    )  # fmt: skip
    figure.update_layout(
        barmode="overlay", hovermode="closest", yaxis={"title": _("length ‖·‖"), "rangemode": "tozero"},
    )  # fmt: skip
    if most is not None:
        figure.update_layout(yaxis={"range": [0, 1.05 * most]})
    subtitle = f"<i>x</i><sub>p</sub> = {root if factor else 'E(<i>t</i>)'} + PE(<i>p</i>)"
    name = _("source") if side == "source" else _("target")
    titled(label_axis(figure, "x", labels), _("What is added at the input: {side}", side=name), subtitle)
    return dressed(figure, 380).update_layout(legend={"y": 1.02, "yanchor": "bottom"})


@plotly_figure
def neighbour_bars(token: str, labels: Sequence[str], cosines: np.ndarray | Sequence[float]) -> Drawing:
    """Cosines of a token's nearest neighbours, the nearest on top. labels: the neighbours; cosines: of each."""
    values = np.asarray(cosines, np.float32)
    figure = Drawing()
    figure.add_bar(
        x=values, y=np.arange(len(labels)), orientation="h", marker={"color": TEAL},
        text=[signed(cosine, 2) for cosine in values], textposition="outside", cliponaxis=False,
        customdata=[signed(cosine, 4) for cosine in values],
        hovertemplate=f"%{{y}}<br>{_('cosine')} %{{customdata}}<extra></extra>",
    )  # fmt: skip
    low = min(0.0, float(values.min(initial=0.0)) * 1.15)
    figure.update_layout(
        hovermode="closest", showlegend=False, bargap=0.3, yaxis={"autorange": "reversed"},
        xaxis={"title": _("cosine"), "range": [low, max(0.1, float(values.max(initial=0.0))) * 1.15]},
    )  # fmt: skip
    label_axis(figure, "y", labels)
    subtitle = "cos(<i>t</i>, <i>u</i>) = E(<i>t</i>)·E(<i>u</i>) / (‖E(<i>t</i>)‖ ‖E(<i>u</i>)‖)"
    titled(figure, _("Nearest to {token}", token=short(token)), subtitle)
    return dressed(figure, 80 + 27 * max(3, len(labels)))


# Sides of a point for its label, best first: name, and the middle of the label in widths and heights from the point.
LABEL_SIDES = (
    ("top center", 0.0, 1.0), ("bottom center", 0.0, -1.0), ("middle right", 0.62, 0.0), ("middle left", -0.62, 0.0),
    ("top right", 0.55, 0.8), ("top left", -0.55, 0.8), ("bottom right", 0.55, -0.8), ("bottom left", -0.55, -0.8),
)  # fmt: skip


def _beside(points: np.ndarray, labels: Sequence[str], unit: float, size: float) -> list[tuple[str, bool]]:
    """Where each label stands, by a name of LABEL_SIDES, and whether it fits there.

    points: [token, 2]; unit: length of a pixel on the axes; size: of the font in pixels, from which widths are
    estimated. Labels are placed one after the other, those far from other points first; a label fits if it covers no
    other label and no point, or with few tokens at most one point.
    """
    x, y = points.T / unit
    gaps = np.hypot(x[:, None] - x, y[:, None] - y) + np.where(np.eye(len(x)), np.inf, 0)
    height, tolerated = 1.25 * size, int(len(x) <= FEW)
    placed: list[tuple[float, float, float]] = []  # middle and half width of the labels placed so far
    chosen = [(LABEL_SIDES[0][0], False)] * len(labels)
    for index in np.argsort(-gaps.min(1), kind="stable"):
        width = 0.27 * size * max(2, len(labels[index]))
        costs: list[tuple[int, int, str, tuple[float, float], bool]] = []
        for name, right, up in LABEL_SIDES:
            anchor = (x[index] + right * (2 * width + 14), y[index] + up * height)
            labelled = sum(abs(anchor[0] - a) < width + w and abs(anchor[1] - b) < height for a, b, w in placed)
            dots = (np.abs(x - anchor[0]) < width + 5) & (np.abs(y - anchor[1]) < height / 2 + 5)
            covered = int(dots.sum() - dots[index])
            costs.append((2 * labelled + covered, len(costs), name, anchor, not labelled and covered <= tolerated))
        _, _, name, anchor, fits = min(costs)
        chosen[index] = (name, fits)
        if fits:
            placed.append((*anchor, width))
    return chosen


PLANE_PIXELS = (560, 450)  # about the pixels of the plane on a page, for which labels are placed
FEW = 20  # tokens
LEAST = 0.75  # the shorter side of the plane has at least this share of the longer one


def _bounds(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest coordinate of the plane, [2] each: the points of all frames and some space for labels."""
    flat = points.reshape(-1, 2)
    low, high = flat.min(0), flat.max(0)
    span = np.maximum(high - low, max(LEAST * float((high - low).max()), 1e-3))
    return (low + high - 1.16 * span) / 2, (low + high + 1.16 * span) / 2


@plotly_figure
def token_map(
    labels: Sequence[str], points: np.ndarray, frame_names: Sequence[str], stack: str, grow: float = 1.0
) -> Drawing:
    """The tokens in a plane: one frame per layer with the path from the layer before, and a slider over the frames.

    labels: of the tokens, [token]; points: [frame, token, 2]; frame_names: all different; stack: "encoder" or
    "decoder"; grow: how much larger than SIZE the page draws text. The axes are the same in all frames and have the
    same unit. A label that does not fit is only in the hover text.
    """
    points = np.asarray(points, np.float32)
    colour, count = SIDE[stack], len(labels)
    trails = np.full((len(points), 3 * count, 2), np.nan, np.float32)
    trails[1:, 0::3], trails[1:, 1::3] = points[:-1], points[1:]
    low, high = _bounds(points)
    unit = float(((high - low) / PLANE_PIXELS).max())
    names, hover = [short(label) for label in labels], numbered(labels)

    def traces(frame: int) -> list[dict[str, Any]]:
        trail, dots = trails[frame], points[frame]
        beside = _beside(dots, [label[:LONGEST_LABEL] for label in labels], unit, SIZE * grow)
        return [
            {"x": trail[:, 0], "y": trail[:, 1]},
            {
                "x": dots[:, 0], "y": dots[:, 1], "textposition": [where for where, _ in beside],
                "textfont": {"color": [INK if fits else HIDDEN for _, fits in beside]},
                "customdata": [[token, signed(x, 2), signed(y, 2)] for token, (x, y) in zip(hover, dots, strict=True)],
            },
        ]  # fmt: skip

    figure = Drawing()
    lines, dots = traces(0)
    figure.add_scatter(
        **lines,
        mode="lines", line={"color": GREY, "width": 2, "dash": "dot"}, opacity=0.6 if count <= 40 else 0.3,
        name=_("path from the layer before"), hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        **dots,
        mode="markers+text", text=names, name=_("token"), marker={"color": colour, "size": 10}, cliponaxis=False,
        hovertemplate="%{customdata[0]}<br>%{customdata[1]}, %{customdata[2]}<extra></extra>",
    )  # fmt: skip
    for frame, name in enumerate(frame_names):
        figure.add_frame(name, [{"type": "scatter", **trace} for trace in traces(frame)])
    axes = {
        axis: {"title": title, "range": [float(low[component]), float(high[component])]}
        for component, (axis, title) in enumerate((("xaxis", _("along v₁")), ("yaxis", _("along v₂"))))
    }
    figure.update_layout(**axes, hovermode="closest", showlegend=False)
    figure.update_layout(xaxis={"constrain": "domain", "constraintoward": "left"}, yaxis={"scaleanchor": "x"})
    subtitle = f"(<i>v</i><sub>1</sub>·{_CENTRED}, <i>v</i><sub>2</sub>·{_CENTRED}) / <i>s</i>"
    titled(slider(figure, plain(_("vectors"))), _("The tokens in two dimensions"), subtitle)
    return dressed(figure, 540)
