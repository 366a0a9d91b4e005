"""Scripts of the frontend, run by Node beside Python's own results."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

FRONTEND = Path(__file__).resolve().parents[2] / "frontend"


def written(script: str, *arguments: str | Path, given: object = None) -> str:
    """What a script under frontend/src writes; given: sent to it as JSON. The test is skipped where Node or the
    packages that `make frontend-test` installs are missing, but not in CI."""
    if "CI" not in os.environ and not (shutil.which("node") and (FRONTEND / "node_modules").is_dir()):
        pytest.skip("needs Node and its packages: make frontend-test")
    command = ["node", FRONTEND / "src" / script, *arguments]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
