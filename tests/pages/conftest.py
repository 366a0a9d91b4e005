"""Fixtures for tests of pages: a folder with a tiny checkpoint, and pages opened with it."""

import json
from pathlib import Path

import pytest

from tests.support.app import EXAMPLE, LEFT_OUT
from tests.support.build import saved_variants, tiny_pretrained
from tests.support.families import KINDS as FAMILIES
from tests.support.families import family_folder
from tests.support.marian import KINDS, marian_folder
from tests.support.t5 import t5_folder
from transformer.checkpoints.folder import save_checkpoint
from transformer.live_training import training_queue


def _with_tiny(folder: Path) -> Path:
    """Writes `tiny`, which has an example."""
    tiny = tiny_pretrained()
    save_checkpoint(folder / "tiny", tiny.model, tiny.tokenizer, tiny.languages)
    (folder / "tiny" / "examples.json").write_text(json.dumps([EXAMPLE]))
    return folder


def _used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The app prefers its checkpoints to the bundled ones."""
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(folder))
    monkeypatch.setenv("HEADSCOPE_MAX_TOKENS", "40")
    for name in ("HEADSCOPE_CHECKPOINT", "HEADSCOPE_DEVICE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _with_tiny(tmp_path_factory.mktemp("shared"))


@pytest.fixture(autouse=True)
def environment(shared_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages open `tiny` of a folder that all tests share: what one has computed is in the cache for the others."""
    _used(shared_folder, monkeypatch)


@pytest.fixture
def folder(environment: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of checkpoints with `tiny`, the test's own: it may change it, and nothing of it is in a cache yet."""
    _used(tmp_path, monkeypatch)
    return _with_tiny(tmp_path)


@pytest.fixture
def bundled(environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the bundled checkpoints, as on a server without options."""
    for name in ("HEADSCOPE_CHECKPOINTS", "HEADSCOPE_MAX_TOKENS"):
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def every_variant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = saved_variants(tmp_path_factory.mktemp("variants"), LEFT_OUT)
    for kind in KINDS:
        marian_folder(folder / kind, kind)
    for kind in FAMILIES:
        family_folder(folder / kind, kind)
    for kind in ("1.0", "1.1"):
        t5_folder(folder / f"t5-{kind}", kind)
    return folder


@pytest.fixture
def variants(environment: None, every_variant: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a checkpoint of every kind: Marian's, its relatives', T5, and models without a part of the
    paper. Nothing is trained."""
    _used(every_variant, monkeypatch)
    monkeypatch.setattr(training_queue, "_shared", [training_queue.TrainingQueue(0, 60)])
    return every_variant
