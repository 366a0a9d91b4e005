"""The look of every figure: the project's colours, light and dark, large enough for a projector.

A figure has a title and, below it, the equation it draws, in plotly's small markup (`<i>`, `<sub>`, `<sup>`, `<b>`).
Text that a person typed goes through `plain` and `printable` first.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence
from typing import Any

from transformer.figures.drawing import Drawing, merged

INK = {"light": "#16181d", "dark": "#e8eaee"}
PAPER = {"light": "#fcfcfb", "dark": "#101216"}
LINE = {"light": "#e3e5e8", "dark": "#2a2f38"}
GREY = {"light": "#5f6672", "dark": "#9aa3b0"}
BLUE = {"light": "#0b63b0", "dark": "#6db7ff"}  # source, encoder
ORANGE = {"light": "#b5490a", "dark": "#ff9e5e"}  # target, decoder
PURPLE = {"light": "#7a2f8f", "dark": "#d795ea"}  # cross-attention alone
TEAL = {"light": "#00727f", "dark": "#4fd0d9"}  # what belongs to neither side
PALETTE = (INK, PAPER, LINE, GREY, BLUE, ORANGE, PURPLE, TEAL)
FONT = "Source Sans, Source Sans Pro, system-ui, sans-serif"
SIZE = 15
MOST_LABELS = 40  # tick labels on one axis: more can neither be read nor drawn quickly
LONGEST_LABEL = 18
GUIDE = "guide"  # `meta` of a trace that holds no numbers of its own: the CSV download leaves it out


def plain(text: str) -> str:
    """Text as plotly shows it letter by letter: markup stays text, and control characters become dots."""
    shown = "".join(
        "·" if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") else character for character in text
    )
    return html.escape(shown, quote=False)


def short(text: str, longest: int = LONGEST_LABEL) -> str:
    """`plain` text, cut with … if it is too long for an axis."""
    return plain(text if len(text) <= longest else text[: longest - 1] + "…")


def ramp(colour: dict[str, str], theme: str) -> list[list[float | str]]:
    """A colour scale from the background to one of the project's colours, monotonic in lightness."""
    return [[0.0, PAPER[theme]], [1.0, colour[theme]]]


def diverging(theme: str, colour: dict[str, str] = TEAL) -> list[list[float | str]]:
    """A colour scale for values below and above 0: ink, background, the given colour. Give it zmid=0.

    Blue and orange name the two sides, so they cannot also name signs; the lab draws differences in the same way.
    """
    return [[0.0, INK[theme]], [0.5, PAPER[theme]], [1.0, colour[theme]]]


def nth(axis: str, number: int) -> str:
    """The name of a plot's axis, ("x", 2) -> "x2"; the first has no number."""
    return axis if number == 1 else f"{axis}{number}"


def label_axis(figure: Drawing, axis: str, labels: Sequence[str], most: int = MOST_LABELS) -> Drawing:
    """Label the numbers 0, 1, ... of an axis ("x", "y", "x2", ...) with tokens, which may repeat.

    Of many labels only every second, third, ... is drawn; all of them are in `layout.meta["labels"][axis]`, where the
    CSV download finds them.
    """
    step = -(-len(labels) // most) or 1
    ticks = list(range(0, len(labels), step))
    ticks_of_axis = {"tickmode": "array", "tickvals": ticks, "ticktext": [short(labels[tick]) for tick in ticks]}
    name = f"{axis[0]}axis{axis[1:]}"
    figure.meta.setdefault("labels", {})[axis] = list(labels)
    return figure.update_layout(**{name: ticks_of_axis})


def titled(figure: Drawing, title: str, equation: str = "") -> Drawing:
    """Set the title above the figure, and the equation below the title. Both may hold plotly's markup."""
    return figure.update_layout(title={"text": title, "subtitle": {"text": equation}})


def slider(figure: Drawing, label: str, start: int = 0) -> Drawing:
    """A slider over the frames of a figure, labelled with their names; the figure shows frame `start` first."""
    steps = [
        {
            "label": frame["name"],
            "method": "animate",
            "args": [[frame["name"]], {"mode": "immediate", "frame": {"duration": 0, "redraw": True}}],
        }
        for frame in figure.frames
    ]
    return figure.update_layout(sliders=[{"active": start, "steps": steps, "currentvalue": {"prefix": f"{label}: "}}])


def dressed(figure: Drawing, theme: str = "light", height: int = 380) -> Drawing:
    """The figure in the colours of a theme, "light" or "dark", on a transparent background. Call it last.

    `layout.meta["palette"]` holds the same colours in both themes, so that a browser can swap them when its theme
    changes.
    """
    layout = figure.layout
    above = bool(layout.get("title", {}).get("text"))
    below = 130 if "x" in figure.meta.get("labels", {}) else 74  # pixels: ticks, which may slant; title
    figure.meta["palette"] = {name: [colour[name] for colour in PALETTE] for name in ("light", "dark")}
    more: dict[str, Any] = {
        "hovermode": layout.get("hovermode", "x unified"),
        "height": height + (64 if above else 0),
        "margin": {"l": 60, "r": 60, "t": 80 if above else 16, "b": 50},
        "title": {"x": 0, "xref": "paper", "xanchor": "left", "font": {"size": SIZE + 3},
                  "subtitle": {"font": {"size": SIZE, "color": GREY[theme]}}},
        "font": {"size": SIZE, "color": INK[theme], "family": FONT},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "legend": {"orientation": "h", "y": -below / max(120, height - 66), "x": 0, "yanchor": "top"},
        "hoverlabel": {"bgcolor": LINE[theme], "font": {"color": INK[theme], "family": FONT}},
    }  # fmt: skip
    axis = {"gridcolor": LINE[theme], "linecolor": LINE[theme], "zeroline": False, "automargin": True}
    for name in {"xaxis", "yaxis", *layout}:
        if name.startswith("xaxis"):
            more[name] = {**axis, "title": {"standoff": 8}}
        elif name.startswith("yaxis"):
            more[name] = axis
    merged(layout, more)
    return figure
