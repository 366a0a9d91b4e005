"""Single neurons of section 3.3: the strongest of a token, what one writes, and those that never fire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.figures.feedforward import COLOURS, function, upright
from transformer.figures.style import BLUE, GREY, ORANGE, dressed, label_axis, plain, titled

LABELS = {
    "encoder": "encoder",
    "decoder": "decoder",
    "layers": "{stack} layer",
    "neuron": "neuron",
    "neuron_hover": "neuron %{y}<br>%{x:.3f}",
    "activation": "Strongest activation",
    "activation_axis": "activation",
    "activation_equation": "<i>a<sub>i</sub></i> = {function}, in equation 2",
    "contribution": "Largest contribution",
    "contribution_axis": "length added",
    "contribution_equation": "|<i>a<sub>i</sub></i>| ‖<i>w<sub>i</sub></i>‖, row <i>w<sub>i</sub></i> of W<sub>2</sub> "
    "in equation 2",
    "vocabulary": "What the output of neuron {neuron} points to",
    "vocabulary_axis": "score s",
    "vocabulary_equation": "<i>s</i> = E<i>w<sub>i</sub></i>, row <i>w<sub>i</sub></i> of W<sub>2</sub> in equation 2",
    "vocabulary_hover": "%{customdata[0]}<br>s %{x:.3f}<br>%{customdata[1]:+.1f} standard deviations from the mean",
    "piece": "word piece",
    "silent": "Neurons that never fire, and that always fire",
    "silent_axis": "neurons of {count}",
    "silent_equation": "active: <i>a<sub>i</sub></i> &gt; {threshold}, <i>a</i> of equation 2; {tokens}",
    "silent_hover": "layer %{x}<br>%{y:,} neurons",
    "never": "never",
    "always": "always",
}  # fmt: skip


def strongest(
    neurons: Sequence[int],
    values: np.ndarray,
    stack: str,
    by: str = "activation",
    chosen: int | None = None,
    kind: str = "relu",
    texts: Mapping[str, str] = LABELS,
    theme: str = "light",
) -> go.Figure:
    """Bars of the neurons that lead at a token, the first on top; by: "activation" or "contribution".

    neurons, chosen: counted from 0, shown from 1; values: [neuron].
    """
    figure = go.Figure()
    opacity = [1.0 if chosen in (None, one) else 0.5 for one in neurons]
    figure.add_bar(x=values, y=np.arange(len(neurons)), orientation="h", name=texts[f"{by}_axis"],
                   marker={"color": COLOURS[stack][theme], "opacity": opacity}, texttemplate="%{x:.2f}",
                   textposition="outside", cliponaxis=False,
                   hovertemplate=texts["neuron_hover"] + "<extra></extra>")  # fmt: skip
    low, high = min(0.0, float(np.min(values, initial=0))), max(0.0, float(np.max(values, initial=0))) or 1.0
    figure.update_layout(
        hovermode="closest",
        bargap=0.25,
        xaxis={"title": texts[f"{by}_axis"], "range": [low * 1.2, high * 1.2], "nticks": 6},
        yaxis={"title": texts["neuron"], "range": [len(neurons) - 0.5, -0.5], "showgrid": False},
    )
    label_axis(figure, "y", [str(one + 1) for one in neurons])
    inner = function(kind, "<i>x</i>·<i>k<sub>i</sub></i> + <i>b<sub>i</sub></i>")
    titled(figure, texts[by], texts[f"{by}_equation"].format(function=inner))
    return dressed(figure, theme, 72 + 27 * max(3, len(neurons)))


def vocabulary(
    labels: Sequence[str],
    pieces: Sequence[str],
    scores: np.ndarray,
    deviations: np.ndarray,
    neuron: int,
    texts: Mapping[str, str] = LABELS,
    theme: str = "light",
) -> go.Figure:
    """Bars of the pieces a neuron promotes most, first, and suppresses most, last.

    labels: as people read them; pieces: with the piece mark; scores: E w_i; deviations: how many standard deviations
    each lies from the mean over the vocabulary; all [piece]. neuron counts from 0.
    """
    figure = go.Figure()
    colours = [(BLUE if score > 0 else ORANGE)[theme] for score in scores]
    about = [[plain(piece), float(deviation)] for piece, deviation in zip(pieces, deviations, strict=True)]
    figure.add_bar(x=scores, y=np.arange(len(labels)), orientation="h", marker_color=colours, customdata=about,
                   name=texts["vocabulary_axis"], texttemplate="%{x:+.2f}", textposition="outside", cliponaxis=False,
                   hovertemplate=texts["vocabulary_hover"] + "<extra></extra>")  # fmt: skip
    reach = float(np.abs(scores).max()) * 1.45 or 1.0
    figure.update_layout(
        hovermode="closest",
        bargap=0.25,
        shapes=[upright(GREY[theme])],
        xaxis={"title": texts["vocabulary_axis"], "range": [-reach, reach], "nticks": 7},
        yaxis={"title": texts["piece"], "range": [len(labels) - 0.5, -0.5], "showgrid": False},
    )
    label_axis(figure, "y", labels)
    titled(figure, texts["vocabulary"].format(neuron=f"{neuron + 1:,}"), texts["vocabulary_equation"])
    return dressed(figure, theme, 72 + 25 * len(labels))


def silent(
    never: Mapping[str, np.ndarray],
    always: Mapping[str, np.ndarray],
    neurons: int,
    threshold: float,
    tokens: str = "",
    texts: Mapping[str, str] = LABELS,
    theme: str = "light",
) -> go.Figure:
    """Per layer, how many neurons never and how many always fire over many sentences; "encoder" and "decoder" ->
    [layer], whole numbers. neurons: d_ff; tokens: over what, in words, for below the title."""
    figure = go.Figure()
    most = max(int(one.max()) for side in (never, always) for one in side.values())
    for number, stack in enumerate(COLOURS):
        for name, counts, pattern in (("never", never[stack], ""), ("always", always[stack], "/")):
            figure.add_bar(x=np.arange(1, len(counts) + 1), y=counts, name=f"{texts[stack]}, {texts[name]}",
                           marker={"color": COLOURS[stack][theme], "pattern": {"shape": pattern, "fillmode": "replace"},
                                   "line": {"color": COLOURS[stack][theme], "width": 1.5}},
                           text=[f"{one:,}" if one else "" for one in counts.tolist()], textposition="outside",
                           textangle=0, cliponaxis=False, constraintext="none",
                           offsetgroup=name, hovertemplate=texts["silent_hover"] + "<extra>%{fullData.name}</extra>",
                           xaxis=f"x{number + 1}", yaxis=f"y{number + 1}")  # fmt: skip
        figure.update_layout({
            f"xaxis{number + 1}": {"domain": [0.51, 1] if number else [0, 0.49], "anchor": f"y{number + 1}", "dtick": 1,
                                   "title": texts["layers"].format(stack=texts[stack]), "showgrid": False},
            f"yaxis{number + 1}": {"anchor": f"x{number + 1}", "range": [0, max(most * 1.15, 4)],
                                   "showticklabels": not number,
                                   "title": "" if number else texts["silent_axis"].format(count=f"{neurons:,}")},
        })  # fmt: skip
    figure.update_layout(hovermode="closest", barmode="group", bargap=0.3)
    titled(figure, texts["silent"], texts["silent_equation"].format(threshold=f"{threshold:.2f}", tokens=plain(tokens)))
    return dressed(figure, theme, 330)
