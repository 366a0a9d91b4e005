"""The engine in a browser: what it computes is what Python computes, and what it has downloaded it keeps."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page

import transformer
from tests.browser.modules import SOURCES
from tests.support.server import Files, hosted
from transformer.checkpoints.folder import GRAPHS
from transformer.interventions.sets import Interventions
from transformer.view.bundle import FOLDER as BUILT

CHECKPOINT = Path(__file__).parents[2] / "checkpoints" / "reverse"
PATH = "below/a%20path/"
POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'"  # no script may be made of a text
OPEN = """async (wasm) => {
  const { Engine } = await import("./frontend/engine/client.js");
  window.engine ??= new Engine({ script: "engine.js", wasm });
  const about = await (await fetch("models/reverse/web.json")).json();
  window.seen = [];
  const error = await engine.open({ base: "models/reverse/", about, progress: (state) => seen.push(state) })
    .catch(({ name, reason }) => ({ name, reason }));
  return error ?? { ready: engine.ready, last: seen.at(-1) };
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


def open_engine(page: Page, wasm: str = "ort.wasm.gz") -> dict[str, Any]:
    """What became of it."""
    found: dict[str, Any] = page.evaluate(OPEN, wasm)
    return found


TENSORS = [f"{kind}.{name}" for kind in ("encoder_self", "decoder_self", "cross") for name in ("scores", "weights")]


@pytest.mark.parametrize(("source", "target", "switches"), [
    ("a stone", "enots", ""), ("stone", "", "scaling=off pad=2 zero=cross.1.2"),
])  # fmt: skip
def test_translation_and_tensors_are_those_of_python(page: Page, source: str, target: str, switches: str) -> None:
    assert open_engine(page)["ready"]
    value = Interventions.parse(switches)
    wanted = transformer.load("reverse").trace(source, target or None, interventions=value)
    text, ids, tensors = page.evaluate(
        """async ([asked, names]) => {
          const trace = await engine.trace(asked, () => {});
          const tensors = names.map((name) => name.split(".").reduce((value, part) => value[part], trace));
          const plain = tensors.map(({ data, shape }) => ({ data: [...data], shape }));
          return [trace.target_text, trace.target_out_ids, plain];
        }""",
        [{"source": source, "target": target, "switches": value.to_params()}, [*TENSORS, "logits"]],
    )
    assert (text, ids) == (wanted.target_text, list(wanted.target_out_ids))
    for name, one in zip([*TENSORS, "logits"], tensors, strict=True):
        expected = functools.reduce(getattr, name.split("."), wanted).numpy()
        got = np.array(one["data"], dtype=np.float32).reshape(one["shape"])
        np.testing.assert_allclose(got, expected, atol=1e-4, err_msg=name)


def test_the_browser_may_compile_the_runtime_while_it_arrives(page: Page) -> None:
    Files.asked.clear()
    assert open_engine(page, "ort.wasm")["ready"]
    assert page.evaluate("engine.trace({ source: 'ab' }).then((trace) => trace.target_text)") == "ba"
    assert f"/{PATH}ort.wasm" in Files.asked and f"/{PATH}ort.wasm.gz" not in Files.asked


def test_a_second_visit_downloads_no_file_of_the_model(page: Page) -> None:
    first = open_engine(page)
    assert first["last"]["loaded"] == first["last"]["total"] > 4_000_000
    Files.asked.clear()
    page.reload()
    assert open_engine(page) == first
    names = {path.rsplit("/", 1)[1] for path in Files.asked}
    assert "web.json" in names
    assert not names & {"model.safetensors", *GRAPHS, "tokenizer.model", "ort.wasm.gz"}


@pytest.mark.parametrize(("missing", "reason"), [("ort.wasm.gz", "download"), ("engine.js", "worker")])
def test_an_engine_that_cannot_open_says_why(
    another: Callable[..., BrowserContext], host: str, missing: str, reason: str
) -> None:
    page = another().new_page()
    page.goto(host)
    page.route(f"**/{missing}*", lambda route: route.fulfill(status=404))
    assert open_engine(page) == {"name": "EngineError", "reason": reason}
