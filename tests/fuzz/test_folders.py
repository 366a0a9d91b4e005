"""Checkpoint folders damaged at random, and small files that ask for much."""

from __future__ import annotations

import json
import os
import pickle
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import transformer
from tests.fuzz import bombs, folders
from tests.fuzz.common import fuzz, one_sentence
from tests.fuzz.damage import KINDS, MARK, Bomb, damaged_files, exchange, torch_file, write
from transformer.checkpoints import folder as reader
from transformer.checkpoints.folder import METRICS, NEEDED, WEIGHTS, CheckpointError
from transformer.checkpoints.importers.tensors import PICKLED
from transformer.checkpoints.importers.tokenizers import TARGET_VOCABULARY, VOCABULARY

ROOT = Path(__file__).resolve().parents[2]
unix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes, links and limits of a process are those of Unix")
pytestmark = [pytest.mark.slow, unix]
MARIAN, TENSORS = folders.marian()


@st.composite
def of_marian(draw: st.DrawFn) -> dict[str, bytes]:
    """With one table of pieces or two, and weights of either sort."""
    files, tensors = folders.marian()
    kind = draw(st.integers(0, 2))
    if kind == 0:
        rest = {name: data for name, data in files.items() if name != WEIGHTS}
        return draw(damaged_files(rest, folders.CHANGES, 0)) | {PICKLED: draw(torch_file(tensors))}
    return draw(damaged_files({**files, TARGET_VOCABULARY: files[VOCABULARY]} if kind == 1 else files, folders.CHANGES))


@pytest.mark.filterwarnings("ignore:Detected pickle protocol:UserWarning")
@pytest.mark.parametrize("files", [folders.ours(), of_marian()], ids=["ours", "marian"])
def test_any_damage_is_read_or_refused_in_one_sentence(files: st.SearchStrategy[dict[str, bytes]]) -> None:
    """Some damage does no harm, most does; if none ever did, or all, the cases would be poor ones."""
    opened = []
    fuzz(300)(given(files)(lambda made: opened.append(folders.check_files(made))))()
    assert 0.05 < statistics.fmean(opened) < 0.7


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
    pickle.loads(pickle.dumps(Bomb()))
    assert MARK.is_dir()
    MARK.rmdir()


@pytest.mark.parametrize("name", folders.FILES)
def test_nothing_but_an_ordinary_file_is_waited_for_read_or_unpickled(name: str, tmp_path: Path) -> None:
    write(tmp_path / "bad", folders.base())
    for kind in KINDS:
        exchange(tmp_path / "bad" / name, kind)
        assert folders.check(tmp_path / "bad") == (name not in NEEDED) or name == METRICS, kind
        if name in NEEDED and kind not in ("link", "sparse"):
            with pytest.raises(CheckpointError, match=f"{name} is missing"):
                transformer.load(tmp_path / "bad")
        if (tmp_path / "bad" / name).is_dir():
            (tmp_path / "bad" / name).rmdir()
    for protocol in (0, 2, 5):
        exchange(tmp_path / "bad" / name, "nothing")
        (tmp_path / "bad" / name).write_bytes(pickle.dumps(Bomb(), protocol=protocol))
        folders.check(tmp_path / "bad")


@pytest.mark.parametrize("name", NEEDED)
def test_a_pipe_that_came_since_is_not_waited_for(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at a folder and the reading of its files anything may happen to them."""
    write(tmp_path / "bad", folders.base())
    exchange(tmp_path / "bad" / name, "pipe")
    monkeypatch.setattr(Path, "is_file", lambda path: path.exists())
    with pytest.raises(CheckpointError, match="cannot be read: it is not an ordinary file"):
        transformer.load(tmp_path / "bad")


def test_weights_that_shrink_during_reading_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file mapped into memory would end the process here, and with it every viewer's session."""
    write(tmp_path / "bad", folders.base())
    real: Callable[..., Any] = reader.read_tensor

    def cut(*given: Any) -> Any:
        os.truncate(tmp_path / "bad" / WEIGHTS, 3_000)
        return real(*given)

    monkeypatch.setattr(reader, "read_tensor", cut)
    with pytest.raises(CheckpointError, match="not a complete safetensors file"):
        transformer.load(tmp_path / "bad")


def test_a_folder_without_permission_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "bad", folders.base())
    write(tmp_path / "good", folders.base())
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
