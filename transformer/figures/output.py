"""Figures of the decoder's predictions: after every layer, in the end, and the table that makes them."""

from collections.abc import Sequence

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.embedding import numbered, signed
from transformer.figures.style import GREY, INK, ORANGE, diverging, dressed, label_axis, ramp, short, titled
from transformer.texts import N_, _, translate

MOST_RANKS = 20  # with more steps the ranks in the cells cannot be read
HIGHEST_RANK = 99  # highest rank written in a cell


def with_table(text: str, tied: bool, bias: bool) -> str:
    """The text for a model's output: W instead of E where the output has its own matrix (tied: it has not), and the
    bias if there is one."""
    table, added = "E" if tied else "W", " + <i>b</i>" if bias else ""
    text = text.replace("E<sup>⊤</sup>", f"{table}<sup>⊤</sup>{added}")
    return text.replace("E<i>w<sub>i</sub></i>", f"{table}<i>w<sub>i</sub></i>")


@plotly_figure
def lens_heatmap(
    probability: np.ndarray,
    rank: np.ndarray,
    row_names: Sequence[str],
    steps: Sequence[str],
    pre: bool = False,
    tied: bool = True,
    bias: bool = False,
) -> Drawing:
    """Probability of the finally predicted token after every layer, the first on top.

    Where there are at most MOST_RANKS steps, its rank up to HIGHEST_RANK stands in the cell. probability, rank:
    [layer, step]; row_names, steps: their names; pre: the lens passes the final LayerNorm; tied, bias: as in
    `with_table`.
    """
    figure, ranks = Drawing(), len(steps) <= MOST_RANKS
    rows, names = np.asarray(rank).astype(int).tolist(), numbered(steps)
    hover = f"{_('after')} %{{y}}<br>{_('step')} %{{customdata[0]}}<br>"
    hover += f"{_('probability')} %{{z:.4f}}<br>{_('rank')} %{{customdata[1]:,}}<extra></extra>"
    figure.add_heatmap(
        z=np.asarray(probability, np.float32), zmin=0, zmax=1, texttemplate="%{text}" if ranks else None,
        text=[[str(rank) if rank <= HIGHEST_RANK else "" for rank in row] for row in rows],
        colorscale=ramp(ORANGE), showscale=False, hovertemplate=hover,
        customdata=[[[name, rank] for name, rank in zip(names, row, strict=True)] for row in rows],
    )  # fmt: skip
    figure.update_layout(hovermode="closest", yaxis={"autorange": "reversed"}, xaxis={"title": _("step")})
    label_axis(label_axis(figure, "y", row_names), "x", steps)
    equation = {
        (False, False): N_("softmax(<i>x</i> E<sup>⊤</sup>) of the final token, from 0 to 1 in full orange"),
        (False, True): N_("softmax(LayerNorm(<i>x</i>) E<sup>⊤</sup>) of the final token, from 0 to 1 in full orange"),
        (True, False): N_(
            "softmax(<i>x</i> E<sup>⊤</sup>) of the final token, from 0 to 1 in full orange<br>number: rank of the "
            "final token (1 = likeliest), up to 99"
        ),
        (True, True): N_(
            "softmax(LayerNorm(<i>x</i>) E<sup>⊤</sup>) of the final token, from 0 to 1 in full orange<br>number: rank "
            "of the final token (1 = likeliest), up to 99"
        ),
    }[ranks, pre]
    titled(figure, _("When the final token is found"), with_table(translate(equation), tied, bias))
    return dressed(figure, 170 + 34 * len(row_names))


@plotly_figure
def step_bars(labels: Sequence[str], probabilities: np.ndarray, likeliest: np.ndarray) -> Drawing:
    """The probability of the token of every step, and of the likeliest token where that is another one.

    labels: the tokens shown; probabilities, likeliest: [step]. The pointer selects a bar anywhere above its step, so
    that short bars can be clicked too.
    """
    shown, most = np.asarray(probabilities, np.float32), np.asarray(likeliest, np.float32)
    x, not_likeliest = np.arange(len(labels)), most > shown
    first = f"{_('step')} %{{customdata[0]}}<br>{_('probability')} %{{y:.4f}}%{{customdata[1]}}<extra></extra>"
    likeliest_name = _("the likeliest, where it is another token")
    more = [
        f"<br>{likeliest_name} {likeliest:.4f}" if differs else ""
        for likeliest, differs in zip(most, not_likeliest, strict=True)
    ]
    figure = Drawing()
    figure.add_bar(
        x=x, y=shown, name=_("the token of the target"), marker={"color": ORANGE}, hovertemplate=first,
        customdata=[[*pair] for pair in zip(numbered(labels), more, strict=True)],
    )  # fmt: skip
    if not_likeliest.any():
        figure.add_scatter(
            x=x[not_likeliest], y=most[not_likeliest], name=likeliest_name, mode="markers",
            hoverinfo="skip", marker={"symbol": "line-ew-open", "size": 18, "color": INK, "line": {"width": 3}},
        )  # fmt: skip
    figure.update_layout(
        hovermode="x", showlegend=bool(not_likeliest.any()), xaxis={"title": _("step")},
        yaxis={"title": _("probability"), "range": [0, 1.02]},
    )  # fmt: skip
    subtitle = "<i>p</i>(<i>y</i><sub>t</sub> | <i>y</i><sub>&lt;t</sub>, source)"
    titled(label_axis(figure, "x", labels), _("How certain each step is"), subtitle)
    return dressed(figure, 380).update_layout(legend={"y": 1.02, "yanchor": "bottom"})


@plotly_figure
def candidate_bars(
    fed: str,
    labels: Sequence[str],
    probabilities: np.ndarray,
    chosen: int | None = None,
    tied: bool = True,
    bias: bool = False,
) -> Drawing:
    """The likeliest tokens of one step, the likeliest on top.

    fed: the token the step was fed; labels, probabilities: of the candidates; chosen: the one in the target, in the
    decoder's colour, None if there is none; tied, bias: as in `with_table`.
    """
    values = np.asarray(probabilities, np.float32)
    colours = [ORANGE if index == chosen else GREY for index in range(len(labels))]
    figure = Drawing()
    figure.add_bar(
        x=values, y=np.arange(len(labels)), orientation="h", marker={"color": colours}, cliponaxis=False,
        text=[f"{probability:.3f}" if probability >= 0.0005 else "&lt;.001" for probability in values],
        textposition="outside", hovertemplate=f"{_('probability')} %{{x:.5f}}<extra></extra>",
    )  # fmt: skip
    figure.update_layout(
        hovermode="closest", showlegend=False, bargap=0.3, yaxis={"autorange": "reversed"},
        xaxis={"title": _("probability"), "range": [0, 1.15], "tickvals": [0, 0.25, 0.5, 0.75, 1]},
    )  # fmt: skip
    label_axis(figure, "y", labels)
    titled(
        figure,
        _("Candidates after {token}", token=short(fed)),
        with_table("softmax(<i>x</i> E<sup>⊤</sup>)", tied, bias),
    )
    return dressed(figure, 80 + 30 * max(3, len(labels)))


@plotly_figure
def row_strip(token: str, entering: np.ndarray, leaving: np.ndarray) -> Drawing:
    """A token's row at the input above its row at the output, one cell per dimension: [d_model] each."""
    rows = np.stack((np.asarray(entering, np.float32), np.asarray(leaving, np.float32)))
    most = max(float(np.abs(rows).max(initial=0.0)), 1e-6)
    figure = Drawing()
    figure.add_heatmap(
        z=rows, zmid=0, zmin=-most, zmax=most, colorscale=diverging(), showscale=False, ygap=4,
        customdata=[[signed(value, 5) for value in row] for row in rows],
        hovertemplate=f"%{{y}}<br>{_('dimension')} %{{x}}<br>{_('value')} %{{customdata}}<extra></extra>",
    )  # fmt: skip
    figure.update_layout(hovermode="closest", yaxis={"autorange": "reversed"}, xaxis={"title": _("dimension")})
    label_axis(figure, "y", (_("input"), _("output")))
    subtitle = _(
        "input: E(<i>t</i>); output: ∂ logit<sub>t</sub> / ∂ <i>x</i>; purple up to {most}, grey down to −{most}",
        most=f"{most:.2g}",
    )
    titled(figure, _("The row of {token}", token=short(token)), subtitle)
    return dressed(figure, 210)
