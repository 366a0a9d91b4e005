"""How every figure looks: the project's colours, light and dark, big enough for a projector."""

from __future__ import annotations

import plotly.graph_objects as go

INK = {"light": "#16181d", "dark": "#e8eaee"}
LINE = {"light": "#e3e5e8", "dark": "#2a2f38"}
BLUE = {"light": "#0b63b0", "dark": "#6db7ff"}
ORANGE = {"light": "#b5490a", "dark": "#ff9e5e"}
PURPLE = {"light": "#7a2f8f", "dark": "#d795ea"}


def dressed(figure: go.Figure, theme: str = "light", height: int = 380) -> go.Figure:
    """The figure in the colours of a theme, "light" or "dark", on a transparent ground."""
    figure.update_layout(
        template=None,
        height=height,
        margin={"l": 60, "r": 60, "t": 16, "b": 50},
        font={"size": 15, "color": INK[theme], "family": "Source Sans, Source Sans Pro, system-ui, sans-serif"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "y": -0.32, "x": 0, "yanchor": "top"},
        hovermode="x unified",
        hoverlabel={"bgcolor": LINE[theme], "font": {"color": INK[theme]}},
    )
    figure.update_xaxes(gridcolor=LINE[theme], linecolor=LINE[theme], zeroline=False)
    figure.update_yaxes(gridcolor=LINE[theme], linecolor=LINE[theme], zeroline=False)
    return figure
