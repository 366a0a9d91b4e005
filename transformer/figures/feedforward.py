"""Figures of section 3.3: the non-linearity, and the effect of sub-layers that are left out or switched."""

from collections.abc import Mapping, Sequence

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import (
    BLUE,
    GREY,
    GUIDE,
    INK,
    LINE,
    ORANGE,
    TEAL,
    dressed,
    label_axis,
    plain,
    ramp,
    short,
    titled,
)
from transformer.texts import N_, _, translate

COLOURS = {"encoder": BLUE, "decoder": ORANGE}
NAMES = {"relu": "ReLU", "gelu": "GELU", "swish": "swish"}


def function(kind: str, of: str = "<i>z</i>") -> str:
    """The non-linearity of a model in plotly's markup; "relu" as the paper writes it."""
    return f"max(0, {of})" if kind == "relu" else f"{NAMES[kind]}({of})"


def equation(kind: str, gated: bool = False, biases: bool = True) -> str:
    """Equation 2 in plotly's markup, with this model's non-linearity."""
    first, second = (" + b<sub>1</sub>", " + b<sub>2</sub>") if biases else ("", "")
    inner = function(kind, f"<i>x</i>W<sub>1</sub>{first}")
    inner = f"({inner} ⊙ <i>x</i>V)" if gated else inner
    formula = f"FFN(<i>x</i>) = {inner} W<sub>2</sub>{second}"
    text = {
        "relu": N_("{formula}, equation 2"),
        "gelu": N_("{formula}, equation 2 with GELU instead of max(0, ·)"),
        "swish": N_("{formula}, equation 2 with swish instead of max(0, ·)"),
    }[kind]
    return translate(text, formula=formula)


def stack_name(stack: str) -> str:
    return _("encoder") if stack == "encoder" else _("decoder")


def layer_name(stack: str, layer: int, token: str | None = None) -> str:
    """A layer in words, "encoder layer 1" for the first, with the token if there is one; its markup is escaped."""
    if token is None:
        return _("{stack} layer {layer}", stack=stack_name(stack), layer=layer + 1)
    return _("{stack} layer {layer}, token {token}", stack=stack_name(stack), layer=layer + 1, token=short(token))


def vertical_line(colour: str) -> dict[str, object]:
    """A line at 0 through the whole figure."""
    line = {"color": colour, "width": 2}
    return {"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "paper", "line": line, "layer": "below"}


@plotly_figure
def curves(
    z: np.ndarray,
    value: Mapping[str, np.ndarray],
    slope: Mapping[str, np.ndarray],
    kind: str,
    ticks: np.ndarray,
    total: int,
    stack: str,
    gated: bool = False,
    biases: bool = True,
) -> Drawing:
    """Three plots: the functions, their derivatives, and ticks at the sentence's pre-activations.

    z: [point]; value, slope: "relu", "gelu" and "swish" -> [point]; kind: the model's own function, drawn in bold in
    its stack's colour; ticks: [tick]; total: how many numbers they stand for; gated, biases: as in `ModelConfig`.
    """
    figure = Drawing()
    dashes = iter(("dot", "dash"))
    for name in sorted(value, key=lambda activation: activation != kind):
        is_own = name == kind
        line = {"color": COLOURS[stack] if is_own else INK, "width": 5 if is_own else 2.5}
        line["dash"] = "solid" if is_own else next(dashes)
        label = _("{name}, this model", name=NAMES[name]) if is_own else NAMES[name]
        for axis, heights in (("y", value[name]), ("y2", slope[name])):
            figure.add_scatter(x=z, y=heights, mode="lines", name=label, legendgroup=name, showlegend=axis == "y",
                               line=line, hovertemplate=_("z %{x:.2f}<br>%{y:.3f}") + f"<extra>{NAMES[name]}</extra>",
                               xaxis="x", yaxis=axis)  # fmt: skip
    figure.add_scatter(x=ticks, y=np.zeros(len(ticks)), mode="markers", xaxis="x", yaxis="y3",
                       name=_("{drawn} of {total} pre-activations", drawn=f"{len(ticks):,}", total=f"{total:,}"),
                       marker={"symbol": "line-ns-open", "size": 22, "color": COLOURS[stack], "opacity": 0.45,
                               "line": {"width": 1.5}}, hovertemplate="z %{x:.3f}<extra></extra>")  # fmt: skip
    figure.update_layout(
        hovermode="closest",
        shapes=[vertical_line(LINE)],
        xaxis={"title": _("pre-activation z"), "anchor": "y3", "range": [float(z[0]), float(z[-1])]},
        yaxis={"domain": [0.52, 1], "anchor": "x", "title": "f(z)", "nticks": 5},
        yaxis2={"domain": [0.18, 0.46], "anchor": "x", "title": _("derivative"), "nticks": 4},
        yaxis3={"domain": [0, 0.12], "anchor": "x", "range": [-1, 1], "showticklabels": False, "showgrid": False},
    )
    subtitle = _(
        "ReLU(<i>z</i>) = max(0, <i>z</i>), GELU(<i>z</i>) = <i>z</i>Φ(<i>z</i>), swish(<i>z</i>) = "
        "<i>z</i>σ(<i>z</i>); {equation}",
        equation=equation(kind, gated, biases),
    )
    titled(figure, _("The non-linearity and its derivative"), subtitle)
    return dressed(figure, 470).update_layout(legend={"y": 1, "yanchor": "bottom"})


@plotly_figure
def left_out(perplexities: Mapping[str, Mapping[str, float]], trained: float, out: Sequence[str] = ()) -> Drawing:
    """A bar for each sub-layer: the perplexity without it, on a log axis from the perplexity as trained.

    perplexities: "encoder" and "decoder" -> name of each sub-layer -> perplexity; out: labels "encoder, FFN 1" of those
    left out now, which stand out.
    """
    figure = Drawing()
    names = [
        (stack, name, _("{stack}, {sublayer}", stack=stack_name(stack), sublayer=name))
        for stack, values in perplexities.items()
        for name in values
    ]
    values = [perplexities[stack][name] for stack, name, _label in names]
    figure.add_bar(
        x=np.arange(len(names)), y=values, customdata=[plain(label) for _stack, _name, label in names],
        marker={"color": [COLOURS[stack] for stack, _name, _label in names],
                "opacity": [1.0 if not out or label in out else 0.45 for _stack, _name, label in names]},
        text=[f"{value:.3g}" for value in values], textposition="outside", textangle=0, cliponaxis=False,
        constraintext="none", name=_("perplexity, log"),
        hovertemplate=_("without %{customdata}<br>perplexity %{y:.4g}") + "<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=[-0.5, len(names) - 0.5], y=[trained] * 2, mode="lines", name=_("as trained"), hoverinfo="skip", meta=GUIDE,
        line={"color": GREY, "width": 2, "dash": "dash"},
    )  # fmt: skip
    finite = [value for value in (*values, trained) if np.isfinite(value)]
    low, high = np.log10(min(finite)), np.log10(max(finite))
    figure.update_layout(
        hovermode="closest",
        bargap=0.25,
        showlegend=False,
        xaxis={"range": [-0.6, len(names) - 0.4], "showgrid": False},
        yaxis={"title": _("perplexity, log"), "type": "log", "nticks": 5,
               "range": [min(0.0, low), high + 0.12 * (high - min(0.0, low)) + 0.02]},
    )  # fmt: skip
    label_axis(figure, "x", [name for _stack, name, _label in names])
    subtitle = _("perplexity of this translation, teacher-forced; as trained {trained}", trained=f"{trained:.3g}")
    titled(figure, _("One sub-layer left out at a time"), subtitle)
    figure.meta["labels"] = {"x": [label for _stack, _name, label in names]}
    return dressed(figure, 330)


@plotly_figure
def moved_columns(labels: Sequence[str], difference: np.ndarray, most: float, title: str) -> Drawing:
    """How far every number moved, a column for each token. difference: [d_model, token], absolute; most: the end of the
    colour scale."""
    figure = Drawing()
    figure.add_heatmap(
        z=np.asarray(difference, np.float32), zmin=0, zmax=most, colorscale=ramp(TEAL),
        colorbar={"title": _("moved by")}, hovertemplate=_("%{x}, dimension %{y}: %{z:.3f}") + "<extra></extra>",
    )  # fmt: skip
    figure.update_layout(yaxis={"title": _("dimension")}, hovermode="closest")
    label_axis(figure, "x", labels)
    return dressed(titled(figure, title, _("|difference| of the sub-layer's result; a column for each token")))
