"""Grids of buttons as a Streamlit component: a number or a word for every head, or for every token of every layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from pages.frame.state import current_state
from transformer.texts import _
from transformer.view.bundle import script, style
from transformer.view.languages import browser_texts

Cell = tuple[int, int, int]  # panel, row, column, from 0

_grid = st.components.v2.component("headscope.headgrid", js=script("headgrid"), css=style("headgrid"))


def corner() -> list[str]:
    """What the columns and the rows of a panel of heads are."""
    return [_("head →"), _("layer ↓")]


def draw(
    key: str,
    region: str,
    panels: Sequence[Mapping[str, Any]],
    keys: Sequence[Mapping[str, Any]],
    chosen: Cell | None,
    on_pick: Callable[[Cell], None],
    stem: Sequence[str],
    caption: Sequence[str],
    rows: Sequence[Sequence[Any]],
    saves: bool = True,
) -> None:
    """Draw grids of buttons, one in each panel.

    key: unique in the app. region: what the grids show, for screen readers. panels, keys: the grids and the legend, as
        frontend/src/headgrid/component.js describes them. chosen: the cell that is marked.
    on_pick: called with the pressed cell before the page runs again.
    stem: parts of a saved file's name; caption: lines of the saved picture; rows: of the saved table, the headings
        first. saves: the grids are a picture that can be saved, not only a choice.
    """

    def picked() -> None:
        cell = getattr(st.session_state.get(key), "pick", None)
        if not isinstance(cell, list) or len(cell) != 3 or not all(type(part) is int for part in cell):
            return
        panel, row, column = cell
        cells = panels[panel]["cells"] if 0 <= panel < len(panels) else []
        if 0 <= row < len(cells) and 0 <= column < len(cells[row]):
            on_pick((panel, row, column))

    state = current_state()
    _grid(
        key=key,
        data={
            "region": region,
            "panels": list(panels),
            "keys": list(keys),
            "chosen": None if chosen is None else list(chosen),
            "saves": saves,
            "saved": {"stem": list(stem), "caption": [line for line in caption if line], "rows": [*map(list, rows)]},
            "big": bool(state and state.view.big),
            "texts": browser_texts("headgrid"),
        },
        on_pick_change=picked,
    )
