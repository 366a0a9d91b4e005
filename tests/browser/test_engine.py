"""The engine in a browser: what it computes is what Python computes, and what it has downloaded it keeps."""

from __future__ import annotations

import functools
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page

import transformer
from tests.browser.modules import SOURCES
from transformer.checkpoints.folder import GRAPHS
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.view.bundle import FOLDER as BUILT

CHECKPOINT = Path(__file__).parents[2] / "checkpoints" / "reverse"
PATH = "/below/a%20path/"
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


class Files(SimpleHTTPRequestHandler):
    """A static host below a path, with a strict policy; it remembers what it was asked for. No browser keeps what it
    sends by itself."""

    asked: ClassVar[list[str]] = []

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Cache-Control", "no-store")
        if self.path.endswith("/ort.wasm"):
            self.send_header("Content-Encoding", "gzip")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        self.asked.append(self.path.split("?")[0])


class Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A browser that leaves ends its connections."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the host has."""
    below = tmp_path_factory.mktemp("host") / "below" / "a path"
    below.mkdir(parents=True)
    (below / "frontend").symlink_to(SOURCES)
    (below / "models").mkdir()
    (below / "models" / "reverse").symlink_to(CHECKPOINT)
    for built, name in (("engine.js",) * 2, ("ort.wasm.gz",) * 2, ("ort.wasm.gz", "ort.wasm")):
        shutil.copyfile(BUILT / built, below / name)
    (below.parents[1] / "favicon.ico").write_bytes(b"")
    (below / "index.html").write_text("<!doctype html><meta charset=utf-8><title>Engine</title>")
    return below


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[str]:
    """The address of the page. On this machine's own address a browser keeps files, though it is not https."""
    handler = functools.partial(Files, directory=str(folder.parents[1]))
    with Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{PATH}"
        server.shutdown()


@pytest.fixture
def page(browser: Browser, host: str) -> Iterator[Page]:
    """A page of a browser that was never here, whose console stays empty."""
    context = browser.new_context()
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(host)
    yield page
    context.close()
    assert errors == []


@pytest.fixture(scope="module")
def reverse() -> Pretrained:
    return transformer.load("reverse")


def open_engine(page: Page, wasm: str = "ort.wasm.gz") -> dict[str, Any]:
    """What became of it."""
    found: dict[str, Any] = page.evaluate(OPEN, wasm)
    return found


def tensor(value: dict[str, Any]) -> np.ndarray:
    return np.array(value["data"], dtype=np.float32).reshape(value["shape"])


CASES = [("transformer", "", ""), ("a stone", "enots", ""), ("stone", "", "scaling=off pad=2 zero=cross.1.2")]
TENSORS = [f"{kind}.{name}" for kind in ("encoder_self", "decoder_self", "cross") for name in ("scores", "weights")]


@pytest.mark.parametrize(("source", "target", "switches"), CASES)
def test_translation_and_tensors_are_those_of_python(
    page: Page, reverse: Pretrained, source: str, target: str, switches: str
) -> None:
    assert open_engine(page)["ready"]
    value = Interventions.parse(switches)
    wanted = reverse.trace(source, target or None, interventions=value)
    found = page.evaluate(
        """async ([asked, names]) => {
          const trace = await engine.trace(asked, () => {});
          const tensors = names.map((name) => name.split(".").reduce((value, part) => value[part], trace));
          const plain = tensors.map(({ data, shape }) => ({ data: [...data], shape }));
          return [trace.target_text, trace.target_out_ids, plain];
        }""",
        [{"source": source, "target": target, "switches": value.to_params()}, [*TENSORS, "logits"]],
    )
    assert found[0] == wanted.target_text
    assert found[1] == list(wanted.target_out_ids)
    for name, one in zip([*TENSORS, "logits"], found[2], strict=True):
        expected = functools.reduce(getattr, name.split("."), wanted).numpy()
        got = tensor(one)
        assert got.shape == expected.shape, name
        np.testing.assert_array_equal(np.isfinite(got), np.isfinite(expected), err_msg=name)
        finite = np.isfinite(expected)
        np.testing.assert_allclose(got[finite], expected[finite], atol=1e-4, err_msg=name)


def test_the_newest_text_wins(page: Page) -> None:
    open_engine(page)
    answers = page.evaluate(
        """async () => {
          const asked = ["stone", "train", "house"].map((source) => engine.trace({ source, channel: "heads" }));
          const answers = await Promise.allSettled(asked);
          return answers.map(({ value, reason }) => value?.target_text ?? reason.name);
        }"""
    )
    assert answers[1:] == ["Dropped", "esuoh"]


def test_words_arrive_before_the_whole_trace(page: Page) -> None:
    open_engine(page)
    stages = page.evaluate(
        """async () => {
          const stages = [];
          await engine.trace({ source: "ab" }, ({ stage, text, trace }) =>
            stages.push(text ?? [stage, trace.encoder_self.weights.shape, trace.cross?.weights.shape]));
          return stages;
        }"""
    )
    assert stages == [["encoder", [2, 4, 3, 3], None], "b", "ba", "ba", ["heads", [2, 4, 3, 3], [2, 4, 3, 3]]]


def test_the_browser_may_compile_the_runtime_while_it_arrives(page: Page) -> None:
    Files.asked.clear()
    assert open_engine(page, "ort.wasm")["ready"]
    assert page.evaluate("engine.trace({ source: 'ab' }).then((trace) => trace.target_text)") == "ba"
    assert f"{PATH}ort.wasm" in Files.asked and f"{PATH}ort.wasm.gz" not in Files.asked


def test_a_second_visit_downloads_no_file_of_the_model(page: Page) -> None:
    first = open_engine(page)
    assert first["last"]["loaded"] == first["last"]["total"] > 4_000_000
    Files.asked.clear()
    page.reload()
    assert open_engine(page) == first
    names = {path.rsplit("/", 1)[1] for path in Files.asked}
    assert "web.json" in names
    assert not names & {"model.safetensors", *GRAPHS, "tokenizer.model", "ort.wasm.gz"}


def test_a_text_that_cannot_be_read_says_why(page: Page) -> None:
    open_engine(page)
    about = page.evaluate("engine.trace({ source: 'abcdefgh', limit: 5 }).catch((error) => [error.name, error.about])")
    assert about == ["InputError", {"code": "long", "side": "source", "tokens": 9, "limit": 5}]


@pytest.mark.parametrize(("missing", "reason"), [("ort.wasm.gz", "download"), ("engine.js", "worker")])
def test_an_engine_that_cannot_open_says_why(browser: Browser, host: str, missing: str, reason: str) -> None:
    page = browser.new_page()
    page.goto(host)
    page.context.route(f"**/{missing}*", lambda route: route.fulfill(status=404))
    assert open_engine(page) == {"name": "EngineError", "reason": reason}
    page.close()
