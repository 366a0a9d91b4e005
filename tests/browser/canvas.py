"""Pictures of heads on a canvas: where their cells are, what a pointer reads there, and their colours."""

import json
from typing import Any

import numpy as np
from playwright.sync_api import Locator, expect

from transformer.figures.attention import palette
from transformer.figures.style import INK, PAPER

Places = list[tuple[float, float]]  # in CSS pixels
COLOURS = """(canvas, places) => {
  const ratio = canvas.width / canvas.clientWidth;
  const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const at = ([x, y]) => 4 * (Math.floor(y * ratio) * width + Math.floor(x * ratio));
  return places.map((place) => [...data.slice(at(place), at(place) + 3)]);
}"""


def plot(canvas: Locator) -> Any:
    """Where a picture says that its parts are."""
    return json.loads(canvas.get_attribute("data-plot") or "null")


def tile(grid: Locator, layer: int | str, head: int | str) -> dict[str, Any]:
    """Where a head is in a grid of heads; "all": a summary."""
    return next(one for one in plot(grid) if (one["layer"], one["head"]) == (layer, head))


def click_tile(grid: Locator, layer: int | str, head: int | str) -> None:
    at = tile(grid, layer, head)
    grid.click(position={"x": at["x"] + at["w"] / 2, "y": at["y"] + at["h"] / 2})


def cell(head: Locator, row: int, column: int) -> Any:
    """The middle of a cell of a head that is drawn alone, as a position to click."""
    at = plot(head)
    return {"x": at["left"] + (column + 0.5) * at["cw"], "y": at["top"] + (row + 0.5) * at["ch"]}


def read_cell(head: Locator, row: int, column: int) -> str:
    """What the tooltip says over a cell of a head that is drawn alone."""
    head.hover(position=cell(head, row, column))
    tooltip = head.page.get_by_test_id("tooltip").first
    expect(tooltip).to_be_visible()
    return tooltip.inner_text()


def in_tile(at: dict[str, Any], rows: int, columns: int) -> Places:
    """The middles of all cells of a tile, row after row."""
    size = at["w"] / columns, at["h"] / rows
    return [(at["x"] + (c + 0.5) * size[0], at["y"] + (r + 0.5) * size[1]) for r, c in np.ndindex(rows, columns)]


def in_head(head: Locator, x: float = 0.5, y: float = 0.5) -> Places:
    """A place in every cell of a head that is drawn alone, row after row; x, y: as shares of the cell."""
    at = plot(head)
    return [
        (at["left"] + (c + x) * at["cw"], at["top"] + (r + y) * at["ch"])
        for r, c in np.ndindex(at["rows"], at["columns"])
    ]


def colours(canvas: Locator, places: Places) -> np.ndarray:
    """[place, colour]"""
    return np.array(canvas.evaluate(COLOURS, places))


def ramp(kind: str, theme: str = "light") -> np.ndarray:
    """The colours of weights in eight bits, [byte, colour]."""
    return np.array([json.loads(f"[{colour[4:-1]}]") for colour in palette(kind, theme)])


def recorded(weights: np.ndarray, kind: str, causal: bool = False) -> np.ndarray:
    """The colours of weights in eight bits [..., query, key] in the light theme, cell by cell, [cell, colour].
    causal: the mask hides cells above the diagonal."""
    found = ramp(kind)[weights].astype(float)
    if causal:
        paper, ink = (np.array([*bytes.fromhex(one[1:])]) for one in (PAPER, INK))
        found[..., *np.triu_indices(weights.shape[-1], 1), :] = np.floor(ink + (paper - ink) * 0.93 + 0.5)
    return found.reshape(-1, 3)
