"""Where the app and the checkpoints are looked for."""

import os
import subprocess
from pathlib import Path

import pytest

from transformer import paths

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package as a wheel installs it."""
    (tmp_path / "transformer" / "_app").mkdir(parents=True)
    monkeypatch.setattr(paths, "PACKAGE", tmp_path / "transformer")
    return tmp_path / "transformer"


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADSCOPE_CHECKPOINTS", raising=False)


def test_in_a_checkout_the_app_is_at_the_root() -> None:
    assert paths.app_folder() == ROOT
    assert (paths.app_folder() / "pages" / "app.py").is_file()
    assert (paths.app_folder() / "pages" / ".streamlit" / "config.toml").is_file()
    assert paths.checkpoint_folders() == [ROOT / "checkpoints"]


def test_no_package_of_others_is_in_the_repository() -> None:
    """What pip downloads into the folder where it is started is ignored, but was committed once."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert not [name for name in tracked.splitlines() if name.endswith((".whl", ".tar.gz", ".tgz", ".egg"))]


def test_in_an_installed_package_the_app_is_inside_it(installed: Path) -> None:
    assert paths.app_folder() == installed / "_app"
    assert paths.checkpoint_folders() == [installed / "_app" / "checkpoints"]


def test_the_current_folder_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = paths.checkpoint_folders()
    monkeypatch.chdir(tmp_path)
    assert paths.checkpoint_folders() == before


def test_named_folders_come_first(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = installed / "_app" / "checkpoints"
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", os.pathsep.join(["one", "", " ", "two", "one", str(own)]))
    assert paths.checkpoint_folders() == [Path("one"), Path("two"), own]
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", "~/models")
    assert paths.checkpoint_folders() == [Path.home() / "models", own]
