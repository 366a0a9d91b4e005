"""The heatmaps of attention as the explorer draws them: one head, and every head of one kind.

The colours are those of `frontend/src/core/colour.js`, the order and the labels those of `frontend/src/heads/`;
`tests/browser/test_head_figures.py` compares them with the page.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transformer.analysis.attention import summarise
from transformer.checks import expect
from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import (
    BLUE,
    DARK,
    INK,
    ORANGE,
    PAPER,
    PURPLE,
    diverging,
    dressed,
    label_axis,
    plain,
    short,
    titled,
)
from transformer.texts import N_, Text, UserError, _, any_of, translate
from transformer.tracing.trace import Trace

HUES = {"encoder_self": BLUE, "decoder_self": ORANGE, "cross": PURPLE}
ROWS = {"predicted": "target_out", "fed": "target_in"}  # which token labels a row of the decoder
SUMMARIES, THEMES = ("mean", "max"), ("light", "dark")
MARGIN, GAP, APART = 0.62, 0.07, 0.12  # of a tile: a summary's size, between tiles, before the summaries
ROW, LEAST, MOST = 30, 200, 760  # pixels of one head: a row, and all rows at least and at most
TILE = (56, 13, 150)  # pixels of a tile of the grid: its height at least, of one row, and at most
TITLE = 74  # pixels of the title and the two texts
WIDTH, CHARACTER = 640, 8.5  # pixels: a plot in a notebook, a letter
AXIS_TITLE = 32  # pixels of the text beside the labels of the rows
LONGEST_TEXT = 44  # letters of a text in the title
NAMED = 20_000  # cells up to which every cell of a grid tells its tokens; their texts are most of the figure's size

LABELS = {
    "encoder_self": N_("Encoder self"),
    "decoder_self": N_("Decoder self (masked)"),
    "decoder_self_open": N_("Decoder self"),
    "cross": N_("Cross"),
    "mean_heads": N_("Layer {layer}, mean of {heads} heads"),
    "max_heads": N_("Layer {layer}, maximum of {heads} heads"),
    "mean_layers": N_("Head {head}, mean of {layers} layers"),
    "max_layers": N_("Head {head}, maximum of {layers} layers"),
    "mean_all": N_("Mean of all {count} heads"),
    "max_all": N_("Maximum of all {count} heads"),
    "mean": N_("mean"),
    "max": N_("max"),
    "source": N_("source"),
    "target_in": N_("fed in"),
    "target_out": N_("predicted"),
}


def _mixed(one: Sequence[int], other: Sequence[float], share: float) -> tuple[int, ...]:
    return tuple(math.floor(a + (b - a) * share + 0.5) for a, b in zip(one, other, strict=True))


def _rgb(text: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(text[1:]))


def _css(rgb: Sequence[int]) -> str:
    return f"rgb({','.join(map(str, rgb))})"


def _themed(colour: str, theme: str) -> str:
    return DARK[colour] if theme == "dark" else colour


def palette(kind: str, theme: str = "light") -> list[str]:
    """256 colours from weight 0 to weight 1, monotonic in lightness. Small weights matter: the exponent shows them."""
    ground, hue = (_rgb(_themed(colour, theme)) for colour in (PAPER, HUES[kind]))
    end = _mixed(hue, [255] * 3 if theme == "dark" else [part * 0.14 + 6 for part in hue], 0.62)
    colours = []
    for step in range(256):
        at = (step / 255) ** 0.72
        colours.append(_mixed(ground, hue, at / 0.75) if at < 0.75 else _mixed(hue, end, (at - 0.75) / 0.25))
    return [_css(colour) for colour in colours]


def _toned(theme: str, light: float, dark: float) -> str:
    """The ink mixed with this share of the background: lines, masked cells, their hatching."""
    ink, paper = (_rgb(_themed(one, theme)) for one in (INK, PAPER))
    return _css(_mixed(ink, paper, dark if theme == "dark" else light))


def _checked(trace: Trace, kind: str, rows: str, summary: str, theme: str, **indices: int | None) -> None:
    """Raises WrongTypeError or UserError, each one sentence, for arguments that fit no head of the trace."""
    expect(trace, Trace, "trace", Text("a Trace, as model.trace returns it"))
    attention = trace.attention(kind)
    for name, value, allowed in (("rows", rows, ROWS), ("summary", summary, SUMMARIES), ("theme", theme, THEMES)):
        if value not in allowed:
            raise UserError(
                "{name} is {value}; choose {names}", name=name, value=repr(value)[:60], names=any_of(allowed, value)
            )
    for name, index in indices.items():
        count = attention.layers if name == "layer" else attention.heads
        expect(index, (int, type(None)), name, Text("an index from 0, or None for all"))
        if index is not None and not 0 <= index < count:
            raise UserError(
                "{name} is {index}; give an index from 0 to {last}, or None for all",
                name=name, index=index, last=count - 1,
            )  # fmt: skip


def _sides(kind: str, rows: str) -> tuple[str, str]:
    """Whose tokens label the rows and the columns."""
    return ("source" if kind == "encoder_self" else ROWS[rows]), ("target_in" if kind == "decoder_self" else "source")


def _labels(trace: Trace, side: str) -> tuple[str, ...]:
    return getattr(trace, f"{side}_labels")


def _axes(figure: Drawing, trace: Trace, sides: tuple[str, str]) -> None:
    """Titles and tokens of rows and columns."""
    down, across = (plain(translate(LABELS[side])) for side in sides)
    axis = {"showgrid": False, "ticks": ""}
    figure.update_layout(
        xaxis={**axis, "title": {"text": f"{across} →"}, "side": "top"},
        yaxis={**axis, "title": {"text": f"← {down}"}, "autorange": "reversed"},
    )
    rows, columns = (_labels(trace, side) for side in sides)
    label_axis(label_axis(figure, "y", rows), "x", columns)


def _kind(trace: Trace, kind: str) -> str:
    unmasked = kind == "decoder_self" and (not trace.causal or trace.interventions.leaks)
    return translate(LABELS[f"{kind}_open" if unmasked else kind])


def _name(trace: Trace, kind: str, layer: int | None, head: int | None, summary: str) -> str:
    """ "Layer 2, head 5", or what is summarised."""
    attention = trace.attention(kind)
    layers, heads = attention.layers, attention.heads
    if layer is None and head is None:
        return translate(LABELS[f"{summary}_all"], count=layers * heads)
    if head is None:
        return translate(LABELS[f"{summary}_heads"], layer=(layer or 0) + 1, heads=heads)
    if layer is None:
        return translate(LABELS[f"{summary}_layers"], head=head + 1, layers=layers)
    return _("Layer {layer}, head {head}", layer=layer + 1, head=head + 1)


def _headed(figure: Drawing, trace: Trace, title: str, above: float, height: int) -> None:
    """The look of the project's figures, under a title with what was changed in the model, and the two texts.

    above: pixels between the texts and the cells.
    """
    changes = [*([str(trace.interventions)] if trace.interventions else []), *trace.edits]
    if changes:
        title = _("{title} · changed: {changes}", title=title, changes=short(" ".join(changes), LONGEST_TEXT))
    source, target = (short(text, LONGEST_TEXT) for text in (trace.source_text, trace.target_text))
    titled(figure, title, _("{source} → {target}", source=source, target=target))
    dressed(figure, height)
    top = {"yref": "container", "y": 1, "yanchor": "top", "pad": {"t": 12}}
    margin = {"t": TITLE + above, "b": 12}
    figure.update_layout(height=round(TITLE + above + height), margin=margin, paper_bgcolor=PAPER, title=top)


def _matrix(
    trace: Trace, kind: str, layer: int | None, head: int | None, summary: str
) -> tuple[np.ndarray, np.ndarray]:
    """The weights that are drawn, and which cells are masked in all heads they are made of: [query, key] each."""
    attention = trace.attention(kind)
    visible = attention.mask[slice(None) if layer is None else layer]
    visible = visible[..., slice(None) if head is None else head, :, :].reshape(-1, *attention.mask.shape[-2:])
    return summarise(attention.weights, layer, head, summary).numpy(), ~visible.any(0).numpy()


def _links(weights: np.ndarray, masked: np.ndarray, rows: Sequence[str], columns: Sequence[str]) -> Any:
    """The text of every cell, "the → das: 0.8312"."""
    link, nothing = _("{row} → {column}: {weight}"), _("masked")
    return [
        [
            link.format(row=row, column=column, weight=nothing if hidden else f"{weight:.4f}")
            for column, weight, hidden in zip(columns, line, covered, strict=True)
        ]
        for row, line, covered in zip(rows, weights, masked, strict=True)
    ]


def _coloured(figure: Drawing, kind: str, theme: str) -> None:
    figure.update_layout(
        hovermode="closest",
        coloraxis={
            "cmin": 0, "cmax": 1,
            "colorscale": [[step / 255, colour] for step, colour in enumerate(palette(kind, theme))],
            "colorbar": {"title": {"text": _("weight")}, "thickness": 12, "outlinewidth": 0},
        },
    )  # fmt: skip


def _shown(weights: np.ndarray, masked: np.ndarray) -> np.ndarray:
    return np.where(masked, np.nan, weights)


@plotly_figure
def head_map(
    trace: Trace,
    kind: str = "cross",
    layer: int | None = 0,
    head: int | None = 0,
    *,
    rows: str = "predicted",
    summary: str = "mean",
    beside: Trace | None = None,
    theme: str = "light",
) -> Drawing:
    """One head: row q and column k show how much query q attends to key k. Masked cells are hatched.

    kind: one of KINDS; layer, head: indices from 0, or None for the mean (or maximum, see summary) of all;
    rows: label the rows of the decoder by the token "predicted" or "fed" in; beside: the trace of the same map that
    stands beside this one: cells and the space for labels are as large as there.
    Raises UserError for what the trace does not have.
    """
    _checked(trace, kind, rows, summary, theme, layer=layer, head=head)
    weights, masked = _matrix(trace, kind, layer, head, summary)
    name = _name(trace, kind, layer, head, summary)
    title = plain(_("{kind}: {head}", kind=_kind(trace, kind), head=name))
    return _map(trace, kind, weights, masked, title, rows, theme, beside)


@plotly_figure
def weight_map(
    trace: Trace,
    kind: str,
    weights: Sequence[Sequence[float]],
    title: str,
    *,
    rows: str = "predicted",
    theme: str = "light",
) -> Drawing:
    """Other numbers of one head, [query, key], drawn as `head_map` draws weights: a mean, a deviation."""
    _checked(trace, kind, rows, "mean", theme)
    masked = ~trace.attention(kind).mask[0, 0].numpy()
    return _map(trace, kind, np.array(weights), masked, plain(title), rows, theme)


@plotly_figure
def difference_map(
    trace: Trace,
    kind: str,
    difference: Sequence[Sequence[float]],
    title: str,
    *,
    rows: str = "predicted",
    theme: str = "light",
) -> Drawing:
    """Weights of one head minus other weights, [query, key], from -1 to 1: dark below 0, purple above. Labels: the
    trace's."""
    _checked(trace, kind, rows, "mean", theme)
    values = np.array(difference)
    sides = _sides(kind, rows)
    row_labels, column_labels = (_labels(trace, side) for side in sides)
    figure = Drawing()
    figure.add_heatmap(
        z=values, colorscale=diverging(PURPLE), zmin=-1, zmax=1, zmid=0, xgap=1, ygap=1,
        hovertemplate="%{z:+.3f}<extra></extra>",
    )  # fmt: skip
    _axes(figure, trace, sides)
    longest = CHARACTER * max(len(short(label)) for label in column_labels)
    figure.update_layout(xaxis={"tickangle": -45})
    height = max(LEAST, min(MOST, ROW * len(row_labels)))
    _headed(figure, trace, plain(title), 50 + longest * math.sin(math.radians(45)), height)
    return figure


def _map(
    trace: Trace,
    kind: str,
    weights: np.ndarray,
    masked: np.ndarray,
    title: str,
    rows: str,
    theme: str,
    beside: Trace | None = None,
) -> Drawing:
    sides = _sides(kind, rows)
    row_labels, column_labels = (_labels(trace, side) for side in sides)
    figure = Drawing()
    plain_rows, plain_columns = [plain(label) for label in row_labels], [plain(label) for label in column_labels]
    if masked.any():
        tone = _toned(theme, 0.93, 0.88)
        figure.add_heatmap(
            z=np.where(masked, 0.0, np.nan), colorscale=[[0, tone], [1, tone]], showscale=False, xgap=1, ygap=1,
            hoverinfo="skip",
        )  # fmt: skip
        lines = "".join(
            f"M{k - 0.5},{q}L{k},{q - 0.5}M{k - 0.5},{q + 0.5}L{k + 0.5},{q - 0.5}M{k},{q + 0.5}L{k + 0.5},{q}"
            for q, k in np.argwhere(masked).tolist()
        )
        figure.add_shape(type="path", path=lines, line={"color": _toned(theme, 0.82, 0.74), "width": 1})
    figure.add_heatmap(
        z=_shown(weights, masked), coloraxis="coloraxis", xgap=1, ygap=1, hoverongaps=True,
        customdata=_links(weights, masked, plain_rows, plain_columns),
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    _coloured(figure, kind, theme)
    _axes(figure, trace, sides)
    both = [trace] if beside is None else [trace, beside]
    count, columns = (max(len(_labels(one, side)) for one in both) for side in sides)
    widest, longest = (
        CHARACTER * max(len(short(label)) for one in both for label in _labels(one, side)) for side in sides
    )  # pixels
    cell = WIDTH / columns
    angle = 0 if longest + 6 <= cell else -45 if cell >= 20 else -90
    figure.update_layout(xaxis={"tickangle": angle})
    above = 50 + longest * math.sin(math.radians(-angle))
    _headed(figure, trace, title, above, max(LEAST, min(MOST, ROW * count)))
    if beside is not None:
        figure.meta["margin"] = {"l": round(widest + AXIS_TITLE), "t": round(above)}
        figure.update_layout(
            xaxis={"domain": [0, len(column_labels) / columns]}, yaxis={"domain": [1 - len(row_labels) / count, 1]}
        )
    figure.update_layout(plot_bgcolor=_toned(theme, 0.84, 0.84))
    return figure


@plotly_figure
def head_grid(
    trace: Trace, kind: str = "cross", *, rows: str = "predicted", summary: str = "mean", theme: str = "light"
) -> Drawing:
    """Every head of one kind: layers down, heads across; the last row and column are their mean (or maximum).

    Heads that are knocked out are crossed out. Arguments as in `head_map`. Raises UserError.
    """
    _checked(trace, kind, rows, summary, theme)
    attention = trace.attention(kind)
    row_labels, column_labels = ([plain(label) for label in _labels(trace, side)] for side in _sides(kind, rows))
    high, wide = len(row_labels), len(column_labels)
    down, across = _places(attention.layers), _places(attention.heads)
    named = attention.weights.numel() <= NAMED
    figure, shapes = Drawing(), []
    for layer, top, height in down:
        for head, left, width in across:
            weights, masked = _matrix(trace, kind, layer, head, summary)
            name = _name(trace, kind, layer, head, summary)
            links = _links(weights, masked, row_labels, column_labels) if named else None
            figure.add_heatmap(
                z=_shown(weights, masked), coloraxis="coloraxis", hoverongaps=named, name=plain(name),
                x0=left + width / wide / 2, dx=width / wide, y0=top + height / high / 2, dy=height / high,
                customdata=links,
                hovertemplate=f"{plain(name)}<br>{'%{customdata}' if named else '%{z:.4f}'}<extra></extra>",
            )  # fmt: skip
            corners = {"x0": left, "x1": left + width, "y0": top, "y1": top + height}
            shapes.append(
                {"type": "rect", **corners, "fillcolor": _toned(theme, 0.93, 0.88), "layer": "below",
                 "line": {"color": _toned(theme, 0.84, 0.84), "width": 1}}
            )  # fmt: skip
            if layer is not None and head is not None and bool(attention.zero[layer, head]):
                ink = {"type": "line", "line": {"color": INK, "width": 2}}
                turned = {**corners, "y0": top + height, "y1": top}
                shapes += [{**ink, **corners}, {**ink, **turned}]
    _coloured(figure, kind, theme)
    whole = translate(LABELS[summary])
    heads = [whole if head is None else f"H{head + 1}" for head, _left, _width in across]
    layers = [whole if layer is None else f"L{layer + 1}" for layer, _top, _height in down]
    axis = {"tickmode": "array", "showgrid": False, "showline": False, "ticks": ""}
    figure.update_layout(
        shapes=shapes,
        xaxis={**axis, "side": "top", "tickvals": [left + width / 2 for _head, left, width in across],
               "ticktext": heads},
        yaxis={**axis, "autorange": "reversed", "tickvals": [top + height / 2 for _layer, top, height in down],
               "ticktext": layers},
    )  # fmt: skip
    least, row, most = TILE
    height = round(sum(size for *_, size in down) * max(least, min(most, row * high)))
    _headed(figure, trace, plain(_("{kind}: every head", kind=_kind(trace, kind))), 30, height)
    return figure


def _places(count: int) -> list[tuple[int | None, float, float]]:
    """Index, start and size of every tile along an axis; the summary, None, comes last if there is more than one."""
    places: list[tuple[int | None, float, float]] = [(index, index * (1 + GAP), 1.0) for index in range(count)]
    return [*places, (None, count * (1 + GAP) + APART, MARGIN)] if count > 1 else places
