"""The Python of README.md and of docs/research.md runs as printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "research.md"
BEFORE = """
import sys, transformer
assert "plotly" not in sys.modules and "figures" not in vars(transformer)
"""
AFTER = """
assert trace.cross.weights.shape[-2:] == (len(trace.target_in), len(trace.source_tokens))
assert "plotly" in sys.modules
"""


def test_every_recipe_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One block after the other."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 9
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(DOCUMENT), "exec"), names)
    assert {"role", "best", "pruned", "methods", "gradient", "kept", "mine"} <= set(names)


def test_the_python_examples_run_as_printed() -> None:
    """In a new process, where `transformer.figures` is not imported yet."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert "transformer.figures." in example
    command = [sys.executable, "-c", BEFORE + example + AFTER]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
