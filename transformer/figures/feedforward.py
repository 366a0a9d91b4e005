"""Figures of the feed-forward sub-layers of section 3.3: active neurons, and the non-linearity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import (
    BLUE,
    GREY,
    GUIDE,
    INK,
    LINE,
    ORANGE,
    PURPLE,
    Labels,
    dressed,
    label_axis,
    nth,
    plain,
    ramp,
    short,
    slider,
    titled,
)
from transformer.texts import N_

COLOURS = {"encoder": BLUE, "decoder": ORANGE}
ROW, BARS, GAP, MOST_ROWS = 25, 130, 94, 900  # pixels: a row, the bars above, the gap, all rows
NUMBER = 0.2  # space that a number above a bar takes, of the bars' axis
WRITTEN = 32  # up to this many tokens every cell shows its number
GAPS = 0.35  # between bars, of a layer's width
NUMBERED = 26  # up to this many bars each shows its number

LABELS = {
    "equation": N_("{formula}, equation 2"),
    "equation_gelu": N_("{formula}, equation 2 with GELU instead of max(0, ·)"),
    "equation_swish": N_("{formula}, equation 2 with swish instead of max(0, ·)"),
    "active": N_("Active neurons per layer and token"),
    "active_equation": N_("{equation}; active: activation &gt; threshold; numbers: %"),
    "active_axis": N_("mean, %"),
    "active_hover": N_("token %{customdata}<br>layer %{x}<br>active %{z:.2f}%"),
    "mean_hover": N_("layer %{x}<br>active %{y:.2f}%, mean over tokens"),
    "threshold": N_("Threshold"),
    "published": N_("{share} in T5-Base (another model, other data)"),
    "encoder": N_("encoder"),
    "decoder": N_("decoder"),
    "layers": N_("{stack} layer"),
    "fed": N_("rows: target, fed"),
    "read": N_("rows: source"),
    "layer_name": N_("{stack} layer {layer}"),
    "layer_token": N_("{stack} layer {layer}, token {token}"),
    "histogram": N_("Before and after the non-linearity: {layer}"),
    "before": N_("before: z"),
    "after": N_("after: a"),
    "before_equation": N_(
        "<i>z</i> = <i>x</i>W<sub>1</sub> + b<sub>1</sub>, <i>a</i> = {function}; {equation}; counts on log axes"
    ),
    "value": N_("z, a"),
    "bin_hover": N_("from %{customdata[0]:.3f} to %{customdata[1]:.3f}<br>%{y:,} numbers"),
    "spread": N_("On how many tokens a neuron is active: {layer}"),
    "spread_equation": N_("active: activation &gt; {threshold}; {equation}"),
    "spread_axis": N_("tokens of the sentence, {count} in all"),
    "neurons": N_("neurons"),
    "neurons_log": N_("neurons, log"),
    "spread_hover": N_("active on %{x} tokens<br>%{y:,} neurons"),
    "curves": N_("The non-linearity and its derivative"),
    "curves_equation": N_(
        "ReLU(<i>z</i>) = max(0, <i>z</i>), GELU(<i>z</i>) = <i>z</i>Φ(<i>z</i>), swish(<i>z</i>) = "
        "<i>z</i>σ(<i>z</i>); {equation}"
    ),
    "this": N_("{name}, this model"),
    "derivative": N_("derivative"),
    "pre_activation": N_("pre-activation z"),
    "curve_hover": N_("z %{x:.2f}<br>%{y:.3f}"),
    "own": N_("{drawn} of {total} pre-activations"),
    "alone": N_("One sub-layer left out at a time"),
    "alone_equation": N_("perplexity of this translation, teacher-forced; as trained {trained}"),
    "alone_axis": N_("perplexity, log"),
    "alone_hover": N_("without %{customdata}<br>perplexity %{y:.4g}"),
    "alone_name": N_("{stack}, {sublayer}"),
    "trained": N_("as trained"),
}  # fmt: skip
MOVED = {
    "subtitle": N_("|difference| of the sub-layer's result; a column for each token"),
    "scale": N_("moved by"),
    "dimension": N_("dimension"),
    "hover": N_("%{x}, dimension %{y}: %{z:.3f}"),
}
NAMES = {"relu": "ReLU", "gelu": "GELU", "swish": "swish"}


def function(kind: str, of: str = "<i>z</i>") -> str:
    """The non-linearity of a model in plotly's markup; "relu" as the paper writes it."""
    return f"max(0, {of})" if kind == "relu" else f"{NAMES[kind]}({of})"


def equation(kind: str, texts: Labels = LABELS) -> str:
    """Equation 2 in plotly's markup, with this model's non-linearity."""
    inner = function(kind, "<i>x</i>W<sub>1</sub> + b<sub>1</sub>")
    formula = f"FFN(<i>x</i>) = {inner} W<sub>2</sub> + b<sub>2</sub>"
    return texts["equation" if kind == "relu" else f"equation_{kind}"].format(formula=formula)


def layer_name(stack: str, layer: int, token: str | None = None, texts: Labels = LABELS) -> str:
    """A layer in words, "encoder layer 1" for the first, with the token if there is one; its markup is escaped."""
    words = texts["layer_name" if token is None else "layer_token"]
    return words.format(stack=texts[stack], layer=layer + 1, token="" if token is None else short(token))


@plotly_figure
def activity(
    shares: Mapping[str, np.ndarray],
    thresholds: Sequence[float],
    tokens: Mapping[str, Sequence[str]],
    start: int = 0,
    kind: str = "relu",
    published: float | None = None,
    *,
    theme: str = "light",
    texts: Labels = LABELS,
) -> Drawing:
    """Bars of the mean share of active neurons per layer, and below each its tokens: one frame per threshold.

    shares: "encoder" and "decoder" -> [threshold, layer, token], 0 to 1; tokens: their labels; start: the threshold
    shown first; kind: the non-linearity; published: a share of a ReLU to compare with, a dashed line across, for a ReLU
    only.
    """
    stacks = list(COLOURS)
    most = {stack: float(shares[stack].max()) for stack in stacks}
    means = {stack: 100 * shares[stack].mean(-1) for stack in stacks}
    published = published if kind == "relu" else None
    top = max(*(float(mean.max()) for mean in means.values()), 100 * (published or 0.0)) * 1.2 or 1.0
    rows = max(len(tokens[stack]) for stack in stacks)
    below = min(rows * ROW, MOST_ROWS)
    height = below + GAP + BARS
    ends: dict[str, Any] = {"y": [1 - BARS / height, 1], "x": {"encoder": [0, 0.485], "decoder": [0.515, 1]}}
    rows_are = {"encoder": "read", "decoder": "fed"}
    figure = Drawing()
    layers = {stack: np.arange(1, shares[stack].shape[1] + 1) for stack in stacks}
    for index, stack in enumerate(stacks):
        colour = COLOURS[stack][theme]
        figure.add_bar(x=layers[stack], y=means[stack][start], name=texts[stack],
                       marker={"color": colour}, showlegend=False, texttemplate="%{y:.1f}",
                       textposition=_beside(means[stack][start], published, top),
                       textangle=0, cliponaxis=False,
                       constraintext="none",
                       hovertemplate=texts["mean_hover"] + "<extra></extra>",
                       xaxis=nth("x", index + 1), yaxis=nth("y", index + 1))  # fmt: skip
    for index, stack in enumerate(stacks):
        written = len(tokens[stack]) <= WRITTEN
        named = [[f"{row} · {short(token)}"] * len(layers[stack]) for row, token in enumerate(tokens[stack], 1)]
        figure.add_heatmap(x=layers[stack], z=100 * shares[stack][start].T, customdata=named, name=texts[stack],
                           showscale=False,
                           zmin=0, zmax=100 * max(most.values()) or 1.0, colorscale=ramp(COLOURS[stack], theme),
                           xgap=2, ygap=2, texttemplate="%{z:.1f}" if written else None,
                           hovertemplate=texts["active_hover"] + "<extra></extra>",
                           xaxis=nth("x", index + 1), yaxis=f"y{index + 3}")  # fmt: skip
    for index, stack in enumerate(stacks):
        if published is not None:
            share = f"{100 * published:.1f}%"
            figure.add_scatter(x=[0.5, len(layers[stack]) + 0.5], y=[100 * published] * 2, mode="lines",
                               hoverinfo="skip", meta=GUIDE,
                               name=texts["published"].format(share=share), showlegend=not index,
                               line={"color": GREY[theme], "width": 2, "dash": "dash"},
                               xaxis=nth("x", index + 1), yaxis=nth("y", index + 1))  # fmt: skip
    for index, threshold in enumerate(thresholds):
        changes: list[dict[str, Any]] = [
            {"type": "bar", "y": means[stack][index], "textposition": _beside(means[stack][index], published, top)}
            for stack in stacks
        ]
        changes += [{"type": "heatmap", "z": 100 * shares[stack][index].T} for stack in stacks]
        figure.add_frame(f"{threshold:.2f}", changes, traces=[0, 1, 2, 3])
    slider(figure, texts["threshold"], start)
    titled(figure, texts["active"], texts["active_equation"].format(equation=equation(kind, texts)))
    figure.update_layout(hovermode="closest", bargap=GAPS, showlegend=published is not None)
    for index, stack in enumerate(stacks):
        axis = {"domain": ends["x"][stack], "anchor": nth("y", index + 1),
                "title": {"text": f"{texts['layers'].format(stack=texts[stack])}<br>{texts[rows_are[stack]]}",
                          "standoff": 4},
                "range": [0.5, len(layers[stack]) + 0.5], "tickmode": "array", "tickvals": layers[stack],
                "showgrid": False}  # fmt: skip
        upper = {"domain": ends["y"], "anchor": nth("x", index + 1), "range": [0, top], "nticks": 4}
        lower = {"domain": [0, below / height], "anchor": nth("x", index + 1), "range": [rows - 0.5, -0.5],
                 "showgrid": False, "side": "right" if index else "left"}  # fmt: skip
        upper |= {"showticklabels": False} if index else {"title": texts["active_axis"]}
        axes = {nth("xaxis", index + 1): axis, nth("yaxis", index + 1): upper, f"yaxis{index + 3}": lower}
        figure.update_layout(**axes)
        label_axis(figure, f"y{index + 3}", tokens[stack])
    dressed(figure, theme, height + 60)
    figure.update_layout(legend={"y": 1, "yanchor": "bottom"}, margin={"b": 16})
    return figure


def _beside(means: np.ndarray, published: float | None, top: float) -> list[str]:
    """Where each bar has its number: above it, or inside it where the number above would lie on the dashed line."""
    line = np.inf if published is None else 100 * published
    return ["inside" if line - NUMBER * top < mean < line else "outside" for mean in means]


@plotly_figure
def histogram(
    edges: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    stack: str,
    layer: int,
    kind: str = "relu",
    *,
    theme: str = "light",
    texts: Labels = LABELS,
) -> Drawing:
    """How often each pre-activation and each activation occurs, in two plots with counts on a log axis.

    edges: [bin + 1]; before, after: counts [bin]; layer counts from 0.
    """
    figure = Drawing()
    ends = np.stack((edges[:-1], edges[1:]), -1)
    for index, (counts, opacity, name) in enumerate(((before, 0.55, "before"), (after, 1.0, "after"))):
        figure.add_bar(x=ends.mean(-1), y=counts, width=ends[:, 1] - ends[:, 0], name=texts[name], opacity=opacity,
                       marker={"color": COLOURS[stack][theme], "line": {"width": 0}}, customdata=ends, showlegend=False,
                       hovertemplate=texts["bin_hover"] + "<extra></extra>", xaxis="x",
                       yaxis=nth("y", index + 1))  # fmt: skip
        top = np.log10(max(2, counts.max())) * 1.08
        figure.update_layout(**{nth("yaxis", index + 1): {
            "type": "log", "range": [np.log10(0.6), top], "title": texts[name], "anchor": "x", "nticks": 5,
            "domain": [0.54, 1] if not index else [0, 0.46], "dtick": 1, "exponentformat": "power",
        }})  # fmt: skip
    figure.update_layout(hovermode="closest", bargap=0, shapes=[upright(LINE[theme])])
    figure.update_layout(xaxis={"title": texts["value"], "anchor": "y2", "range": [edges[0], edges[-1]]})
    text = texts["before_equation"].format(function=function(kind), equation=equation(kind, texts))
    titled(figure, texts["histogram"].format(layer=layer_name(stack, layer, texts=texts)), text)
    return dressed(figure, theme, 360)


def upright(colour: str) -> dict[str, object]:
    """A line at 0 through the whole figure."""
    line = {"color": colour, "width": 2}
    return {"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "paper", "line": line, "layer": "below"}


@plotly_figure
def spread(
    counts: np.ndarray,
    stack: str,
    layer: int,
    threshold: float,
    kind: str = "relu",
    *,
    theme: str = "light",
    texts: Labels = LABELS,
) -> Drawing:
    """How many neurons are active on exactly n tokens; counts: [token + 1], n = 0 first; layer counts from 0."""
    figure = Drawing()
    tokens = len(counts) - 1
    few = tokens < NUMBERED
    figure.add_bar(x=np.arange(tokens + 1), y=counts, marker={"color": COLOURS[stack][theme]}, name=texts["neurons"],
                   texttemplate="%{y:,}" if few else None, textposition="outside", textangle=0, cliponaxis=False,
                   hovertemplate=texts["spread_hover"] + "<extra></extra>")  # fmt: skip
    step, top = max(1, -(-tokens // 20)), np.log10(counts.max()) + 0.35
    figure.update_layout(
        hovermode="closest",
        bargap=0.15,
        xaxis={"title": texts["spread_axis"].format(count=tokens), "dtick": step, "tick0": 0},
        yaxis={"title": texts["neurons_log"], "type": "log", "dtick": 1, "range": [np.log10(0.6), top]},
    )
    text = texts["spread_equation"].format(threshold=f"{threshold:.2f}", equation=equation(kind, texts))
    return dressed(
        titled(figure, texts["spread"].format(layer=layer_name(stack, layer, texts=texts)), text), theme, 360
    )


@plotly_figure
def curves(
    z: np.ndarray,
    value: Mapping[str, np.ndarray],
    slope: Mapping[str, np.ndarray],
    kind: str,
    ticks: np.ndarray,
    total: int,
    stack: str,
    *,
    theme: str = "light",
    texts: Labels = LABELS,
) -> Drawing:
    """Three plots: the functions, their derivatives, and ticks at the sentence's pre-activations.

    z: [point]; value, slope: "relu", "gelu" and "swish" -> [point]; kind: the model's own function, drawn in bold in
    its stack's colour; ticks: [tick]; total: how many numbers they stand for.
    """
    figure = Drawing()
    dashes = iter(("dot", "dash"))
    for name in sorted(value, key=lambda activation: activation != kind):
        is_own = name == kind
        line = {"color": (COLOURS[stack] if is_own else INK)[theme], "width": 5 if is_own else 2.5}
        line["dash"] = "solid" if is_own else next(dashes)
        label = texts["this"].format(name=NAMES[name]) if is_own else NAMES[name]
        for axis, heights in (("y", value[name]), ("y2", slope[name])):
            figure.add_scatter(x=z, y=heights, mode="lines", name=label, legendgroup=name, showlegend=axis == "y",
                               line=line, hovertemplate=texts["curve_hover"] + f"<extra>{NAMES[name]}</extra>",
                               xaxis="x", yaxis=axis)  # fmt: skip
    figure.add_scatter(x=ticks, y=np.zeros(len(ticks)), mode="markers", xaxis="x", yaxis="y3",
                       name=texts["own"].format(drawn=f"{len(ticks):,}", total=f"{total:,}"),
                       marker={"symbol": "line-ns-open", "size": 22, "color": COLOURS[stack][theme], "opacity": 0.45,
                               "line": {"width": 1.5}}, hovertemplate="z %{x:.3f}<extra></extra>")  # fmt: skip
    figure.update_layout(
        hovermode="closest",
        shapes=[upright(LINE[theme])],
        xaxis={"title": texts["pre_activation"], "anchor": "y3", "range": [float(z[0]), float(z[-1])]},
        yaxis={"domain": [0.52, 1], "anchor": "x", "title": "f(z)", "nticks": 5},
        yaxis2={"domain": [0.18, 0.46], "anchor": "x", "title": texts["derivative"], "nticks": 4},
        yaxis3={"domain": [0, 0.12], "anchor": "x", "range": [-1, 1], "showticklabels": False, "showgrid": False},
    )
    titled(figure, texts["curves"], texts["curves_equation"].format(equation=equation(kind, texts)))
    dressed(figure, theme, 470)
    figure.update_layout(legend={"y": 1, "yanchor": "bottom"})
    return figure


@plotly_figure
def left_out(
    perplexities: Mapping[str, Mapping[str, float]],
    trained: float,
    out: Sequence[str] = (),
    *,
    theme: str = "light",
    texts: Labels = LABELS,
) -> Drawing:
    """A bar for each sub-layer: the perplexity without it, on a log axis from the perplexity as trained.

    perplexities: "encoder" and "decoder" -> name of each sub-layer -> perplexity; out: labels "encoder, FFN 1" of those
    left out now, which stand out.
    """
    figure = Drawing()
    names = [
        (stack, name, texts["alone_name"].format(stack=texts[stack], sublayer=name))
        for stack, values in perplexities.items()
        for name in values
    ]
    values = [perplexities[stack][name] for stack, name, _label in names]
    figure.add_bar(
        x=np.arange(len(names)), y=values, customdata=[plain(label) for _stack, _name, label in names],
        marker={"color": [COLOURS[stack][theme] for stack, _name, _label in names],
                "opacity": [1.0 if not out or label in out else 0.45 for _stack, _name, label in names]},
        text=[f"{value:.3g}" for value in values], textposition="outside", textangle=0, cliponaxis=False,
        constraintext="none", name=texts["alone_axis"], hovertemplate=texts["alone_hover"] + "<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=[-0.5, len(names) - 0.5], y=[trained] * 2, mode="lines", name=texts["trained"], hoverinfo="skip", meta=GUIDE,
        line={"color": GREY[theme], "width": 2, "dash": "dash"},
    )  # fmt: skip
    finite = [value for value in (*values, trained) if np.isfinite(value)]
    low, high = np.log10(min(finite)), np.log10(max(finite))
    figure.update_layout(
        hovermode="closest",
        bargap=0.25,
        showlegend=False,
        xaxis={"range": [-0.6, len(names) - 0.4], "showgrid": False},
        yaxis={"title": texts["alone_axis"], "type": "log", "nticks": 5,
               "range": [min(0.0, low), high + 0.12 * (high - min(0.0, low)) + 0.02]},
    )  # fmt: skip
    label_axis(figure, "x", [name for _stack, name, _label in names])
    titled(figure, texts["alone"], texts["alone_equation"].format(trained=f"{trained:.3g}"))
    figure.meta["labels"] = {"x": [label for _stack, _name, label in names]}
    return dressed(figure, theme, 330)


@plotly_figure
def moved_columns(
    labels: Sequence[str],
    difference: np.ndarray,
    most: float,
    title: str,
    *,
    theme: str = "light",
    texts: Labels = MOVED,
) -> Drawing:
    """How far every number moved, a column for each token. difference: [d_model, token], absolute; most: the end of the
    colour scale."""
    figure = Drawing()
    figure.add_heatmap(
        z=np.asarray(difference, np.float32), zmin=0, zmax=most, colorscale=ramp(PURPLE, theme),
        colorbar={"title": texts["scale"]}, hovertemplate=texts["hover"] + "<extra></extra>",
    )  # fmt: skip
    figure.update_layout(yaxis={"title": texts["dimension"]}, hovermode="closest")
    label_axis(figure, "x", labels)
    return dressed(titled(figure, title, texts["subtitle"]), theme)
