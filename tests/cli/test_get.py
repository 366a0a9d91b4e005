"""`headscope get`: a Marian or T5 model from a local server with the layout of the Hugging Face Hub."""

import hashlib
import json
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import transformer
from tests.support.marian import marian_folder
from tests.support.t5 import t5_folder
from transformer.__main__ import main
from transformer.text.numerals import write_numeral

pytest.importorskip("huggingface_hub")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "Helsinki-NLP/opus-mt-ko-en"
KOREAN = tuple(write_numeral(number) for number in range(1, 1_000_000, 9973))


class Hub:
    """What one repository of the hub answers. cut: files of which a connection brings only so many bytes and then
    breaks; asked: the file and the first byte of every download."""

    def __init__(self, folder: Path, licence: str | None) -> None:
        self.files = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.licence = licence
        self.cut: dict[str, int] = {}
        self.asked: list[tuple[str, int]] = []

    def about(self) -> bytes:
        files = [{"rfilename": name, "size": len(data), "blobId": "0" * 40} for name, data in self.files.items()]
        card = {} if self.licence is None else {"license": self.licence}
        return json.dumps({"id": NAME, "modelId": NAME, "sha": COMMIT, "siblings": files, "cardData": card}).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *_: object) -> None:
        pass

    def _send(self, status: int, data: bytes, more: dict[str, str], length: int | None = None) -> None:
        self.send_response(status)
        for name, value in {**more, "Content-Length": str(len(data) if length is None else length)}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path.startswith(f"/api/models/{NAME}"):
            self._send(200, self.hub.about(), {"Content-Type": "application/json"})
            return
        name = path.removeprefix(f"/{NAME}/resolve/{COMMIT}/")
        data = self.hub.files.get(name)
        if data is None:
            self._send(404, b"", {"X-Error-Code": "RepoNotFound"})
            return
        first = int((re.match(r"bytes=(\d+)-", self.headers.get("Range", "")) or ["", "0"])[1])
        more = {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        if first:
            more["Content-Range"] = f"bytes {first}-{len(data) - 1}/{len(data)}"
        if self.command == "GET":
            self.hub.asked.append((name, first))
        most = self.hub.cut.get(name)
        sent = data[first:] if most is None else data[first : max(first, most)]
        self._send(206 if first else 200, sent, more, len(data) - first)
        if most is not None and self.command == "GET":
            self.close_connection = True

    do_HEAD = do_GET


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    folder = tmp_path / "remote"
    marian_folder(folder, of=KOREAN)
    about = {"source_lang": "ko", "target_lang": "en"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    (folder / "added_tokens.json").write_text("{}")
    (folder / "special_tokens_map.json").write_text("{}")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    (folder / "tf_model.h5").write_bytes(b"x" * 1000)  # of another framework
    served = Hub(folder, "apache-2.0")
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"hub": served}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(tmp_path / "checkpoints"))
    yield served
    server.shutdown()
    server.server_close()


def test_a_korean_model_is_fetched_and_opens_by_its_name(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TQDM_POSITION", "-1")  # huggingface_hub shows progress as if this were a terminal
    assert main(["get", NAME]) == 0
    goal = tmp_path / "checkpoints" / "opus-mt-ko-en"
    size = sum(len(data) for name, data in hub.files.items() if name != "tf_model.h5") / 1e6
    said = capsys.readouterr()
    assert f"{NAME}: {size:.1f} MB, licence: apache-2.0, into {goal}" in said.out
    assert "model.safetensors: 100%" in said.err
    assert {path.name: path.read_bytes() for path in goal.iterdir()} == {
        name: data for name, data in hub.files.items() if name != "tf_model.h5"
    }
    model = transformer.load("opus-mt-ko-en")
    trace = model.trace("이만 삼천오백육")
    assert model.languages == ("ko", "en")
    assert model.config.unk_id not in trace.source_ids and "이만" in "".join(trace.source_tokens)
    asked = len(hub.asked)
    assert main(["get", NAME]) == 2 and "is there already" in capsys.readouterr().err and len(hub.asked) == asked


def test_a_fetch_that_broke_goes_on_where_it_stopped(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between the tries of huggingface_hub
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 10_000)  # bytes it writes at a time; 10 MB
    hub.cut["model.safetensors"] = 40_000
    assert main(["get", NAME]) == 2
    error = capsys.readouterr().err
    assert "cannot be reached" in error and "try again to continue" in error and "another computer" in error
    with pytest.raises(transformer.CheckpointError, match="there is no checkpoint 'opus-mt-ko-en'"):
        transformer.load("opus-mt-ko-en")
    hub.cut.clear()
    hub.asked.clear()
    assert main(["get", NAME, "--folder", str(tmp_path / "checkpoints")]) == 0
    assert hub.asked[0] == ("model.safetensors", 40_000)  # what was there is not fetched again
    goal = tmp_path / "checkpoints" / "opus-mt-ko-en"
    assert (goal / "model.safetensors").read_bytes() == hub.files["model.safetensors"]
    assert [path.name for path in goal.parent.iterdir()] == [goal.name]


@pytest.mark.parametrize("tokenizer", ["spiece.model", "tokenizer.json"])
def test_a_t5_model_is_fetched_with_its_tokenizer(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str], tokenizer: str
) -> None:
    from transformers import T5Tokenizer

    folder = tmp_path / "t5"
    t5_folder(folder, "1.1")
    T5Tokenizer.from_pretrained(folder).save_pretrained(folder)
    if tokenizer == "tokenizer.json":
        (folder / "spiece.model").unlink()
    hub.files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main(["get", NAME]) == 0
    got = {path.name: path.stat().st_size for path in (tmp_path / "checkpoints" / "opus-mt-ko-en").iterdir()}
    assert tokenizer in got and len({"spiece.model", "tokenizer.json"} & set(got)) == 1
    assert f"{NAME}: {sum(got.values()) / 1e6:.1f} MB, licence: apache-2.0" in capsys.readouterr().out
    assert transformer.load("opus-mt-ko-en").translate("ka lo", limit=5).tokens
    for name in {"spiece.model", "tokenizer.json"} & set(hub.files):
        del hub.files[name]
    shutil.rmtree(tmp_path / "checkpoints")
    assert main(["get", NAME]) == 2 and "can open: spiece.model missing" in capsys.readouterr().err


def test_other_models_are_refused_before_their_weights_are_fetched(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.licence = None
    config = hub.files["config.json"]
    hub.files["config.json"] = json.dumps({"model_type": "bert"}).encode()
    assert main(["get", NAME]) == 2 and "is of the type 'bert'; Headscope opens only Marian" in capsys.readouterr().err
    for kind, name in (("t5", "T5EncoderModel"), ("bart", "BartForSequenceClassification")):
        shutil.rmtree(tmp_path / "checkpoints")
        hub.files["config.json"] = json.dumps({"model_type": kind, "architectures": [name]}).encode()
        assert main(["get", NAME]) == 2 and "not an encoder-decoder" in capsys.readouterr().err
    shutil.rmtree(tmp_path / "checkpoints")
    hub.files["config.json"] = config
    vocabulary = hub.files.pop("vocab.json")
    assert main(["get", NAME]) == 2 and "can open: vocab.json missing" in capsys.readouterr().err
    assert {name for name, _ in hub.asked} == {"config.json"}
    hub.files["vocab.json"] = vocabulary[:-20]
    assert main(["get", NAME]) == 2
    said = capsys.readouterr()
    assert "licence: not stated; ask its owner" in said.out and "was fetched but cannot be opened" in said.err


def test_names_and_networks_that_are_not_there_give_one_sentence(
    hub: Hub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        main(["get", "Helsinki-NLP/none"]) == 2 and "has no public model Helsinki-NLP/none" in capsys.readouterr().err
    )
    assert main(["get", "a/b/c"]) == 2 and "'a/b/c' is not OWNER/NAME" in capsys.readouterr().err
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    assert main(["get", NAME]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: http://127.0.0.1:9 cannot be reached") and error.count("\n") == 1
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert main(["get", NAME]) == 2 and "get needs huggingface_hub; install it" in capsys.readouterr().err
