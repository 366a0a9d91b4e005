"""Whoever imports the package gets its types; `make lint` checks the package itself."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
def test_the_package_ships_its_types(tmp_path: Path) -> None:
    """py.typed says that they are there; a check that finds no mistake anywhere would prove nothing."""
    assert (ROOT / "transformer" / "py.typed").is_file()
    user = tmp_path / "user.py"
    user.write_text(
        "import transformer\nreveal_type(transformer.load('en-de').translate('A.').text)\ntransformer.load(3)\n"
    )
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(user)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and 'Revealed type is "str"' in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("error:") == 1 and "user.py:3: error: Argument 1" in done.stdout
