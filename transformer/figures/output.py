"""Figures of the decoder's predictions: after every layer, in the end, and the table that makes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.embedding import numbered, signed
from transformer.figures.style import GREY, INK, ORANGE, Labels, diverging, dressed, label_axis, ramp, short, titled
from transformer.texts import N_

MOST_RANKS = 20  # with more steps the ranks in the cells cannot be read
HIGHEST_RANK = 99  # highest rank written in a cell
LABELS = {
    "token": N_("token"),
    "step": N_("step"),
    "place": N_("after"),
    "probability": N_("probability"),
    "rank": N_("rank"),
    "lens": N_("When the final token is found"),
    "lens_equation": N_("softmax(<i>x</i> E<sup>⊤</sup>) of the final token, from 0 to 1 in full orange"),
    "lens_equation_pre": N_(
        "softmax(LayerNorm(<i>x</i>) E<sup>⊤</sup>) of the final token, from 0 to 1 in full orange"
    ),
    "lens_equation_ranks": N_(
        "softmax(<i>x</i> E<sup>⊤</sup>) of the final token, from 0 to 1 in full orange<br>number: rank of the final "
        "token (1 = likeliest), up to 99"
    ),
    "lens_equation_ranks_pre": N_(
        "softmax(LayerNorm(<i>x</i>) E<sup>⊤</sup>) of the final token, from 0 to 1 in full orange<br>number: rank of "
        "the final token (1 = likeliest), up to 99"
    ),
    "steps": N_("How certain each step is"),
    "steps_equation": "<i>p</i>(<i>y</i><sub>t</sub> | <i>y</i><sub>&lt;t</sub>, source)",
    "shown": N_("the token of the target"),
    "likeliest": N_("the likeliest, where it is another token"),
    "candidates": N_("Candidates after {token}"),
    "candidates_equation": "softmax(<i>x</i> E<sup>⊤</sup>)",
    "rows": N_("The row of {token}"),
    "rows_equation": N_(
        "input: E(<i>t</i>); output: ∂ logit<sub>t</sub> / ∂ <i>x</i>; purple up to {most}, grey down to −{most}"
    ),
    "entering": N_("input"),
    "leaving": N_("output"),
    "dimension": N_("dimension"),
    "value": N_("value"),
}


@plotly_figure
def lens_heatmap(
    probability: np.ndarray,
    rank: np.ndarray,
    row_names: Sequence[str],
    steps: Sequence[str],
    pre: bool = False,
    *,
    theme: str = "light",
    texts: Labels = LABELS,
) -> Drawing:
    """Probability of the finally predicted token after every layer, the first on top.

    Where there are at most MOST_RANKS steps, its rank up to HIGHEST_RANK stands in the cell. probability, rank:
    [layer, step]; row_names, steps: their names; pre: the lens passes the final LayerNorm.
    """
    figure, ranks = Drawing(), len(steps) <= MOST_RANKS
    rows, names = np.asarray(rank).astype(int).tolist(), numbered(steps)
    hover = f"{texts['place']} %{{y}}<br>{texts['step']} %{{customdata[0]}}<br>"
    hover += f"{texts['probability']} %{{z:.4f}}<br>{texts['rank']} %{{customdata[1]:,}}<extra></extra>"
    figure.add_heatmap(
        z=np.asarray(probability, np.float32), zmin=0, zmax=1, texttemplate="%{text}" if ranks else None,
        text=[[str(rank) if rank <= HIGHEST_RANK else "" for rank in row] for row in rows],
        colorscale=ramp(ORANGE, theme), showscale=False, hovertemplate=hover,
        customdata=[[[name, rank] for name, rank in zip(names, row, strict=True)] for row in rows],
    )  # fmt: skip
    figure.update_layout(hovermode="closest", yaxis={"autorange": "reversed"}, xaxis={"title": texts["step"]})
    label_axis(label_axis(figure, "y", row_names), "x", steps)
    equation = "lens_equation" + ("_ranks" if ranks else "") + ("_pre" if pre else "")
    titled(figure, texts["lens"], texts[equation])
    return dressed(figure, theme, 170 + 34 * len(row_names))


@plotly_figure
def step_bars(
    labels: Sequence[str],
    probabilities: np.ndarray,
    likeliest: np.ndarray,
    *,
    theme: str = "light",
    texts: Labels = LABELS,
) -> Drawing:
    """The probability of the token of every step, and of the likeliest token where that is another one.

    labels: the tokens shown; probabilities, likeliest: [step]. The pointer selects a bar anywhere above its step, so
    that short bars can be clicked too.
    """
    shown, most = np.asarray(probabilities, np.float32), np.asarray(likeliest, np.float32)
    x, not_likeliest = np.arange(len(labels)), most > shown
    first = f"{texts['step']} %{{customdata[0]}}<br>{texts['probability']} %{{y:.4f}}%{{customdata[1]}}<extra></extra>"
    more = [
        f"<br>{texts['likeliest']} {likeliest:.4f}" if differs else ""
        for likeliest, differs in zip(most, not_likeliest, strict=True)
    ]
    figure = Drawing()
    figure.add_bar(
        x=x, y=shown, name=texts["shown"], marker={"color": ORANGE[theme]}, hovertemplate=first,
        customdata=[[*pair] for pair in zip(numbered(labels), more, strict=True)],
    )  # fmt: skip
    if not_likeliest.any():
        figure.add_scatter(
            x=x[not_likeliest], y=most[not_likeliest], name=texts["likeliest"], mode="markers",
            hoverinfo="skip", marker={"symbol": "line-ew-open", "size": 18, "color": INK[theme], "line": {"width": 3}},
        )  # fmt: skip
    figure.update_layout(
        hovermode="x", showlegend=bool(not_likeliest.any()), xaxis={"title": texts["step"]},
        yaxis={"title": texts["probability"], "range": [0, 1.02]},
    )  # fmt: skip
    titled(label_axis(figure, "x", labels), texts["steps"], texts["steps_equation"])
    dressed(figure, theme, 380)
    figure.update_layout(legend={"y": 1.02, "yanchor": "bottom"})
    return figure


@plotly_figure
def candidate_bars(
    fed: str,
    labels: Sequence[str],
    probabilities: np.ndarray,
    chosen: int | None = None,
    *,
    theme: str = "light",
    texts: Labels = LABELS,
) -> Drawing:
    """The likeliest tokens of one step, the likeliest on top.

    fed: the token the step was fed; labels, probabilities: of the candidates; chosen: the one in the target, in the
    decoder's colour, None if there is none.
    """
    values = np.asarray(probabilities, np.float32)
    colours = [ORANGE[theme] if index == chosen else GREY[theme] for index in range(len(labels))]
    figure = Drawing()
    figure.add_bar(
        x=values, y=np.arange(len(labels)), orientation="h", marker={"color": colours}, cliponaxis=False,
        text=[f"{probability:.3f}" if probability >= 0.0005 else "&lt;.001" for probability in values],
        textposition="outside", hovertemplate=f"{texts['probability']} %{{x:.5f}}<extra></extra>",
    )  # fmt: skip
    figure.update_layout(
        hovermode="closest", showlegend=False, bargap=0.3, yaxis={"autorange": "reversed"},
        xaxis={"title": texts["probability"], "range": [0, 1.15], "tickvals": [0, 0.25, 0.5, 0.75, 1]},
    )  # fmt: skip
    label_axis(figure, "y", labels)
    titled(figure, texts["candidates"].format(token=short(fed)), texts["candidates_equation"])
    return dressed(figure, theme, 80 + 30 * max(3, len(labels)))


@plotly_figure
def row_strip(
    token: str, entering: np.ndarray, leaving: np.ndarray, *, theme: str = "light", texts: Labels = LABELS
) -> Drawing:
    """A token's row at the input above its row at the output, one cell per dimension: [d_model] each."""
    rows = np.stack((np.asarray(entering, np.float32), np.asarray(leaving, np.float32)))
    most = max(float(np.abs(rows).max(initial=0.0)), 1e-6)
    figure = Drawing()
    figure.add_heatmap(
        z=rows, zmid=0, zmin=-most, zmax=most, colorscale=diverging(theme), showscale=False, ygap=4,
        customdata=[[signed(value, 5) for value in row] for row in rows],
        hovertemplate=f"%{{y}}<br>{texts['dimension']} %{{x}}<br>{texts['value']} %{{customdata}}<extra></extra>",
    )  # fmt: skip
    figure.update_layout(hovermode="closest", yaxis={"autorange": "reversed"}, xaxis={"title": texts["dimension"]})
    label_axis(figure, "y", (texts["entering"], texts["leaving"]))
    titled(figure, texts["rows"].format(token=short(token)), texts["rows_equation"].format(most=f"{most:.2g}"))
    return dressed(figure, theme, 210)
