"""Grids of buttons as a Streamlit component: a number or a word for every head, or for every token of every layer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from pages.components.live_picture import for_browser
from pages.runtime.session import reported
from transformer.texts import _
from transformer.view.bundle import script, style

Cell = tuple[int, int, int]  # panel, row, column, from 0

_grid = st.components.v2.component("headscope.headgrid", js=script("headgrid"), css=style("headgrid"))


def panel_of_heads(kind: str, title: str, cells: Sequence[Any], heads: int, *more: str) -> dict[str, Any]:
    """A panel with a row for each layer and a column for each head. more: names of columns after them."""
    columns = [*map(str, range(1, heads + 1)), *more]
    rows = [*map(str, range(1, len(cells) + 1))]
    corner = [_("head →"), _("layer ↓")]
    return {"kind": kind, "title": title, "corner": corner, "rows": rows, "columns": columns, "cells": cells}


def draw(
    key: str,
    region: str,
    panels: Sequence[Mapping[str, Any]],
    stem: Sequence[str],
    caption: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    keys: Sequence[Mapping[str, Any]] = (),
    chosen: Cell | None = None,
    on_pick: Callable[[Cell], None] = lambda cell: None,
    saves: bool = True,
) -> None:
    """Draw grids of buttons, one in each panel.

    key: unique in the app. region: what the grids show, for screen readers. panels, keys: the grids and the legend, as
        frontend/src/headgrid/component.js describes them. chosen: the cell that is marked.
    stem: parts of a saved file's name; caption: lines of the saved picture; rows: of the saved table, the headings
        first. saves: the grids are a picture that can be saved, not only a choice.
    on_pick: called with the pressed cell before the page runs again.
    """

    def picked() -> None:
        cell = reported(key, "pick")
        if not isinstance(cell, list) or len(cell) != 3 or not all(type(part) is int for part in cell):
            return
        panel, row, column = cell
        cells = panels[panel]["cells"] if 0 <= panel < len(panels) else []
        if 0 <= row < len(cells) and 0 <= column < len(cells[row]):
            on_pick((panel, row, column))

    _grid(
        key=key,
        data={
            "region": region,
            "panels": list(panels),
            "keys": list(keys),
            "chosen": None if chosen is None else list(chosen),
            "saves": saves,
            "saved": {"stem": list(stem), "caption": [line for line in caption if line], "rows": [*map(list, rows)]},
            **for_browser("headgrid"),
        },
        on_pick_change=picked,
    )
