"""`headscope export-web`: a model as files for a browser."""

import json
from pathlib import Path

import pytest

from tests.support.build import saved_checkpoint, tiny_model, tiny_pretrained
from transformer.__main__ import main
from transformer.checkpoints.folder import ABOUT, EXAMPLES, GRAPHS, save_checkpoint
from transformer.inference.pretrained import Pretrained
from transformer.web import folder as web_folder
from transformer.web.folder import files

FOLDER = Path(__file__).resolve().parents[2] / "checkpoints"


@pytest.fixture(autouse=True)
def no_exporters(monkeypatch: pytest.MonkeyPatch) -> None:
    """As without the extra [web]."""
    monkeypatch.setattr(web_folder, "EXPORTERS", ("no_such_package",))


def test_a_bundled_model_is_written_without_the_extra(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "some" / "where"
    assert main(["export-web", "reverse", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder}: 6 files for the browser, 0.7 MB\n"
    about = json.loads((folder / ABOUT).read_text())
    assert {path.name for path in folder.iterdir()} == {ABOUT, EXAMPLES, *files(about)}
    for path in folder.iterdir():
        assert path.read_bytes() == (FOLDER / "reverse" / path.name).read_bytes()


def test_a_folder_that_holds_something_needs_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    assert main(["export-web", "sort", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path} is not an empty folder; choose another, or add --force\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert main(["export-web", "sort", str(tmp_path / "mine.txt")]) == 2
    assert main(["export-web", "sort", str(tmp_path), "--force"]) == 0
    assert (tmp_path / "mine.txt").read_text() == "keep" and (tmp_path / ABOUT).is_file()


def test_a_model_without_graphs_needs_the_extra(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export-web", str(saved_checkpoint(tmp_path)), str(tmp_path / "web")]) == 2
    message = "error: to export a model, no_such_package must be installed: pip install '.[web]'\n"
    assert capsys.readouterr().err == message
    assert not (tmp_path / "web").exists()


def test_in_its_own_folder_a_checkpoint_gets_new_graphs_and_keeps_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_folder, "EXPORTERS", ())

    def export(model: Pretrained, folder: Path, weights: str, progress: object) -> None:
        for name in GRAPHS:
            (folder / name).write_bytes(b"new")

    monkeypatch.setattr(web_folder, "_export", export)
    folder = saved_checkpoint(tmp_path)
    (folder / GRAPHS[0]).write_bytes(b"old")
    before = {path.name: path.stat().st_ino for path in folder.iterdir()}
    assert main(["export-web", str(folder), str(folder)]) == 0
    assert all((folder / name).read_bytes() == b"new" for name in GRAPHS)
    assert {name: (folder / name).stat().st_ino for name in before if name not in GRAPHS} == {
        name: node for name, node in before.items() if name not in GRAPHS
    }
    assert {path.name for path in folder.iterdir()} == before.keys() | {ABOUT, *GRAPHS}


def test_other_weights_remove_the_graphs_beside_them(tmp_path: Path) -> None:
    folder, tiny = saved_checkpoint(tmp_path), tiny_pretrained()
    for name in (ABOUT, *GRAPHS):
        (folder / name).write_bytes(b"old")
    save_checkpoint(folder, tiny.model, tiny.tokenizer, tiny.languages)
    assert (folder / ABOUT).is_file()
    save_checkpoint(folder, tiny_model(7, vocab_size=67), tiny.tokenizer, tiny.languages)
    assert not any((folder / name).exists() for name in (ABOUT, *GRAPHS))
