"""Embeddings (section 3.4): lengths beside the positions, neighbours, and the tokens in a plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.figures.style import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    dressed,
    label_axis,
    plain,
    short,
    slider,
    titled,
)

SIDE = {"source": BLUE, "target": ORANGE, "encoder": BLUE, "decoder": ORANGE}
MOST_NAMED = 48  # tokens with their label in the plane; more cover one another
_CENTRED = "(<i>x</i> − <i>x̄</i>)"
LABELS = {
    "token": "token",
    "length": "length ‖·‖",
    "row": "embedding E(<i>t</i>), factor off",
    "scaled": "√<i>d</i><sub>model</sub> · E(<i>t</i>)",
    "positions": "position encoding PE(<i>p</i>)",
    "norms": "What is added at the input: {side}",
    "source": "source",
    "target": "target",
    "norms_equation": "<i>x</i><sub>p</sub> = √<i>d</i><sub>model</sub> · E(<i>t</i>) + PE(<i>p</i>)",
    "cosine": "cosine",
    "neighbours": "Nearest to {token}",
    "neighbours_equation": "cos(<i>t</i>, <i>u</i>) = E(<i>t</i>)·E(<i>u</i>) / (‖E(<i>t</i>)‖ ‖E(<i>u</i>)‖)",
    "map": "The tokens in two dimensions",
    "map_equation": f"(<i>v</i><sub>1</sub>·{_CENTRED}, <i>v</i><sub>2</sub>·{_CENTRED}) / <i>s</i>",
    "first": "along v₁",
    "second": "along v₂",
    "place": "where",
    "trail": "from the place before",
}  # fmt: skip


def _numbered(count: int) -> np.ndarray:
    """1, 2, ... as hover texts count tokens."""
    return np.arange(1, count + 1)


def norm_figure(
    labels: Sequence[str],
    row: np.ndarray,
    scaled: np.ndarray,
    positions: np.ndarray,
    side: str,
    theme: str = "light",
    texts: Mapping[str, str] = LABELS,
    most: float | None = None,
) -> go.Figure:
    """Length of every token's embedding, without the factor sqrt(d_model) and with it, and of its position encoding.

    labels: the tokens; row, scaled, positions: [token]; side: "source" or "target"; most: the longest length the axis
    has room for, so that two figures can be compared.
    """
    colour = SIDE[side][theme]
    x, count = np.arange(len(labels)), _numbered(len(labels))
    first, last = f"{texts['token']} %{{customdata}}<br>", " %{y:.3f}<extra></extra>"
    figure = go.Figure()
    for name, values, opacity, width in (("scaled", scaled, 0.38, 0.72), ("row", row, 1.0, 0.36)):
        figure.add_bar(
            x=x, y=np.asarray(values, np.float32), name=texts[name], customdata=count, width=width, opacity=opacity,
            marker={"color": colour}, hovertemplate=first + texts[name] + last,
        )  # fmt: skip
    figure.add_scatter(
        x=x, y=np.asarray(positions, np.float32), name=texts["positions"], customdata=count, mode="lines+markers",
        line={"color": PURPLE[theme], "width": 2.5}, marker={"color": PURPLE[theme], "size": 8, "symbol": "diamond"},
        hovertemplate=first + texts["positions"] + last,
    )  # fmt: skip
    figure.update_layout(
        barmode="overlay", hovermode="closest", yaxis={"title": texts["length"], "rangemode": "tozero"},
    )  # fmt: skip
    if most is not None:
        figure.update_layout(yaxis={"range": [0, 1.05 * most]})
    titled(label_axis(figure, "x", labels), texts["norms"].format(side=texts[side]), texts["norms_equation"])
    return dressed(figure, theme, 400)


def neighbour_bars(
    token: str,
    labels: Sequence[str],
    cosines: np.ndarray,
    theme: str = "light",
    texts: Mapping[str, str] = LABELS,
) -> go.Figure:
    """Cosines of a token's nearest neighbours, nearest on top. labels: the neighbours; cosines: of each."""
    values = np.asarray(cosines, np.float32)
    figure = go.Figure()
    figure.add_bar(
        x=values, y=np.arange(len(labels)), orientation="h", marker={"color": PURPLE[theme]},
        text=[f"{one:.2f}".replace("-", "−") for one in values], textposition="outside", cliponaxis=False,
        hovertemplate=f"{texts['cosine']} %{{x:.4f}}<extra></extra>",
    )  # fmt: skip
    low = min(0.0, float(values.min(initial=0.0)) * 1.15)
    figure.update_layout(
        hovermode="closest", showlegend=False, bargap=0.3, yaxis={"autorange": "reversed"},
        xaxis={"title": texts["cosine"], "range": [low, max(0.1, float(values.max(initial=0.0))) * 1.15]},
    )  # fmt: skip
    label_axis(figure, "y", labels)
    titled(figure, texts["neighbours"].format(token=short(token)), texts["neighbours_equation"])
    return dressed(figure, theme, 80 + 27 * max(3, len(labels)))


# Where a label can stand beside its point, best first: name, and the middle of the label in widths and heights from it.
PLACES = (
    ("top center", 0.0, 1.0), ("bottom center", 0.0, -1.0), ("middle right", 0.62, 0.0), ("middle left", -0.62, 0.0),
    ("top right", 0.55, 0.8), ("top left", -0.55, 0.8), ("bottom right", 0.55, -0.8), ("bottom left", -0.55, -0.8),
)  # fmt: skip


def _beside(points: np.ndarray, labels: Sequence[str], unit: float) -> list[str]:
    """Where each label stands so that it covers little of the other labels and points: one of PLACES' names each.

    points: [token, 2]; unit: how long a pixel is on the axes. One label after the other; widths are estimated.
    """
    x, y = points.T / unit
    half = [5 * max(2, len(one)) for one in labels]  # half the width of a label: letters of 16 px are 9 wide, or so
    height = 20
    placed: list[tuple[float, float, float]] = []  # middle and half the width of the labels set so far
    names = []
    for number, width in enumerate(half):
        costs = []
        for name, right, up in PLACES:
            at = (x[number] + right * (2 * width + 14), y[number] + up * height)
            labelled = sum(abs(at[0] - a) < width + w and abs(at[1] - b) < height for a, b, w in placed)
            dots = (np.abs(x - at[0]) < width + 5) & (np.abs(y - at[1]) < height / 2 + 5)
            costs.append((2 * labelled + int(dots.sum() - dots[number]), len(costs), name, at))
        best = min(costs)
        names.append(best[2])
        placed.append((*best[3], width))
    return names


def token_map(
    labels: Sequence[str],
    points: np.ndarray,
    places: Sequence[str],
    stack: str,
    theme: str = "light",
    texts: Mapping[str, str] = LABELS,
) -> go.Figure:
    """The tokens in a plane, a frame for every place with the way from the place before it, and a slider over them.

    labels: of the tokens, [token]; points: [place, token, 2]; places: names of the frames, each another; stack:
    "encoder" or "decoder". The axes stay where they are over all frames, one unit as long on both.
    """
    points = np.asarray(points, np.float32)
    colour, count = SIDE[stack][theme], len(labels)
    trails = np.full((len(points), 3 * count, 2), np.nan, np.float32)
    trails[1:, 0::3], trails[1:, 1::3] = points[:-1], points[1:]
    wide, high = (1.15 * max(float(np.abs(points[..., axis]).max(initial=0.0)), 1e-3) for axis in (0, 1))

    names, named = [short(one) for one in labels], count <= MOST_NAMED

    def traces(place: int) -> list[go.Scatter]:
        trail, dots = trails[place], points[place]
        where = _beside(dots, names, 2 * high / 400) if named else None
        return [go.Scatter(x=trail[:, 0], y=trail[:, 1]), go.Scatter(x=dots[:, 0], y=dots[:, 1], textposition=where)]

    figure = go.Figure(traces(0), frames=[go.Frame(data=traces(place), name=name) for place, name in enumerate(places)])
    figure.data[0].update(
        mode="lines", line={"color": GREY[theme], "width": 2, "dash": "dot"}, opacity=0.6, name=texts["trail"],
        hoverinfo="skip",
    )  # fmt: skip
    figure.data[1].update(
        mode="markers+text" if named else "markers", text=names, name=texts["token"],
        textfont={"size": 16, "color": INK[theme]}, marker={"color": colour, "size": 10},
        customdata=_numbered(count), cliponaxis=False,
        hovertemplate=f"%{{text}}<br>{texts['token']} %{{customdata}}<br>%{{x:.2f}}, %{{y:.2f}}<extra></extra>",
    )  # fmt: skip
    figure.update_layout(
        hovermode="closest", showlegend=False, xaxis={"title": texts["first"], "range": [-wide, wide]},
        yaxis={"title": texts["second"], "range": [-high, high], "scaleanchor": "x"},
    )  # fmt: skip
    titled(slider(figure, plain(texts["place"])), texts["map"], texts["map_equation"])
    return dressed(figure, theme, 520)
