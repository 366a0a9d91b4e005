"""Checkpoint folders damaged at random, and small files that ask for much; see tests/fuzz."""

import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import transformer
from tests.fuzz import bombs, folders, marian
from tests.fuzz.common import TEXTS, examples, one_sentence
from transformer.checkpoints.folder import CheckpointError

ROOT = Path(__file__).resolve().parents[2]
unix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes, links and limits of a process are those of Unix")
pytestmark = [pytest.mark.slow, unix]


def test_any_damage_is_read_or_refused_in_one_sentence() -> None:
    """Some damage does no harm, most does; if none ever did, or all, the cases would be poor ones."""
    opened = []

    @given(folders.damages())
    @examples(250)
    def open_damaged(damage: folders.Damage) -> None:
        with damage.written() as folder:
            opened.append(folders.check(folder))

    open_damaged()
    assert 0.1 < sum(opened) / len(opened) < 0.7


@given(folders.changed(folders.WEIGHTS, folders.base()[folders.WEIGHTS]))
@examples(500)
def test_of_damaged_weights_no_more_is_read_than_by_the_library(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / folders.WEIGHTS).write_bytes(data)
        folders.check_weights(Path(folder) / folders.WEIGHTS)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol:UserWarning")
@given(marian.damages(), TEXTS, st.sampled_from((None, "mi nu")))
@examples(250)
def test_any_damage_to_a_marian_folder_is_read_or_refused(
    damage: folders.Damage, text: str, target: str | None
) -> None:
    with damage.written() as folder:
        marian.check(folder, text, target)


def test_small_files_take_no_great_memory() -> None:
    command = [sys.executable, "-m", "tests.fuzz.bombs"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, _said, _grown in found] == list(bombs.BOMBS)
    for name, said, grown in found:
        one_sentence(said)
        assert bombs.BOMBS[name][1] in said, (name, said)
        assert grown < bombs.MOST, f"{name}: {grown} MB"


def test_the_bomb_would_go_off() -> None:
    pickle.loads(pickle.dumps(folders.Bomb()))
    folders.MARK.rmdir()


@pytest.mark.parametrize("name", folders.NEEDED)
def test_a_pipe_or_device_is_not_waited_for(name: str, tmp_path: Path) -> None:
    folders.write(tmp_path / "bad", dict(folders.base()))
    (tmp_path / "bad" / name).unlink()
    for make in (lambda path: os.mkfifo(path), lambda path: path.symlink_to("/dev/zero")):
        make(tmp_path / "bad" / name)
        with pytest.raises(CheckpointError, match=f"{name} is missing"):
            transformer.load(tmp_path / "bad")
        (tmp_path / "bad" / name).unlink()


@pytest.mark.parametrize("name", folders.NEEDED)
def test_a_pipe_that_came_since_is_not_waited_for(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at a folder and the reading of its files anything may happen to them."""
    folders.write(tmp_path / "bad", dict(folders.base()))
    (tmp_path / "bad" / name).unlink()
    os.mkfifo(tmp_path / "bad" / name)
    monkeypatch.setattr(Path, "is_file", lambda path: path.exists())
    with pytest.raises(CheckpointError, match="cannot be read: it is not an ordinary file"):
        transformer.load(tmp_path / "bad")


def test_weights_that_shrink_during_reading_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file mapped into memory, as large ones are, would end the process here, and with it every viewer's session."""
    from transformer.checkpoints import folder

    folders.write(tmp_path / "bad", dict(folders.base()))
    weights = tmp_path / "bad" / folders.WEIGHTS
    real = folder.read_tensor

    def cut(*given: Any) -> object:
        os.truncate(weights, 3_000)
        return real(*given)

    monkeypatch.setattr(folder, "read_tensor", cut)
    with pytest.raises(CheckpointError, match="not a complete safetensors file"):
        transformer.load(tmp_path / "bad")


def test_a_folder_without_permission_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders.write(tmp_path / "bad", dict(folders.base()))
    folders.write(tmp_path / "good", dict(folders.base()))
    real = Path.is_file

    def locked(path: Path) -> bool:
        if path.parent.name == "bad":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(Path, "is_file", locked)
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(tmp_path))
    assert "good" in transformer.available() and "bad" not in transformer.available()
    with pytest.raises(CheckpointError, match="cannot be read: Permission denied"):
        transformer.load(tmp_path / "bad")


@pytest.mark.parametrize("name", ["x" * 5_000, "a\0b", "..", "/", "", "/etc/passwd", "reverse\0", "\ud800"])
def test_a_name_that_is_no_checkpoint(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError) as error:
        transformer.load(name)
    one_sentence(str(error.value).encode("utf-8", "replace").decode())
