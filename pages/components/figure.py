"""Figures on a page: Headscope's own component, drawn by plotly."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec

import streamlit as st

from pages.components.live_picture import for_browser
from pages.components.saving import describe_trace
from pages.runtime.session import reported
from pages.runtime.shared import SharedCache, fingerprint
from transformer.figures.drawing import Drawing, drawing
from transformer.texts import reader_language
from transformer.tracing.trace import TracedPair
from transformer.view.bundle import script, style

Arguments = ParamSpec("Arguments")

_figure = st.components.v2.component("headscope.figure", js=script("figure"), css=style("figure"), isolate_styles=False)


def theme() -> str:
    """ "light" or "dark", as the viewer's page is."""
    return "dark" if st.context.theme.type == "dark" else "light"


@dataclass(frozen=True)
class Built:
    """A figure ready to send. text: JSON; frames: their number; thinned: (labels, step) of every axis with space for a
    tick at only one label in `step`."""

    text: str
    frames: int
    thinned: tuple[tuple[int, int], ...]


def _thinned(made: Drawing) -> tuple[tuple[int, int], ...]:
    thinned = []
    for axis, labels in made.meta.get("labels", {}).items():
        ticks = made.layout[f"{axis[0]}axis{axis[1:]}"]["tickvals"]
        if len(ticks) < len(labels):
            thinned.append((len(labels), ticks[1] - ticks[0]))
    return tuple(thinned)


FIGURES: SharedCache[Built] = SharedCache("figures")  # 5 to 300 KB each


def built(make: Callable[Arguments, Any], *arguments: Arguments.args, **options: Arguments.kwargs) -> Built:
    """What a function of `transformer.figures` draws, in the viewer's theme and language: made once for all viewers
    with the same numbers."""
    asked: dict[str, Any] = {"theme": theme(), **options}

    def build() -> Built:
        made = drawing(make)(*arguments, **asked)
        return Built(made.to_json(), len(made.frames), _thinned(made))

    key = fingerprint(make.__module__, make.__qualname__, arguments, asked, reader_language().code)
    return FIGURES.get(key, build)


def draw(
    figure: Built,
    key: str,
    name: str,
    *,
    start: int | None = None,
    on_pick: Callable[[int], None] | None = None,
    first: bool = False,
    about: str = "",
    trace: TracedPair | None = None,
) -> int | None:
    """Show a figure with its title, equation and Save menu; with a slider if it has frames.

    key: unique in the app; name: stem of saved files; about: what their names add to it, such as the layer or token.
    trace: whose numbers are drawn, for the captions and names of saved files; None if the figure is of no sentence.
    start: the first frame to show. After a person has moved the slider, only the browser sets it: an old answer of the
    server would move it back.
    first: it makes the point of the page, and is no higher than the first screen has space for.
    on_pick: called with the index of the clicked point, bar or heatmap column, before the page runs again.
    Returns the frame a person chose in the browser, or None.
    """
    if reported(f"figure_{key}", "frame") is not None:
        start = None
    data = {
        "figure": figure.text,
        "name": name,
        "start": start,
        "pick": on_pick is not None,
        "first": first,
        "about": about,
        "told": None if trace is None else describe_trace(trace),
        **for_browser("figure"),
    }

    def picked() -> None:
        index = reported(f"figure_{key}", "pick")
        if on_pick is not None and isinstance(index, int | float) and 0 <= index < 1e9:
            on_pick(int(index))

    reported_now = _figure(key=f"figure_{key}", data=data, on_frame_change=lambda: None, on_pick_change=picked)
    frame = getattr(reported_now, "frame", None)
    return int(frame) if isinstance(frame, int | float) and 0 <= frame < figure.frames else None
