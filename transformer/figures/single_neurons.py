"""Figures of single neurons (section 3.3): the strongest ones of a token, what a neuron writes, and those that never
fire."""

from collections.abc import Mapping, Sequence

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.feedforward import COLOURS, function, stack_name, vertical_line
from transformer.figures.output import with_table
from transformer.figures.style import GREY, INK, PAPER, dressed, label_axis, nth, plain, short, titled
from transformer.texts import _


def signed(value: float, digits: int) -> str:
    """A number with its sign; the minus is as long as the plus."""
    return f"{value:+.{digits}f}".replace("-", "−")


@plotly_figure
def strongest(
    neurons: Sequence[int],
    activation: np.ndarray,
    contribution: np.ndarray,
    stack: str,
    token: str,
    chosen: int | None = None,
    kind: str = "relu",
    gated: bool = False,
    biases: bool = True,
) -> Drawing:
    """The strongest neurons at a token, the first on the left: a bar for the activation, a mark for the length added.

    neurons, chosen: counted from 0, shown from 1; activation: a_i; contribution: |a_i| |w_i|; both [neuron]; token: its
    label, with markup escaped.
    """
    figure = Drawing()
    indices, shown = np.arange(len(neurons)), [f"{neuron + 1:,}" for neuron in neurons]
    opacity = [1.0 if chosen == neuron or chosen not in neurons else 0.45 for neuron in neurons]
    hover = _("neuron %{customdata}<br>%{fullData.name} %{y:.3f}") + "<extra></extra>"
    figure.add_bar(x=indices, y=activation, name=_("activation"), customdata=shown,
                   marker={"color": COLOURS[stack], "opacity": opacity}, hovertemplate=hover)  # fmt: skip
    figure.add_scatter(x=indices, y=contribution, mode="markers", name=_("length added"), customdata=shown,
                       marker={"symbol": "diamond", "size": 12, "color": INK,
                               "line": {"width": 2, "color": PAPER}}, hovertemplate=hover)  # fmt: skip
    low = min(0.0, float(np.min(activation, initial=0)))
    high = float(np.max((activation, contribution), initial=0)) or 1.0
    figure.update_layout(
        hovermode="closest",
        bargap=0.25,
        xaxis={"title": _("neuron"), "range": [-0.6, len(neurons) - 0.4], "showgrid": False},
        yaxis={"title": _("activation, length"), "range": [low * 1.12, high * 1.12], "nticks": 5},
    )
    label_axis(figure, "x", shown)
    bias, gate = " + <i>b<sub>i</sub></i>" if biases else "", " · <i>x</i>·<i>v<sub>i</sub></i>" if gated else ""
    inner = function(kind, f"<i>x</i>·<i>k<sub>i</sub></i>{bias}") + gate
    subtitle = _(
        "bar: <i>a<sub>i</sub></i> = {function}; mark: |<i>a<sub>i</sub></i>| ‖<i>w<sub>i</sub></i>‖, row "
        "<i>w<sub>i</sub></i> of W<sub>2</sub> in equation 2",
        function=inner,
    )
    titled(figure, _("Strongest neurons at “{token}”", token=short(token)), subtitle)
    return dressed(figure, 250).update_layout(legend={"y": 1.02, "yanchor": "bottom"})


@plotly_figure
def vocabulary(
    labels: Sequence[str],
    pieces: Sequence[str],
    scores: np.ndarray,
    deviations: np.ndarray,
    neuron: int,
    stack: str,
    tied: bool = True,
) -> Drawing:
    """Bars of the pieces a neuron promotes most, in its stack's colour, and then of those it suppresses most, in ink.

    labels: of the pieces as text; pieces: with the piece mark; scores: E w_i; deviations: how many standard deviations
    each is from the mean over the vocabulary; all [piece]. neuron counts from 0; tied: as in `with_table`.
    """
    figure = Drawing()
    colours = [COLOURS[stack] if score > 0 else INK for score in scores]
    numbers = zip(pieces, scores.tolist(), deviations.tolist(), strict=True)
    about = [[plain(piece), signed(score, 3), signed(deviation, 1)] for piece, score, deviation in numbers]
    figure.add_bar(x=scores, y=np.arange(len(labels)), orientation="h", marker={"color": colours}, customdata=about,
                   name=_("score s"), text=[signed(score, 2) for score in scores.tolist()],
                   textposition="outside", cliponaxis=False,
                   hovertemplate=_(
                       "%{customdata[0]}<br>s %{customdata[1]}<br>%{customdata[2]} standard deviations from the mean"
                   ) + "<extra></extra>")  # fmt: skip
    reach = float(np.abs(scores).max()) * 1.45 or 1.0
    figure.update_layout(
        hovermode="closest",
        bargap=0.25,
        shapes=[vertical_line(GREY)],
        xaxis={"title": _("score s"), "range": [-reach, reach], "nticks": 7},
        yaxis={
            "title": {"text": _("word piece"), "standoff": 12},
            "range": [len(labels) - 0.5, -0.5],
            "showgrid": False,
        },
    )
    label_axis(figure, "y", labels)
    subtitle = with_table(
        _("<i>s</i> = E<i>w<sub>i</sub></i>, row <i>w<sub>i</sub></i> of W<sub>2</sub> in equation 2"), tied, False
    )
    titled(figure, _("What the output of neuron {neuron} points to", neuron=f"{neuron + 1:,}"), subtitle)
    return dressed(figure, 72 + 22 * len(labels))


@plotly_figure
def silent(
    never: Mapping[str, np.ndarray], always: Mapping[str, np.ndarray], neurons: int, threshold: float, tokens: str = ""
) -> Drawing:
    """For each layer, how many neurons never and how many always fire over many sentences; "encoder" and "decoder" ->
    [layer], whole numbers. neurons: d_ff; tokens: what was counted, in words, for the subtitle."""
    figure = Drawing()
    most = max(int(counts.max()) for side in (never, always) for counts in side.values())
    for index, stack in enumerate(COLOURS):
        for name, counts, pattern in ((_("never"), never[stack], ""), (_("always"), always[stack], "/")):
            figure.add_bar(x=np.arange(1, len(counts) + 1), y=counts, name=f"{stack_name(stack)}, {name}",
                           marker={"color": COLOURS[stack], "pattern": {"shape": pattern, "fillmode": "replace"},
                                   "line": {"color": COLOURS[stack], "width": 1.5}},
                           text=[f"{count:,}" if count else "" for count in counts.tolist()], textposition="outside",
                           textangle=0, cliponaxis=False, constraintext="none",
                           offsetgroup="always" if pattern else "never",
                           hovertemplate=_("layer %{x}<br>%{y:,} neurons") + "<extra>%{fullData.name}</extra>",
                           xaxis=nth("x", index + 1), yaxis=nth("y", index + 1))  # fmt: skip
        figure.update_layout(**{
            nth("xaxis", index + 1): {
                "domain": [0.51, 1] if index else [0, 0.49], "anchor": nth("y", index + 1), "dtick": 1,
                "title": _("{stack} layer", stack=stack_name(stack)), "showgrid": False,
            },
            nth("yaxis", index + 1): {
                "anchor": nth("x", index + 1), "range": [0, max(most * 1.15, 4)], "showticklabels": not index,
                "title": "" if index else _("neurons of {count}", count=f"{neurons:,}"),
            },
        })  # fmt: skip
    figure.update_layout(hovermode="closest", barmode="group", bargap=0.3)
    subtitle = _(
        "active: <i>a<sub>i</sub></i> &gt; {threshold}, <i>a</i> of equation 2; {tokens}",
        threshold=f"{threshold:.2f}",
        tokens=plain(tokens),
    )
    titled(figure, _("Neurons that never fire, and that always fire"), subtitle)
    return dressed(figure, 330)
