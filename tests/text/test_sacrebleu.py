"""sacreBLEU where no file can be written."""

import subprocess
import sys

import pytest

NOWHERE = """
import sys, tempfile
def nowhere():
    raise FileNotFoundError("No usable temporary directory found")
tempfile._get_default_tempdir = nowhere
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "works"),
    [
        pytest.param("import sacrebleu", False, id="by itself"),  # if this works, the workaround is not needed any more
        pytest.param(
            "from transformer.analysis.bleu import bleu\n"
            "assert 'sacrebleu' not in sys.modules\n"
            "assert round(bleu('the cat sat down', ['the cat sat down']).score) == 100\n"
            "assert tempfile.tempdir is None",
            True,
            id="ours",
        ),
    ],
)
def test_sacrebleu_needs_no_folder_for_temporary_files(code: str, works: bool) -> None:
    done = subprocess.run([sys.executable, "-c", NOWHERE + code], capture_output=True, text=True, check=False)
    assert (done.returncode == 0) is works and ("No usable temporary directory" in done.stderr) is not works
