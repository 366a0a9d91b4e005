"""A page with the picture of runs, and the messages that it sends."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.support.server import WAIT


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
        for _ in range(WAIT // 50):
            if self.tell(f"Boolean({code})"):
                return
            self.page.wait_for_timeout(50)
        pytest.fail(f"it is not so: {code}")

    def slide(self, index: int) -> None:
        """To the step of a recorded frame."""
        slider = self.page.get_by_test_id("training-slider")
        slider.fill(str(self.tell(f"v.run.frames[{index}].step")))
