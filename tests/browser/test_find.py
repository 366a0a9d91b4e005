"""The search for a browser, among programs that only pretend."""

import os
import sys
from pathlib import Path

import pytest

from tests.browser import find

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the pretenders are shell scripts")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH that holds only the programs of the test; nothing can download a browser."""
    monkeypatch.delenv(find.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/nowhere")
    monkeypatch.setattr(find, "PLACES", ())
    monkeypatch.setattr(find, "_playwrights_own", lambda: tmp_path / "own")
    asked = find._try
    monkeypatch.setattr(
        find,
        "_try",
        lambda *command, seconds: asked(*command, seconds=seconds) if "--version" in command else "not tried",
    )
    return tmp_path


def pretend(path: Path, status: int = 0) -> str:
    path.write_text(f"#!/bin/sh\nexit {status}\n")
    path.chmod(0o755)
    return str(path)


def test_the_browser_named_by_the_variable_comes_first_and_must_run(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(programs / "chromium")
    monkeypatch.setenv(find.VARIABLE, pretend(programs / "mine"))
    assert find.find_browser() == str(programs / "mine")
    monkeypatch.setenv(find.VARIABLE, str(programs / "missing"))
    with pytest.raises(find.NoProgram, match=r"HEADSCOPE_BROWSER is '.*missing', which does not run"):
        find.find_browser()


def test_a_browser_that_does_not_run_is_skipped(programs: Path) -> None:
    pretend(programs / "chromium", status=1)
    wanted = pretend(programs / "google-chrome")
    assert find.find_browser() == wanted


def test_the_browser_of_playwright_comes_after_installed_ones(programs: Path) -> None:
    playwright_browser = pretend(programs / "own")
    assert find.find_browser() == playwright_browser
    assert find.find_browser() == playwright_browser != pretend(programs / "chromium") == find.find_browser()


def test_without_a_browser_the_error_lists_what_was_tried(programs: Path) -> None:
    with pytest.raises(find.NoProgram, match=r"none is installed; 'playwright install chromium' failed \(not tried\)"):
        find.find_browser()
