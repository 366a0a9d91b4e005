"""A real Redis server of a test's own."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.find import find_redis, needed
from tests.support.server import free_port, spawn, stop, until
from transformer.rooms import StoreError, open_rooms

PASSWORD = "a-secret-word"


@contextlib.contextmanager
def running_redis(folder: Path, port: int = 0, *options: str) -> Iterator[str]:
    """The address, with its password, of a server that keeps nothing on disk unless the options say so."""
    pytest.importorskip("redis")
    program, port = needed(find_redis, "a Redis server"), port or free_port()
    url, log = f"redis://:{PASSWORD}@127.0.0.1:{port}/0", folder / "redis.txt"
    process = spawn(
        log, program, "--port", str(port), "--bind", "127.0.0.1", "--requirepass", PASSWORD, "--save", "", "--dir",
        str(folder), *options,
    )  # fmt: skip

    def answers() -> bool:
        with contextlib.suppress(StoreError):
            open_rooms(url).close()
            return True
        return False

    try:
        until(answers, process, log)
        yield url
    finally:
        stop(process)
