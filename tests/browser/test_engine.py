"""The engine in a browser: under a strict policy it opens and computes, and what it has downloaded it keeps."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.modules import SOURCES
from tests.support.server import Files, hosted
from transformer.checkpoints.folder import GRAPHS
from transformer.view.bundle import FOLDER as BUILT

CHECKPOINT = Path(__file__).parents[2] / "checkpoints" / "reverse"
PATH = "below/a%20path/"
POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'"  # no script may be made of a text
# Opens the engine; its last progress.
OPEN = """async (wasm) => {
  const { Engine } = await import("./frontend/engine/client.js");
  window.engine ??= new Engine({ script: "engine.js", wasm });
  const about = await (await fetch("models/reverse/web.json")).json();
  let last;
  await engine.open({ base: "models/reverse/", about, progress: (state) => { last = state; } });
  return last;
}"""


class Strict(Files):
    """Below a path, with a strict policy; no browser keeps what it sends by itself."""

    headers_of: ClassVar[dict[str, str]] = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store"}

    def end_headers(self) -> None:
        if self.path.endswith("/ort.wasm"):
            self.send_header("Content-Encoding", "gzip")
        super().end_headers()


@pytest.fixture(scope="module")
def host(browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page."""
    below = tmp_path_factory.mktemp("host") / "below" / "a path"
    below.mkdir(parents=True)
    (below / "frontend").symlink_to(SOURCES)
    (below / "models").mkdir()
    (below / "models" / "reverse").symlink_to(CHECKPOINT)
    for built, name in (("engine.js",) * 2, ("ort.wasm.gz",) * 2, ("ort.wasm.gz", "ort.wasm")):
        shutil.copyfile(BUILT / built, below / name)
    (below.parents[1] / "favicon.ico").write_bytes(b"")
    (below / "index.html").write_text("<!doctype html><meta charset=utf-8><title>Engine</title>")
    with hosted(below.parents[1], Strict) as address:
        yield address + PATH


@pytest.fixture
def page(another: Callable[..., BrowserContext], host: str) -> Iterator[Page]:
    """A page of a browser that was never here, whose console stays empty."""
    page = another().new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.goto(host)
    yield page
    assert errors == []


def test_the_browser_may_compile_the_runtime_while_it_arrives(page: Page) -> None:
    Files.asked.clear()
    page.evaluate(OPEN, "ort.wasm")
    assert page.evaluate("engine.trace({ source: 'ab' }).then((trace) => trace.target_text)") == "ba"
    assert f"/{PATH}ort.wasm" in Files.asked and f"/{PATH}ort.wasm.gz" not in Files.asked


def test_a_second_visit_downloads_no_file_of_the_model(page: Page) -> None:
    first = page.evaluate(OPEN, "ort.wasm.gz")
    assert first["loaded"] == first["total"] > 4_000_000
    Files.asked.clear()
    page.reload()
    assert page.evaluate(OPEN, "ort.wasm.gz") == first
    names = {path.rsplit("/", 1)[1] for path in Files.asked}
    assert "web.json" in names
    assert not names & {"model.safetensors", *GRAPHS, "tokenizer.model", "ort.wasm.gz"}
