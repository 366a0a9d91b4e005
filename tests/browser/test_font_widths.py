"""Widths of letters for the layout tests under Node (frontend/src/anatomy/testing/widths.json), in Chromium."""

import json
from pathlib import Path

from playwright.sync_api import Browser, Page

WIDTHS = Path(__file__).parents[2] / "frontend" / "src" / "anatomy" / "testing" / "widths.json"
LETTERS = "".join(map(chr, [*range(0x20, 0x7F), *range(0xA1, 0x180), *range(0x391, 0x3CA)])) + "–—’“”…←↑→↓−√·×÷±≤≥Σ∞≠"


def measured(page: Page) -> dict[str, dict[str, str]]:
    """Weight -> width in thousandths of the size -> the letters so wide."""
    return page.evaluate(
        """(letters) => {
          const pen = document.createElement("canvas").getContext("2d");
          const widths = {};
          for (const weight of [400, 600]) {
            pen.font = `${weight} 1000px "DejaVu Sans"`;
            const found = (widths[weight] = {});
            for (const letter of letters) {
              const width = Math.round(pen.measureText(letter).width);
              found[width] = (found[width] ?? "") + letter;
            }
          }
          return widths;
        }""",
        LETTERS,
    )


def test_layout_tests_measure_with_the_widths_of_the_font(browser: Browser) -> None:
    page = browser.new_page()
    assert measured(page) == json.loads(WIDTHS.read_text(encoding="utf-8"))
    page.close()
