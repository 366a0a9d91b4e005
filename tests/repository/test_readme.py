"""The Python examples of README.md run as printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHECKS = """
assert trace.cross.weights.shape[-2:] == (len(trace.target_in), len(trace.source_tokens))
assert "plotly" not in sys.modules
figure = {figure}
assert type(figure).__name__ == "Figure" and figure.layout.title.text
"""


def test_the_python_examples_run_as_printed() -> None:
    """In a new process, where `transformer.figures` is not imported yet."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (figure,) = re.findall(r"transformer\.figures\.\w+\.\w+\(.*\)", text)
    code = "import sys\n" + example + CHECKS.format(figure=figure)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
