"""Fixtures for tests of pages: a folder with a tiny checkpoint, and pages opened with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.app import EXAMPLE, LEFT_OUT, SOURCE, TARGET, app_test, linked
from tests.support.build import saved_variants, tiny_pretrained
from tests.support.families import KINDS as FAMILIES
from tests.support.families import family_folder
from tests.support.marian import KINDS, marian_folder
from transformer.checkpoints.folder import save_checkpoint
from transformer.live_training import workshop


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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of checkpoints with `tiny`, the test's own: it may change it, and nothing of it is in a cache yet."""
    _used(tmp_path, monkeypatch)
    return _with_tiny(tmp_path)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _with_tiny(tmp_path_factory.mktemp("shared"))


@pytest.fixture
def open_page(
    request: pytest.FixtureRequest, shared_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., AppTest]:
    """Open a page by link, with a sentence pair and the checkpoint `tiny`: of the folder that all tests share, so that
    what one has computed is in the cache for the others; with the fixture `folder`, of the test's own."""
    if "folder" not in request.fixturenames:
        _used(shared_folder, monkeypatch)

    def start(page: str = "heads", **params: str) -> AppTest:
        return app_test(page, **{"source": "ka lo mi", "target": "re sta vu", **params}).run()

    return start


@pytest.fixture(scope="session")
def variants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint of every kind: Marian's, its relatives', and models without a part of the paper."""
    folder = saved_variants(tmp_path_factory.mktemp("variants"), LEFT_OUT)
    for kind in KINDS:
        marian_folder(folder / kind, kind)
    for kind in FAMILIES:
        family_folder(folder / kind, kind)
    return folder


@pytest.fixture
def open_variant(variants: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Open a part of a page with one of these checkpoints."""
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(variants))
    monkeypatch.setenv("HEADSCOPE_MAX_TOKENS", "40")
    monkeypatch.setattr(workshop, "_shared", [workshop.Workshop(0, 60)])  # nothing is trained
    for name in ("HEADSCOPE_CHECKPOINT", "HEADSCOPE_DEVICE"):
        monkeypatch.delenv(name, raising=False)

    def start(kind: str, page: str = "heads", part: str = "", **params: str) -> AppTest:
        chosen = {"checkpoint": kind, "source": SOURCE, "target": TARGET, **linked(part), **params}
        return app_test(page, **chosen).run()

    return start
