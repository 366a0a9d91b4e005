"""The anatomy in a browser: move through it and read what is drawn."""

import io
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy
from PIL import Image
from playwright.sync_api import Page

SENTENCE, TARGET = "The dog sees the cat.", "Der Hund sieht die Katze."


class Anatomy:
    """The drawing in a page; `at` is where the browser says that it stands."""

    def __init__(self, page: Page, server: str, **params: object) -> None:
        self.page = page
        asked = {"source": SENTENCE, "target": TARGET, **{name: str(value) for name, value in params.items()}}
        self.page.goto(f"{server}/anatomy?{urlencode(asked)}")
        self.element = self.page.locator("[data-testid=anatomy][data-drawn]")
        self.element.wait_for()
        self.settle()

    def read(self, code: str) -> Any:
        """The value of an expression, with the drawing as `anatomy`."""
        return self.element.evaluate(f"({{ anatomy }}) => {code}")

    def until(self, code: str) -> None:
        """Wait until an expression is true, with the drawing as `anatomy`."""
        self.page.wait_for_function(f"({{ anatomy }}) => {code}", arg=self.element.element_handle())

    def settle(self) -> None:
        """Wait until nothing moves, all data is loaded, and the server knows the state."""
        self.page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        self.element.evaluate(
            """async ({ anatomy }) => {
              const still = () => anatomy.stage.progress() >= 1 && !anatomy.stage.flowing && !anatomy.data.waiting;
              for (let i = 0, calm = 0; i < 400 && calm < 4; i++) {
                await new Promise((done) => setTimeout(done, 25));
                calm = still() ? calm + 1 : 0;
              }
            }"""
        )

    def told(self) -> None:
        """Report the state to the server now, not after the usual pause."""
        self.element.evaluate("({ anatomy }) => { clearTimeout(anatomy.reporting); anatomy.sendState(); }")
        self.page.wait_for_timeout(150)
        self.settle()

    def go(self, **partial: object) -> None:
        self.element.evaluate("({ anatomy }, partial) => anatomy.go(partial)", partial)
        self.told()

    def press(self, key: str) -> None:
        self.page.get_by_test_id("anatomy-stage").focus()
        self.page.keyboard.press(key)
        self.told()

    @property
    def at(self) -> dict[str, Any]:
        return self.read("anatomy.state")

    def picture(self) -> tuple[str, numpy.ndarray]:
        """What is drawn where, exactly; and a screenshot, [row, column, colour]."""
        items = self.element.evaluate(
            """({ anatomy }) => JSON.stringify(anatomy.stage.moving.map(({ item: { matrix, plain, ...item }, to }) =>
                 [item, to, matrix && matrix.id]))"""
        )
        # Not the text above it: its lines may be rounded to other pixels.
        shot = self.page.get_by_test_id("anatomy-canvas").screenshot(style=".hs-an-tell { visibility: hidden }")
        with Image.open(io.BytesIO(shot)) as image:
            return items, numpy.array(image.convert("RGB"), dtype=numpy.int16)

    def link(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.page.url).query).items()}
