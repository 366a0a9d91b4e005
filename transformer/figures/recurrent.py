"""The attention map of a recurrent model, cross-attention of a Transformer drawn in the same way, and what models with
and without attention can do with inputs of growing length."""

from collections.abc import Mapping, Sequence

import numpy as np

from transformer.figures.drawing import Drawing, drawing, plotly_figure
from transformer.figures.style import BLUE, GREY, ORANGE, PURPLE, TEAL, dressed, label_axis, plain, ramp, titled
from transformer.texts import _

ROW, LEAST, MOST = 26, 150, 560  # pixels: a row, and all rows at least and at most
MARKED = 26  # rows up to which the right letter is framed


@plotly_figure
def attention_map(
    weights: np.ndarray,
    written: Sequence[str],
    read: Sequence[str],
    expected: Sequence[tuple[int, int]],
    title: str,
    equation: str,
    rows: int = 0,
) -> Drawing:
    """Weights from 0, the ground, to 1, full purple: two of these figures can be compared cell by cell.

    weights: [target, source]; written, read: the tokens of both axes; expected: (row, column) of the right letters,
    framed where there are few enough rows. title, equation: in plotly's markup; rows: of the higher of two maps
    that stand side by side.
    """
    values = np.asarray(weights, np.float32)
    figure = Drawing()
    hover = f"{_('letter written')} %{{customdata[0]}}<br>{_('letter read')} %{{customdata[1]}}<br>"
    figure.add_heatmap(
        z=values, zmin=0, zmax=1, colorscale=ramp(PURPLE), showscale=False, xgap=1, ygap=1,
        customdata=[[[plain(row), plain(column)] for column in read] for row in written],
        hovertemplate=f"{hover}{_('weight')} %{{z:.4f}}<extra></extra>",
    )  # fmt: skip
    if max(rows, len(written)) <= MARKED:
        for row, column in expected:
            figure.add_shape(
                type="rect", x0=column - 0.5, x1=column + 0.5, y0=row - 0.5, y1=row + 0.5,
                line={"color": GREY, "width": 2},
            )  # fmt: skip
    figure.update_layout(
        hovermode="closest",
        xaxis={"title": _("letter read"), "showgrid": False, "tickangle": 0},
        yaxis={"title": _("letter written"), "showgrid": False, "autorange": "reversed"},
    )
    label_axis(label_axis(figure, "y", written, 32), "x", read, 32)
    titled(figure, title, equation)
    return dressed(figure, 66 + max(LEAST, min(MOST, ROW * max(rows, len(written)))))


@plotly_figure
def additive_map(
    weights: np.ndarray, written: Sequence[str], read: Sequence[str], expected: Sequence[tuple[int, int]], rows: int = 0
) -> Drawing:
    """The recurrent model's weights alpha, [target, source] (Bahdanau et al. 2015, equation 6)."""
    equation = (
        "α<sub>ij</sub> = softmax<sub>j</sub> v<sub>a</sub><sup>⊤</sup> tanh(W<sub>a</sub> s<sub>i−1</sub> + "
        "U<sub>a</sub> h<sub>j</sub>)"
    )
    title = plain(_("Recurrent: its only attention map"))
    return drawing(attention_map)(weights, written, read, expected, title, equation, rows)


@plotly_figure
def cross_map(
    weights: np.ndarray,
    written: Sequence[str],
    read: Sequence[str],
    expected: Sequence[tuple[int, int]],
    d_k: int,
    head: tuple[int, int] | None = None,
    rows: int = 0,
) -> Drawing:
    """Cross-attention, [layer, head, target, source]: of one head, (layer, head) from 0, or the mean of all."""
    values = np.asarray(weights, np.float32)
    if head is None:
        title = _("Transformer: cross-attention, mean of all {heads} heads", heads=values.shape[0] * values.shape[1])
        shown = values.mean((0, 1))
        equation = _("mean over layers and heads of softmax(Q K<sup>⊤</sup> / √d<sub>k</sub>)")
    else:
        title = _("Transformer: cross-attention, layer {layer}, head {head}", layer=head[0] + 1, head=head[1] + 1)
        shown, equation = values[head], f"softmax(Q K<sup>⊤</sup> / √d<sub>k</sub>), d<sub>k</sub> = {d_k}"
    return drawing(attention_map)(shown, written, read, expected, plain(title), equation, rows)


@plotly_figure
def exact_by_length(
    lengths: Sequence[int], shares: Mapping[str, Sequence[Sequence[float]]], trained: int, inputs: int
) -> Drawing:
    """shares: "no-attention", "attention", "transformer" -> for each seed the share of `inputs` inputs of each length
    whose whole output is right. trained: length of the longest training input."""
    figure = Drawing()
    looks = {
        "no-attention": (_("recurrent, no attention"), ORANGE, "diamond"),
        "attention": (_("recurrent, attention"), BLUE, "square"),
        "transformer": (_("Transformer"), TEAL, "circle"),
    }
    for kind, runs in shares.items():
        name, colour, symbol = looks[kind]
        mean = [sum(values) / len(values) for values in zip(*runs, strict=True)]
        for number, run in enumerate((mean, *runs)):
            figure.add_scatter(
                x=list(lengths), y=list(run), name=plain(name), legendgroup=kind, showlegend=number == 0,
                mode="lines" if number else "lines+markers", opacity=0.35 if number else 1,
                line={"color": colour, "width": 1.5 if number else 3}, marker={"symbol": symbol, "size": 9},
            )  # fmt: skip
    figure.add_scatter(
        x=[trained, trained], y=[0, 1], name=plain(_("longest in training")), mode="lines", hoverinfo="skip",
        line={"color": GREY, "dash": "dot", "width": 2},
    )  # fmt: skip
    figure.update_layout(
        xaxis={"title": _("letters of the input"), "tickvals": list(lengths)},
        yaxis={"title": _("share"), "range": [-0.03, 1.05], "tickformat": ".0%"},
    )
    seeds = len(next(iter(shares.values())))
    subtitle = _(
        "share of {inputs} unseen inputs of each length; thick: mean of {seeds} seeds",
        inputs=inputs,
        seeds=seeds,
    )
    return dressed(titled(figure, _("Inputs written without an error"), subtitle), 340)
