"""A real Redis server of a test's own."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.find import NoProgram, do_without, find_redis
from tests.support.server import START, free_port, spawn, stop
from transformer.rooms import StoreError, open_rooms

PASSWORD = "a-secret-word"


@contextlib.contextmanager
def running_redis(folder: Path, port: int = 0, *options: str) -> Iterator[str]:
    """The address, with its password, of a server that keeps nothing on disk unless the options say so."""
    pytest.importorskip("redis")
    try:
        program = find_redis()
    except NoProgram as error:
        do_without(f"a Redis server: {error}")
    port = port or free_port()
    url, log = f"redis://:{PASSWORD}@127.0.0.1:{port}/0", folder / "redis.txt"
    process = spawn(
        log, program, "--port", str(port), "--bind", "127.0.0.1", "--requirepass", PASSWORD, "--save", "", "--dir",
        str(folder), *options,
    )  # fmt: skip
    try:
        until = time.monotonic() + START
        while True:
            try:
                open_rooms(url).close()
                break
            except StoreError:
                assert process.poll() is None and time.monotonic() < until, log.read_text()
                time.sleep(0.02)
        yield url
    finally:
        stop(process)
