"""Every figure of the pages says what it shows and which equation it draws, and is small enough to send."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.app import figures
from transformer.figures.style import PALETTE

PARTS = {
    "positions": ("learned", "order"),
    "embeddings": ("norms", "neighbours", "map", "residual", "lens", "output"),
    "feedforward": ("neurons", "nonlinearity"),
}


@pytest.mark.slow
@pytest.mark.parametrize("page, part", [(page, part) for page, parts in PARTS.items() for part in parts])
def test_figures_bring_title_equation_axes_and_both_palettes(
    open_page: Callable[..., AppTest], page: str, part: str
) -> None:
    app = open_page(page, part=part)
    drawn = figures(app)
    assert not app.exception and drawn
    for name, figure in drawn.items():
        layout = figure["layout"]
        assert layout["title"]["text"] and layout["title"]["subtitle"]["text"], name
        assert layout["meta"]["palette"] == {
            theme_name: [colour[theme_name] for colour in PALETTE] for theme_name in ("light", "dark")
        }
        assert layout["font"]["size"] >= 15 and layout["paper_bgcolor"] == "rgba(0,0,0,0)"
        for axis_name, axis in layout.items():
            if axis_name.startswith("xaxis"):  # named, unless tokens stand under it
                assert axis.get("title", {}).get("text") or axis_name.replace("axis", "") in layout["meta"]["labels"], (
                    name,
                    axis_name,
                )
        assert {trace["type"] for trace in figure["data"]} <= {"scatter", "bar", "heatmap"}
