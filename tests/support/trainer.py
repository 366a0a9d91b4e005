"""A viewer who trains a model on the page Training."""

from typing import Any

from tests.support.payloads import unpack
from tests.support.viewer import Viewer

ACTIVE = ("waiting", "starting", "training", "paused")


class Trainer(Viewer):
    """Presses Train, and asks for what is new as the page's picture does.

    held: run -> frames that the picture has; found: how its runs stand.
    """

    def __init__(self, host: str) -> None:
        super().__init__(host, "training")
        self.held: dict[str, int] = {}
        self.found: list[dict[str, Any]] = []
        self.number = 0

    async def begin(self) -> None:
        await self.open()
        await self.press("training_train")

    async def tell(self, event: str, **value: Any) -> list[dict[str, Any]]:
        """Send an event of the picture; how its runs stand."""
        self.number += 1
        await self.trigger("headscope.training", event, {"have": self.held, "n": self.number, **value})
        self.found = unpack(self.feeds["headscope.training_feed"])[0]["runs"]
        for one in self.found:
            if one["from"] == self.held.get(one["id"], 0):
                self.held[one["id"]] = one["from"] + len(one["frames"])
        return self.found

    async def ask(self) -> list[dict[str, Any]]:
        return await self.tell("ask")
