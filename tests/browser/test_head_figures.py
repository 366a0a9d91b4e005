"""The figures of heads are the page's picture: its colours, its order and its labels."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import BrowserContext

from tests.browser import canvas
from tests.browser.modules import open_modules
from tests.browser.navigation import sized_page
from tests.support.figures import colour_in
from transformer.figures.attention import HUES, head_grid, head_map, palette
from transformer.figures.style import INK, PAPER
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.tracing.trace import Trace
from transformer.view.page import html_page
from transformer.view.state import View

THEMES = ("light", "dark")
RAMP = """
([ground, ink, kind]) => {
  const box = document.createElement("div");
  box.style.setProperty("--hs-bg", ground);
  box.style.setProperty("--hs-ink", ink);
  document.body.append(box);
  return makeRamp(readTheme(box), kind).map((colour) => cssColour(colour));
}
"""


def test_the_colours_are_computed_as_in_the_browser(context: BrowserContext) -> None:
    page = context.new_page()
    open_modules(page, "core/colour.js")
    for theme in THEMES:
        for kind in HUES:
            drawn = page.evaluate(RAMP, [colour_in(theme, PAPER), colour_in(theme, INK), kind])
            assert drawn == palette(kind, theme), (theme, kind)


@pytest.fixture(scope="module")
def trace(model: Pretrained) -> Trace:
    trace = model.trace("The cat sleeps on the mat.", "Die Katze schläft.")
    return model.retrace(trace, Interventions.parse("zero=decoder_self.2.5"))


def near(drawn: np.ndarray, weights: np.ndarray, kind: str, theme: str) -> np.ndarray:
    """Whether each weight is drawn in its colour of the 256, or in a neighbour, because the page's grid has rounded
    weights and means of them."""
    ramp = canvas.ramp(kind, theme)
    steps = np.clip(np.rint(255 * weights)[:, None] + (-1, 0, 1), 0, 255).astype(int)  # [weight, candidate]
    return (ramp[steps] == drawn[:, None]).all(-1).any(-1)


@pytest.mark.parametrize(("kind", "theme"), [("encoder_self", "light"), ("decoder_self", "dark"), ("cross", "light")])
def test_the_figures_are_the_picture_of_the_page(
    context: BrowserContext, trace: Trace, tmp_path: Path, kind: str, theme: Any
) -> None:
    (tmp_path / "page.html").write_text(html_page(trace, View(kind=kind, layer=1, head=2)), encoding="utf-8")
    page = sized_page(context, 1440, 900, color_scheme=theme)
    page.goto((tmp_path / "page.html").as_uri())
    picture = page.get_by_test_id(f"grid-{kind}")
    tiles, grid = canvas.plot(picture), head_grid(trace, kind, theme=theme)
    assert len(tiles) == len(grid.data) == (4 + 1) * (8 + 1)
    assert [tile.name for tile in grid.data] == picture.locator("[role=gridcell]").all_text_contents()
    background = json.loads(f"[{grid.layout.shapes[0].fillcolor[4:-1]}]")
    for tile, figure in zip(tiles, grid.data, strict=True):
        if (tile["layer"], tile["head"]) == (1, 4) and kind == "decoder_self":
            continue  # knocked out: a cross lies over it, in the page and in the figure
        weights = np.asarray(figure.z, float)
        drawn, weights = canvas.colours(picture, canvas.in_tile(tile, *weights.shape)), weights.ravel()
        masked = np.isnan(weights)
        assert (drawn[masked] == background).all() and near(drawn[~masked], weights[~masked], kind, theme).all(), tile
    crossed = [shape for shape in grid.layout.shapes if shape.type == "line"]
    assert len(crossed) == (2 if kind == "decoder_self" else 0)

    picture = page.get_by_test_id(f"head-{kind}")
    head = head_map(trace, kind, 1, 2, theme=theme)
    weights = np.asarray(head.data[-1].z, float)
    at, masked = canvas.plot(picture), np.isnan(weights).ravel()
    assert weights.shape == (at["rows"], at["columns"])
    drawn = canvas.colours(picture, canvas.in_head(picture, 0.25, 0.25))
    assert near(drawn[~masked], weights.ravel()[~masked], kind, theme).all()
    rows, columns = (list(head.layout.meta["labels"][axis]) for axis in "yx")
    spoken = picture.get_attribute("aria-label") or ""
    for row, column in enumerate(np.nanargmax(weights, axis=1)):
        assert f"{rows[row]} to {columns[column]} {weights[row, column]:.2f}" in spoken
    assert page.get_by_text("Layer 2, head 3").count()
    assert head.layout.title.text.endswith("Layer 2, head 3 · changed: zero=decoder_self.2.5")


def test_a_figure_is_saved_as_png_and_svg(
    trace: Trace, browser_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what the extra [notebook] installs."""
    pytest.importorskip("kaleido")
    monkeypatch.setenv("BROWSER_PATH", browser_path)
    figure = head_map(trace, "cross", 1, 5)
    figure.write_image(tmp_path / "head.png", width=700)
    assert (tmp_path / "head.png").read_bytes().startswith(b"\x89PNG")
    figure.write_image(tmp_path / "head.svg")
    drawn = (tmp_path / "head.svg").read_text(encoding="utf-8")
    assert all(f">{label}<" in drawn for label in ("Katze", "sleep", "← predicted", "source →"))
