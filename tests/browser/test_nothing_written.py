"""A server that cannot write any file starts, serves every download, and leaves no file behind."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.registry import pages
from tests.attack.client import Attacker, run
from tests.support.server import APP, answers, free_port, spawn, stop, until

pytest.importorskip("resource", reason="a system without limits on files")
from playwright.sync_api import BrowserContext

from tests.browser.explorer_page import exact, opened
from tests.browser.live_training_page import press_train
from tests.browser.navigation import saved, taken

# No file may grow beyond nothing, which is what a full disk does to every writer (as root, permissions would not). The
# folder for temporary files and the home folder are not there either.
BARE = (
    "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); os.execv(sys.argv[1], sys.argv[1:])"
)


@pytest.fixture(scope="module")
def homeless(browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a running app that cannot write, and the folder in place of all folders it might write to."""
    folder, port, nowhere = tmp_path_factory.mktemp("homeless"), free_port(), Path(os.devnull)
    places = {name: str(folder / "gone" / name) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
    command = [sys.executable, "-c", BARE, *APP, "--port", str(port)]
    process = spawn(nowhere, *command, HEADSCOPE_ENGINE="on", **places)
    try:
        until(lambda: answers(port), process, nowhere)
        yield f"http://localhost:{port}", folder
    finally:
        stop(process)


def test_every_download_works_on_a_server_that_cannot_write(
    context: BrowserContext, homeless: tuple[str, Path]
) -> None:
    address, folder = homeless
    page = opened(context, address, kind="cross", layer="3", head="2")
    exact(page)
    files = {name: saved(page, "save", name)[1] for name in ("png", "svg", "csv")}
    page.get_by_role("button", name="Download").click()
    for name, label in (("html", "This picture as an HTML page"), ("npz", "The whole trace (.npz)")):
        files[name] = taken(page.get_by_role("button", name=label))[1]
    begins = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "csv": b"", "html": b"<!doctype html", "npz": b"PK"}
    for name, begin in begins.items():
        assert len(files[name]) > 100 and files[name].lstrip().lower().startswith(begin.lower()), name
    assert not list(folder.rglob("*"))


def test_every_page_opens_on_a_server_that_cannot_write(homeless: tuple[str, Path]) -> None:
    """Asked without a browser: the test above opens a page in one, and the server is what cannot write."""
    address, folder = homeless
    host = address.removeprefix("http://")

    async def visit() -> None:
        for listed in pages():
            async with Attacker(host, listed.path) as visitor:
                await visitor.open()
                assert visitor.seen and not visitor.errors, (listed.path, visitor.errors)
                assert "error" not in dict(visitor.boxes), (listed.path, visitor.boxes)
        async with Attacker(host) as visitor:
            await visitor.open(lesson="paper-in-45-minutes", stop="17")  # its answer is a BLEU score
            assert (
                "hs-answer-paper-in-45-minutes-17-" in visitor.seen
                and not visitor.errors
                and "error" not in dict(visitor.boxes)
            )

    run(visit())
    assert not list(folder.rglob("*"))


def test_a_server_that_cannot_write_trains(context: BrowserContext, homeless: tuple[str, Path]) -> None:
    """The training process cannot write either: it inherits the limit. Its model is downloaded and opened in memory."""
    address, folder = homeless
    page = context.new_page()
    page.set_default_timeout(180_000)  # a worker comes last, and a busy machine leaves it little
    page.goto(f"{address}/training?steps=10")
    press_train(page)
    assert taken(page.get_by_role("button", name="Download (zip)"))[1].startswith(b"PK")
    page.locator("[class*=st-key-hs-after-]").get_by_role("link", name="Heads", exact=True).click()
    page.wait_for_selector("[data-testid=explorer][data-drawn]")
    assert page.locator("[data-testid=stException], .hs-error").count() == 0
    assert not list(folder.rglob("*"))
