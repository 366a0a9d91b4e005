"""A model that a visitor brings back, over the real websocket of a real server: what is read, and what is too much."""

import os
from collections.abc import Iterator

import pytest

import transformer
from tests.attack.client import Attacker, run
from tests.attack.memory import load_zip
from tests.support.server import App, running
from transformer.checkpoints.archive import zipped
from transformer.view.training_messages import LARGEST_FILE

pytestmark = pytest.mark.slow  # large files

MESSAGE = 25_000_000  # bytes of a message that Streamlit takes (server.maxWidgetStateSize)


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    with running(transformer.load("reverse").path, "--trainings", "0") as found:
        yield found


def a_zip(size: int) -> bytes:
    """A bundled checkpoint beside a file that no checkpoint has, which is not read; so many bytes in all."""
    folder = transformer.load("reverse").path
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    size -= len(zipped({**files, "padding": b""}, "reverse"))
    return zipped({**files, "padding": os.urandom(size - size // 1000)}, "reverse")


def test_a_zip_of_the_largest_size_arrives_and_is_open(app: App) -> None:
    data = a_zip(LARGEST_FILE)
    assert LARGEST_FILE * 0.99 < len(data) <= LARGEST_FILE < MESSAGE * 3 / 4  # base64 makes 4 of 3

    async def visit() -> None:
        async with Attacker(app.host, "training") as visitor:
            await visitor.open()
            await load_zip(visitor, data, "mine.zip")
            assert "mine/mine" in visitor.options["checkpoint"] and "It is open now on every page" in visitor.said

    run(visit())


def test_a_larger_one_is_refused_in_a_sentence_whatever_the_browser_let_through(app: App) -> None:
    async def visit() -> None:
        async with Attacker(app.host, "training") as visitor:
            await visitor.open()
            await load_zip(visitor, bytes(LARGEST_FILE + 10), "mine.zip")
            assert "the file has more than 16 MB; choose a smaller one" in visitor.said
            assert not any(name.startswith("mine/") for name in visitor.options["checkpoint"])
            await load_zip(visitor, b"no zip at all", "mine.zip")
            assert "The file cannot be loaded" in visitor.said

    run(visit())
