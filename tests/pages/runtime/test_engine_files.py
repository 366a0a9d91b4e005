"""The server sends the files of the engine, and nothing else."""

import gzip
import json
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pages.runtime import engine_files
from transformer.checkpoints.folder import ABOUT
from transformer.paths import app_folder
from transformer.view.bundle import FOLDER
from transformer.web.folder import ENGINE, files

REVERSE = app_folder() / "checkpoints" / "reverse"


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=engine_files.routes()))


def test_every_file_of_a_model_comes_as_it_is(client: TestClient) -> None:
    about = client.get("/engine/models/reverse/web.json").json()
    assert about == json.loads((REVERSE / ABOUT).read_bytes())
    for name in files(about):
        answer = client.get(f"/engine/models/reverse/{name}")
        assert answer.content == (REVERSE / name).read_bytes()
        assert len(answer.content) == about["files"][name]["bytes"]
        again = client.get(f"/engine/models/reverse/{name}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        rest = client.get(f"/engine/models/reverse/{name}", headers={"Range": "bytes=7-"})
        assert (rest.status_code, rest.content) == (206, answer.content[7:])


def test_the_scripts_of_the_engine_and_plotly(client: TestClient) -> None:
    assert client.get("/engine/engine.js").content == (FOLDER / "engine.js").read_bytes()
    for name, kind in (("ort.wasm", "application/wasm"), ("plotly.js", "text/javascript; charset=utf-8")):
        answer = client.get(f"/engine/{name}")
        assert (answer.headers["content-type"], answer.headers["content-encoding"]) == (kind, "gzip")
        assert answer.content == gzip.decompress((FOLDER / f"{name}.gz").read_bytes())
    assert b"window.Plotly = Plotly" in client.get("/engine/plotly.js").content


def test_without_the_engine_there_are_no_files_of_models(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENGINE, "off")
    assert not engine_files.has_graphs("reverse")
    assert client.get("/engine/models/reverse/web.json").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "sources.sha256", "models/reverse/metrics.json", "models/reverse/README.md", "models/nobody/web.json",
        "models/reverse/..%2fen-de%2fweb.json", "models/..%2fcheckpoints%2freverse/web.json", "models/reverse/",
    ],
)  # fmt: skip
def test_nothing_else_is_sent(client: TestClient, path: str) -> None:
    assert client.get(f"/engine/{path}").status_code == 404


def test_a_table_that_is_none_sends_nothing(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_files.cache, "checkpoints", lambda: {"mine": tmp_path})
    for name in ("encoder.onnx", "decoder.onnx", "secret.txt"):
        (tmp_path / name).write_bytes(b"x")
    for text in ("[]", "{", '{"weights": 3, "tokenizers": []}', '{"weights": "secret.txt", "tokenizers": {"a": 1}}'):
        (tmp_path / ABOUT).write_text(text)
        assert client.get("/engine/models/mine/secret.txt").status_code == 404, text
