"""What the decoder would say after every layer, what it says in the end, and the table it says it with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.figures.style import GREY, INK, ORANGE, diverging, dressed, label_axis, ramp, short, titled

MOST_RANKS = 24  # steps whose ranks can be read in a cell each
_OF = "of the last layer's likeliest token, from 0 to 1 in full orange"
LABELS = {
    "token": "token",
    "step": "step",
    "place": "after",
    "probability": "probability",
    "rank": "rank",
    "lens": "When the final token is found",
    "lens_ranks": "When the final token is found, and its rank",
    "lens_equation": f"softmax(<i>x</i> E<sup>⊤</sup>) {_OF}",
    "lens_equation_pre": f"softmax(LayerNorm(<i>x</i>) E<sup>⊤</sup>) {_OF}",
    "steps": "How sure every step is",
    "steps_equation": "<i>p</i>(<i>y</i><sub>t</sub> | <i>y</i><sub>&lt;t</sub>, source)",
    "shown": "the token shown",
    "likeliest": "the likeliest, where it is another",
    "candidates": "Candidates after {token}",
    "candidates_equation": "softmax(<i>x</i> E<sup>⊤</sup>)",
    "rows": "The row of {token}",
    "rows_equation": "input: E(<i>t</i>); output: ∂ logit<sub>t</sub> / ∂ <i>x</i>; −{most} orange, {most} blue",
    "entering": "input",
    "leaving": "output",
    "dimension": "dimension",
    "value": "value",
}


def lens_heatmap(
    probability: np.ndarray,
    rank: np.ndarray,
    places: Sequence[str],
    steps: Sequence[str],
    pre: bool = False,
    theme: str = "light",
    texts: Mapping[str, str] = LABELS,
) -> go.Figure:
    """Probability of the finally predicted token at every place, the first on top.

    Where there are at most MOST_RANKS steps, its rank stands in the cell. probability, rank: [place, step]; places,
    steps: their names; pre: the lens passes the final LayerNorm.
    """
    figure, ranks = go.Figure(), len(steps) <= MOST_RANKS
    hover = f"{texts['place']} %{{y}}<br>%{{x}} ({texts['step']} %{{customdata}})<br>"
    hover += f"{texts['probability']} %{{z:.4f}}<br>{texts['rank']} %{{text}}<extra></extra>"
    figure.add_heatmap(
        z=np.asarray(probability, np.float32), zmin=0, zmax=1, texttemplate="%{text}" if ranks else None,
        text=[[str(one) for one in row] for row in np.asarray(rank).tolist()],
        colorscale=ramp(ORANGE, theme), showscale=False, hovertemplate=hover,
        customdata=np.repeat(np.arange(1, len(steps) + 1)[None], len(places), 0),
    )  # fmt: skip
    figure.update_layout(hovermode="closest", yaxis={"autorange": "reversed"}, xaxis={"title": texts["step"]})
    label_axis(label_axis(figure, "y", places), "x", steps)
    titled(figure, texts["lens_ranks" if ranks else "lens"], texts["lens_equation_pre" if pre else "lens_equation"])
    return dressed(figure, theme, 170 + 34 * len(places))


def step_bars(
    labels: Sequence[str],
    probabilities: np.ndarray,
    likeliest: np.ndarray,
    theme: str = "light",
    texts: Mapping[str, str] = LABELS,
) -> go.Figure:
    """The probability of the token of every step, and of the likeliest one where that is another.

    labels: the tokens shown; probabilities, likeliest: [step].
    """
    shown, most = np.asarray(probabilities, np.float32), np.asarray(likeliest, np.float32)
    x, count = np.arange(len(labels)), np.arange(1, len(labels) + 1)
    first, last = f"{texts['step']} %{{customdata}}<br>", " %{y:.4f}<extra></extra>"
    figure = go.Figure()
    figure.add_bar(
        x=x, y=shown, name=texts["shown"], marker={"color": ORANGE[theme]}, customdata=count,
        hovertemplate=first + texts["probability"] + last,
    )  # fmt: skip
    other = most > shown
    if other.any():
        figure.add_scatter(
            x=x[other], y=most[other], name=texts["likeliest"], mode="markers", customdata=count[other],
            marker={"symbol": "line-ew-open", "size": 18, "color": INK[theme], "line": {"width": 3}},
            hovertemplate=first + texts["likeliest"] + last,
        )  # fmt: skip
    figure.update_layout(
        hovermode="closest", showlegend=bool(other.any()), xaxis={"title": texts["step"]},
        yaxis={"title": texts["probability"], "range": [0, 1.02]},
    )  # fmt: skip
    titled(label_axis(figure, "x", labels), texts["steps"], texts["steps_equation"])
    return dressed(figure, theme, 380)


def candidate_bars(
    fed: str,
    labels: Sequence[str],
    probabilities: np.ndarray,
    chosen: int | None = None,
    theme: str = "light",
    texts: Mapping[str, str] = LABELS,
) -> go.Figure:
    """The likeliest tokens of one step, likeliest on top.

    fed: the token the step was fed; labels, probabilities: of the candidates; chosen: which of them stands in the
    target, in the decoder's colour, None if none does.
    """
    values = np.asarray(probabilities, np.float32)
    colours = [ORANGE[theme] if place == chosen else GREY[theme] for place in range(len(labels))]
    figure = go.Figure()
    figure.add_bar(
        x=values, y=np.arange(len(labels)), orientation="h", marker={"color": colours}, cliponaxis=False,
        text=[f"{one:.3f}" if one >= 0.0005 else "&lt;.001" for one in values], textposition="outside",
        hovertemplate=f"{texts['probability']} %{{x:.5f}}<extra></extra>",
    )  # fmt: skip
    figure.update_layout(
        hovermode="closest", showlegend=False, bargap=0.3, yaxis={"autorange": "reversed"},
        xaxis={"title": texts["probability"], "range": [0, 1.15], "tickvals": [0, 0.25, 0.5, 0.75, 1]},
    )  # fmt: skip
    label_axis(figure, "y", labels)
    titled(figure, texts["candidates"].format(token=short(fed)), texts["candidates_equation"])
    return dressed(figure, theme, 80 + 30 * max(3, len(labels)))


def row_strip(
    token: str,
    entering: np.ndarray,
    leaving: np.ndarray,
    theme: str = "light",
    texts: Mapping[str, str] = LABELS,
) -> go.Figure:
    """A token's row at the input above its row at the output, a cell a dimension: [d_model] each."""
    rows = np.stack((np.asarray(entering, np.float32), np.asarray(leaving, np.float32)))
    most = max(float(np.abs(rows).max(initial=0.0)), 1e-6)
    figure = go.Figure()
    figure.add_heatmap(
        z=rows, zmid=0, zmin=-most, zmax=most, colorscale=diverging(theme), showscale=False, ygap=4,
        hovertemplate=f"%{{y}}<br>{texts['dimension']} %{{x}}<br>{texts['value']} %{{z:.5f}}<extra></extra>",
    )  # fmt: skip
    figure.update_layout(hovermode="closest", yaxis={"autorange": "reversed"}, xaxis={"title": texts["dimension"]})
    label_axis(figure, "y", (texts["entering"], texts["leaving"]))
    titled(figure, texts["rows"].format(token=short(token)), texts["rows_equation"].format(most=f"{most:.2g}"))
    return dressed(figure, theme, 210)
