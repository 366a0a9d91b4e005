"""A page with the picture of runs while they train, and what its pixels should be."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from playwright.sync_api import Page

from tests.browser.training_runs import MadeUp, Sizes
from transformer.figures.attention import palette

PAPER, INK = (252, 252, 251), (22, 24, 29)
SMALL = Sizes(2, 4, 10, 400)
RUNNING = "[data-testid=stApp][data-test-script-state=running]"


class Picture:
    """A page with the picture, and the messages it sends."""

    def __init__(self, page: Page, link: str) -> None:
        self.page = page
        self.sent: list[Any] = []
        page.on("websocket", lambda socket: socket.on("framesent", lambda frame: self.sent.append(frame)))
        page.goto(link)
        page.wait_for_selector("[data-frame]")
        self.root = page.get_by_test_id("training")

    def tell(self, code: str) -> Any:
        """The value of an expression, with the view as `v`."""
        return self.root.evaluate(f"(element) => {{ const v = element.training; return {code}; }}")

    def until(self, code: str) -> None:
        """Wait until an expression is true."""
        deep = "[...document.querySelectorAll('*')].flatMap((e) => e.shadowRoot ? [e.shadowRoot] : [document])"
        find = f"{deep}.map((root) => root.querySelector('[data-testid=training]')).find(Boolean)"
        self.page.wait_for_function(f"() => {{ const e = {find}; const v = e && e.training; return v && ({code}); }}")

    def done(self) -> Picture:
        """Wait until all recorded frames are loaded, nothing moves, and polling has ended."""
        self.until("v.store.runs.length && !v.store.active && !v.store.lacks && !v.player.moving(v.shown)")
        self.page.wait_for_selector(RUNNING, state="detached")
        return self

    def slide(self, index: int) -> None:
        """To the step of a recorded frame."""
        slider = self.page.get_by_test_id("training-slider")
        slider.fill(str(self.tell(f"v.run.frames[{index}].step")))

    def cards(self) -> list[str]:
        return self.page.get_by_test_id("training-run").all_inner_texts()

    def log(self) -> Any:
        """What the page of the test says of asks and commands."""
        return json.loads(self.page.get_by_test_id("stText").first.inner_text())


def pixels(canvas: Any, places: list[tuple[float, float]]) -> np.ndarray:
    """Colours of a canvas at places in CSS pixels."""
    code = """(canvas, places) => {
      const ratio = canvas.width / canvas.getBoundingClientRect().width;
      const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const at = ([x, y]) => 4 * (Math.floor(y * ratio) * width + Math.floor(x * ratio));
      return places.map((place) => [...data.slice(at(place), at(place) + 3)]);
    }"""
    return np.array(canvas.evaluate(code, places))


def expected(run: MadeUp, index: int, kind: str, layer: int, head: int) -> np.ndarray:
    """The colour of every cell of a head, row after row; where the mask hides it that of a masked cell."""
    matrix = run.every[index].attention(run.opening)[kind][layer, head]
    colours = np.array([json.loads(f"[{colour[4:-1]}]") for colour in palette(kind, "light")], float)[matrix]
    if kind == "decoder_self" and run.experiment.causal:
        masked = np.floor(np.array(INK) + (np.array(PAPER) - np.array(INK)) * 0.93 + 0.5)
        colours[np.triu_indices(len(matrix), 1)] = masked
    return colours.reshape(-1, 3)


def tile(picture: Picture, kind: str, layer: int, head: int, cells: int) -> np.ndarray:
    grid = picture.page.get_by_test_id(f"training-grid-{kind}")
    tiles = json.loads(grid.get_attribute("data-plot") or "")
    place = next(one for one in tiles if (one["layer"], one["head"]) == (layer, head))
    at = [(i + 0.5) / cells for i in range(cells)]
    return pixels(grid, [(place["x"] + place["w"] * c, place["y"] + place["h"] * r) for r in at for c in at])


def enlarged(canvas: Any) -> np.ndarray:
    """Colours of all cells of a head that is drawn alone."""
    plot = json.loads(canvas.get_attribute("data-plot") or "")
    rows, columns = ([i + 0.5 for i in range(plot[name])] for name in ("rows", "columns"))
    return pixels(
        canvas, [(plot["left"] + plot["cw"] * c, plot["top"] + plot["ch"] * r) for r in rows for c in columns]
    )
