"""The look of every figure: the project's colours, light and dark, large enough for a projector.

A figure has a title and, below it, the equation it draws, in plotly's small markup (`<i>`, `<sub>`, `<sup>`, `<b>`).
Text that a person typed goes through `plain` and `printable` first.
"""

import html
import unicodedata
from collections.abc import Sequence
from typing import Any

from transformer.figures.drawing import Drawing, merged

INK, PAPER, LINE, GREY = "#16181d", "#fcfcfb", "#e3e5e8", "#5f6672"
BLUE = "#0b63b0"  # source, encoder
ORANGE = "#b5490a"  # target, decoder
PURPLE = "#7a2f8f"  # cross-attention alone
TEAL = "#00727f"  # what belongs to neither side
PALETTE = (INK, PAPER, LINE, GREY, BLUE, ORANGE, PURPLE, TEAL)
# Of what a head does, as in frontend/src/headgrid/headgrid.css.
ROLE = {
    "previous": BLUE, "same": "#4a7a1e", "next": "#008299", "predicted": PURPLE, "fed": ORANGE, "resting": "#7d8490",
    "punctuation": "#a3780a", "rarest": "#b0306a", "broad": "#a0764e",
}  # fmt: skip
DARK = {  # colour -> the same in the dark theme
    INK: "#e8eaee", PAPER: "#101216", LINE: "#2a2f38", GREY: "#9aa3b0", BLUE: "#6db7ff", ORANGE: "#ff9e5e",
    PURPLE: "#d795ea", TEAL: "#4fd0d9", ROLE["same"]: "#a3d977", ROLE["next"]: "#4fd3e6", ROLE["resting"]: "#aab2bf",
    ROLE["punctuation"]: "#ecc94b", ROLE["rarest"]: "#ff8fb8", ROLE["broad"]: "#d9b48f",
}  # fmt: skip
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


def ramp(colour: str) -> list[list[float | str]]:
    """A colour scale from the background to one of the project's colours, monotonic in lightness."""
    return [[0.0, PAPER], [1.0, colour]]


def diverging(colour: str = TEAL) -> list[list[float | str]]:
    """A colour scale for values below and above 0: ink, background, the given colour. Give it zmid=0.

    Blue and orange name the two sides, so they cannot also name signs; the lab draws differences in the same way.
    """
    return [[0.0, INK], [0.5, PAPER], [1.0, colour]]


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


def dressed(figure: Drawing, height: int = 380) -> Drawing:
    """The figure on a transparent background. Call it last.

    `layout.meta["palette"]` holds the same colours in both themes, so that a browser can swap them when its theme
    changes, as `Drawing.in_dark` does.
    """
    layout = figure.layout
    above = bool(layout.get("title", {}).get("text"))
    below = 130 if "x" in figure.meta.get("labels", {}) else 74  # pixels: ticks, which may slant; title
    figure.meta["palette"] = {"light": list(PALETTE), "dark": [DARK[colour] for colour in PALETTE]}
    figure.dark = DARK
    more: dict[str, Any] = {
        "hovermode": layout.get("hovermode", "x unified"),
        "height": height + (64 if above else 0),
        "margin": {"l": 60, "r": 60, "t": 80 if above else 16, "b": 50},
        "title": {"x": 0, "xref": "paper", "xanchor": "left", "font": {"size": SIZE + 3},
                  "subtitle": {"font": {"size": SIZE, "color": GREY}}},
        "font": {"size": SIZE, "color": INK, "family": FONT},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "legend": {"orientation": "h", "y": -below / max(120, height - 66), "x": 0, "yanchor": "top"},
        "hoverlabel": {"bgcolor": LINE, "font": {"color": INK, "family": FONT}},
    }  # fmt: skip
    axis = {"gridcolor": LINE, "linecolor": LINE, "zeroline": False, "automargin": True}
    for name in {"xaxis", "yaxis", *layout}:
        if name.startswith("xaxis"):
            more[name] = {**axis, "title": {"standoff": 8}}
        elif name.startswith("yaxis"):
            more[name] = axis
    merged(layout, more)
    return figure
