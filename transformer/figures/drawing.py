"""A figure as plain data, in the form of plotly's JSON.

Plotly checks everything that is put into a figure of its own, which takes 10 to 30 ms. Functions of this package fill
a `Drawing`, which checks nothing. Under `plotly_figure` they return a `plotly.graph_objects.Figure`, made and checked
once; pages send the JSON of the drawing. `tests/figures/test_every_figure.py` compares both.
"""

from __future__ import annotations

import base64
import functools
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, cast

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go

Arguments = ParamSpec("Arguments")
SHORT = {"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4", "float32": "f4",
         "float64": "f8"}  # fmt: skip


class Drawing:
    """data: the traces; layout; frames: of the slider. Names and values are plotly's, with two short forms: a title may
    be its text alone, and None is left out."""

    def __init__(self) -> None:
        self.data: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {}
        self.frames: list[dict[str, Any]] = []
        self.dark: Mapping[str, str] = {}  # colour -> the same in the dark theme

    def _add(self, kind: str, trace: Mapping[str, Any]) -> Drawing:
        self.data.append(merged({"type": kind}, trace))
        return self

    def add_scatter(self, **trace: Any) -> Drawing:
        return self._add("scatter", trace)

    def add_bar(self, **trace: Any) -> Drawing:
        return self._add("bar", trace)

    def add_heatmap(self, **trace: Any) -> Drawing:
        return self._add("heatmap", trace)

    def add_shape(self, **shape: Any) -> Drawing:
        self.layout.setdefault("shapes", []).append(shape)
        return self

    def add_frame(self, name: str, data: Sequence[dict[str, Any]], **frame: Any) -> Drawing:
        """data: what of the traces changes, each with its type."""
        self.frames.append({"name": name, "data": data, **frame})
        return self

    @property
    def meta(self) -> dict[str, Any]:
        """What the browser needs to know beside the picture."""
        return self.layout.setdefault("meta", {})

    def update_layout(self, **layout: Any) -> Drawing:
        """Merge into the layout; lists and `meta` are replaced."""
        merged(self.layout, layout)
        return self

    def in_dark(self) -> Drawing:
        """The same figure in the dark theme."""
        figure = Drawing()
        figure.data, figure.layout, figure.frames = (
            _in_dark(part, self.dark, False) for part in (self.data, self.layout, self.frames)
        )
        return figure

    def to_json(self) -> str:
        """As plotly writes it: arrays of numbers in base64, NaN as null."""
        made = {"data": self.data, "layout": self.layout, **({"frames": self.frames} if self.frames else {})}
        text = json.dumps(_packed(made), default=lambda numbers: numbers.tolist(), separators=(",", ":"))
        if "NaN" in text or "Infinity" in text:
            text = json.dumps(json.loads(text, parse_constant=lambda _: None), separators=(",", ":"))
        return text

    def figure(self) -> go.Figure:
        """Plotly's figure. Raises ValueError for what plotly does not know."""
        import plotly.graph_objects as go

        made = go.Figure(self.data, self.layout, self.frames)
        made.layout.template = None
        return made


def merged(into: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Merge `more` into nested dictionaries; its values replace older ones, as does the whole of `meta`, and None
    removes them."""
    for name, value in more.items():
        if name == "title" and isinstance(value, str):
            value = {"text": value}
        if value is None:
            into.pop(name, None)
        elif isinstance(value, dict) and name != "meta":
            inner = into.get(name)
            into[name] = merged(inner if isinstance(inner, dict) else {}, value)
        else:
            into[name] = value
    return into


def _in_dark(value: Any, dark: Mapping[str, str], coloured: bool) -> Any:
    """The same with other colours. coloured: whether the value's name says that texts in it are colours."""
    if isinstance(value, dict):
        return {
            name: _in_dark(one, dark, coloured or "color" in name or name == "scales") for name, one in value.items()
        }
    if isinstance(value, list | tuple) and value and (coloured or isinstance(value[0], dict)):
        return [_in_dark(one, dark, coloured) for one in value]
    return dark.get(value, value) if coloured and isinstance(value, str) else value


def _packed(value: Any) -> Any:
    """The same with arrays as plotly.js reads them fastest."""
    if isinstance(value, dict):
        return {name: _packed(one) for name, one in value.items() if one is not None}
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        return [_packed(one) for one in value]
    if isinstance(value, np.ndarray) and value.size:
        if value.dtype == np.int64:  # plotly.js has no such arrays
            enough = [kind for kind in ("int8", "int16", "int32") if np.array_equal(value.astype(kind), value)]
            value = value.astype(enough[0] if enough else object)
        if kind := SHORT.get(str(value.dtype)):
            packed = {"dtype": kind, "bdata": base64.b64encode(value.tobytes()).decode("ascii")}
            return packed | ({"shape": ", ".join(map(str, value.shape))} if value.ndim > 1 else {})
    return value


def plotly_figure(draw: Callable[Arguments, Drawing]) -> Callable[Arguments, go.Figure]:
    """The function with plotly's figure as its result, and the keyword `theme`, "light" or "dark"."""

    @functools.wraps(draw)
    def made(*arguments: Arguments.args, **options: Arguments.kwargs) -> go.Figure:
        return drawing(draw)(*arguments, **options).figure()

    return made


def drawing(make: Callable[Arguments, Any]) -> Callable[Arguments, Drawing]:
    """The function that is under `plotly_figure`, with the keyword `theme`. A function that mixes colours takes the
    theme itself."""
    draw: Any = inspect.unwrap(make)
    mixes = "theme" in inspect.signature(draw).parameters

    def drawn(*arguments: Any, theme: str = "light", **options: Any) -> Drawing:
        figure = draw(*arguments, **options, **({"theme": theme} if mixes else {}))
        return figure.in_dark() if theme == "dark" else figure

    return cast(Callable[Arguments, Drawing], drawn)
