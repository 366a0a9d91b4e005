"""A model that a visitor brings back, over the real websocket of a real server: what is read, and what is too much."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

import transformer
from tests.support.server import App, running
from tests.support.viewer import Viewer
from transformer.checkpoints.archive import zipped
from transformer.view.training_messages import LARGEST_FILE

pytestmark = pytest.mark.slow  # large files

Answer = TypeVar("Answer")
FILE = "headscope.training_file"
MESSAGE = 25_000_000  # bytes of a message that Streamlit takes (server.maxWidgetStateSize)


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    with running(transformer.load("reverse").path, "--trainings", "0") as found:
        yield found


def run(asked: Coroutine[Any, Any, Answer]) -> Answer:
    """`asyncio.run` in a thread of its own: in this one Playwright, once used, has a loop of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, asked).result()


def a_zip(size: int) -> bytes:
    """A bundled checkpoint beside a file that no checkpoint has, which is not read; so many bytes in all."""
    folder = transformer.load("reverse").path
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    size -= len(zipped({**files, "padding": b""}, "reverse"))
    return zipped({**files, "padding": os.urandom(size - size // 1000)}, "reverse")


class Bringer(Viewer):
    """A viewer of the training page who brings files. messages: text of the page's messages."""

    def __init__(self, host: str) -> None:
        super().__init__(host, "training")
        self.messages = ""

    def _take(self, message: ForwardMsg) -> bool:
        if message.WhichOneof("type") == "new_session":
            self.messages = ""
        if message.WhichOneof("type") == "delta" and "hs-message" in message.delta.new_element.html.body:
            self.messages += message.delta.new_element.html.body
        return super()._take(message)

    async def bring(self, data: bytes) -> None:
        await self.trigger(FILE, "file", {"name": "mine.zip", "data": base64.b64encode(data).decode()})


def test_a_zip_of_the_largest_size_arrives_and_is_open(app: App) -> None:
    data = a_zip(LARGEST_FILE)
    assert LARGEST_FILE * 0.99 < len(data) <= LARGEST_FILE < MESSAGE * 3 / 4  # base64 makes 4 of 3

    async def visit() -> None:
        async with Bringer(app.host) as viewer:
            await viewer.open()
            await viewer.bring(data)
            assert "mine/mine" in viewer.options["checkpoint"] and "It is open now on every page" in viewer.messages

    run(visit())


def test_a_larger_one_is_refused_in_a_sentence_whatever_the_browser_let_through(app: App) -> None:
    async def visit() -> None:
        async with Bringer(app.host) as viewer:
            await viewer.open()
            await viewer.bring(bytes(LARGEST_FILE + 10))
            assert "the file has more than 16 MB; choose a smaller one" in viewer.messages
            assert not any(name.startswith("mine/") for name in viewer.options["checkpoint"])
            await viewer.bring(b"no zip at all")
            assert "The file cannot be loaded" in viewer.messages

    run(visit())
