"""Figures in the dark theme."""

from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec

import plotly.graph_objects as go

from transformer.figures.style import DARK

Arguments = ParamSpec("Arguments")


def in_theme(make: Callable[Arguments, go.Figure], theme: str = "dark") -> Callable[Arguments, go.Figure]:
    """The function of a figure with its keyword `theme`, which its type does not show."""
    untyped: Any = make
    return partial(untyped, theme=theme)


def colour_in(theme: str, colour: str) -> str:
    return DARK[colour] if theme == "dark" else colour
