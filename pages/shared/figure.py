"""Figures on a page: through a component of ours, with Streamlit's own plotly."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import pandas  # noqa: F401 (first of all: plotly fails on one that another viewer's run has half imported)
import streamlit as st

from pages.shared.state import current
from pages.shared.texts import _
from transformer.figures.style import Figure
from transformer.view.bundle import script, style

_figure = st.components.v2.component(
    "headscope.figure", js=script("figure.js"), css=style("figure.css"), isolate_styles=False
)


def texts() -> dict[str, str]:
    """What stands around a figure in the browser, translated."""
    return {
        "save": _("Save"),
        "save_png": _("Picture (PNG)"),
        "save_svg": _("Picture (SVG)"),
        "save_csv": _("Its numbers (CSV)"),
        "failed": _("This figure cannot be drawn: {reason}"),
        "missing": _("the plotting library did not arrive; reload the page"),
        "read": _("{title}: {count} numbers, from {low} to {high}. The arrow keys read them one by one."),
        "read_none": _("{title}: nothing to read yet"),
    }


def theme() -> str:
    """ "light" or "dark", as the viewer's page is."""
    return "dark" if st.context.theme.type == "dark" else "light"


def prepare() -> None:
    """Make the browser fetch plotly: a small chart of Streamlit's own, out of sight. Once a run, as early as can be."""
    with st.container(key="hs-plotly"):
        st.plotly_chart(
            {"data": [{"type": "scatter", "x": [0], "y": [0]}], "layout": {"height": 20}},
            key="hs-plotly-chart",
            height=20,
        )


@st.cache_resource(max_entries=128, show_spinner=False)
def _kept(kept: Hashable, _make: Callable[[], Figure]) -> tuple[str, int]:
    """JSON of a figure, and how many frames it has."""
    made = _make()
    return made.to_json(), len(made.frames)


def draw(
    figure: Figure | Callable[[], Figure],
    key: str,
    name: str,
    *,
    start: int | None = None,
    on_pick: Callable[[int], None] | None = None,
    kept: Hashable = None,
) -> int | None:
    """Show a figure with its title, equation and Save menu; with a slider if it has frames.

    figure: or how it is made, which is done once for all viewers with the same `kept`: for those that take long, one
    with 41 frames 60 ms. key: unique in the app; name: stem of saved files; start: the frame to begin with, or where a
    person left it. Once a person moved the slider, where it stands is the browser's to say: an answer that is older
    than the next move would throw it back. on_pick: told the index of the point or bar a person clicked, of a heatmap
    that of the column, before the page runs again. Returns the frame a person chose in the browser, None before.
    """
    state = current()
    reported = st.session_state.get(f"figure_{key}")
    if reported is not None and reported.get("frame") is not None:
        start = None
    if callable(figure):
        text, frames = _kept((key, kept, theme()), figure)
    else:
        text, frames = figure.to_json(), len(figure.frames)
    data = {
        "figure": text,
        "name": name,
        "big": bool(state and state.view.big),
        "start": start,
        "pick": on_pick is not None,
        "texts": texts(),
    }

    def picked() -> None:
        at = st.session_state[f"figure_{key}"].get("pick")
        if on_pick is not None and isinstance(at, int | float) and 0 <= at < 1e9:
            on_pick(int(at))

    found = _figure(key=f"figure_{key}", data=data, on_frame_change=lambda: None, on_pick_change=picked)
    at = getattr(found, "frame", None)
    return int(at) if isinstance(at, int | float) and 0 <= at < frames else None
