"""A worker that crashes costs the test at which it crashed and nothing else; and the run ends."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFTEST = """
from tests.support.whole_files import WholeFiles

def pytest_xdist_make_scheduler(config, log):
    return WholeFiles(config, log)
"""
FILE = """
import os, time, pytest

@pytest.mark.parametrize("number", range(6))
def test_one(number):
    time.sleep(0.02)
    if number in {crashes}:
        os._exit(3)
"""


@pytest.mark.slow
def test_all_other_tests_run(tmp_path: Path) -> None:
    crashes = {0: {0}, 2: {3}, 4: {5}}  # at the first, a middle and the last test of a file
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for number in range(5):
        (tmp_path / f"test_{number}.py").write_text(FILE.format(crashes=crashes.get(number, set())))
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--numprocesses", "2", "--dist", "loadfile",
         "--no-loadscope-reorder", "-q", "--color", "no", "."],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    failed = set(re.findall(r"^FAILED (\S+)", run.stdout, re.MULTILINE))
    assert failed == {f"test_{file}.py::test_one[{one}]" for file, some in crashes.items() for one in some}
    assert f"{len(failed)} failed, {30 - len(failed)} passed" in run.stdout
