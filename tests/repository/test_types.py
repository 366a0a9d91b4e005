"""The types of the package and of the pages hold (`make lint` asks the same; pyproject.toml says how strictly)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


def mypy(cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(cache), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_types_hold(cache: Path) -> None:
    done = mypy(cache)
    assert done.returncode == 0, done.stdout + done.stderr


def test_who_imports_the_package_gets_its_types(cache: Path, tmp_path: Path) -> None:
    """py.typed says that they are there; a check that finds no mistake anywhere would prove nothing."""
    assert (ROOT / "transformer" / "py.typed").is_file()
    user = tmp_path / "user.py"
    user.write_text(
        "import transformer\nreveal_type(transformer.load('en-de').translate('A.').text)\ntransformer.load(3)\n"
    )
    done = mypy(cache, str(user))
    assert done.returncode == 1 and 'Revealed type is "str"' in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("error:") == 1 and "user.py:3: error: Argument 1" in done.stdout
