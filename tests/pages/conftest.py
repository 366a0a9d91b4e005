"""Fixtures for tests of pages: a folder with a tiny checkpoint, and pages opened with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.app import EXAMPLE, LEFT_OUT, SOURCE, TARGET, app_test, linked
from tests.support.build import saved_variants, tiny_pretrained
from tests.support.marian import KINDS, marian_folder
from transformer.checkpoints.folder import save_checkpoint
from transformer.live_training import workshop


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of checkpoints with `tiny`, which has an example; the app prefers it to its own."""
    tiny = tiny_pretrained()
    save_checkpoint(tmp_path / "tiny", tiny.model, tiny.tokenizer, tiny.languages)
    (tmp_path / "tiny" / "examples.json").write_text(json.dumps([EXAMPLE]))
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(tmp_path))
    monkeypatch.setenv("HEADSCOPE_MAX_TOKENS", "40")
    for name in ("HEADSCOPE_CHECKPOINT", "HEADSCOPE_DEVICE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def open_page(folder: Path) -> Callable[..., AppTest]:
    """Open a page by link, with a sentence pair."""

    def start(page: str = "heads", **params: str) -> AppTest:
        return app_test(page, **{"source": "ka lo mi", "target": "re sta vu", **params}).run()

    return start


@pytest.fixture(scope="session")
def variants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint of every kind: Marian's, and models without a part of the paper."""
    folder = saved_variants(tmp_path_factory.mktemp("variants"), LEFT_OUT)
    for kind in KINDS:
        marian_folder(folder / kind, kind)
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
