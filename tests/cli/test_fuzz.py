"""The command line with arguments made up at random; see tests/fuzz."""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz import command_lines
from tests.fuzz.common import TEXTS, examples, one_sentence
from tests.fuzz.folders import MARK
from tests.fuzz.guard import watched

pytestmark = pytest.mark.slow  # many cases


@given(command_lines.arguments(), st.lists(TEXTS, max_size=3))
@examples(300)
def test_any_command_line_ends_with_a_result_or_one_sentence(arguments: list[str], lines: list[str]) -> None:
    typed = "\n".join(lines).encode("utf-8", "surrogatepass")
    with tempfile.TemporaryDirectory(prefix="headscope-fuzz-") as there, contextlib.chdir(there), watched(Path(there)):
        status, out, wrong = command_lines.run(arguments, typed)
    assert status in (0, 1, 2, 130), status
    assert "Traceback" not in out + wrong, wrong[-2_000:]
    if status == 2:
        assert "error: " in wrong, wrong
        sentence = wrong[wrong.index("error: ") :].strip()
        one_sentence(sentence.replace(str(command_lines.place()), ""), 1_500)
    assert not MARK.exists(), "code of a file was run"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["heads", "--checkpoint", "good", "--data", "train.tsv", "--json", "."], "Is a directory"),
        (["train", "--output", "out", "--recipe", "/dev/zero"], "larger than 1,000,000 bytes"),
        (["train", "--output", "out", "--recipe", "8.toml"], "is not TOML"),  # a number of 5,000 digits
        (["train", "--output", "out", "--recipe", "7.toml"], "is not TOML"),  # 2,000 lists in one another
        (["evaluate", "--checkpoint", "good", "--recipe", "6.toml"], "the name of a file"),  # with a zero byte in it
        (["app", "--checkpoint", "good", "--address", "\udc80"], "this machine does not have the address"),
        (["app", "--checkpoint", "good", "--port", "9" * 5_000], "a whole number from"),
        (["translate", "--checkpoint", "x\x1b[31m\nx"], "\\x1b[31m\\nx"),  # nothing reaches the terminal as a command
    ],
)
def test_errors_found_by_fuzzing_stay_fixed(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    there = command_lines.place()
    files = {path.name for path in there.iterdir()}
    arguments = [str(there / one) if one in files else one for one in arguments]
    with watched(tmp_path):
        status, _out, wrong = command_lines.run(arguments)
    assert status == 2 and words in wrong, wrong
    assert len(wrong.strip().splitlines()[-1]) < 1_500 and "\x1b" not in wrong


def test_the_guard_stops_writing_and_new_processes(tmp_path: Path) -> None:
    """Without this the two tests that rely on it could not fail."""
    (tmp_path / "in").mkdir()
    with watched(tmp_path / "in") as watch:
        (tmp_path / "in" / "a").write_text("here it is allowed")
        for act in (
            lambda: (tmp_path / "b").write_text("x"),
            lambda: (tmp_path / "c").mkdir(),
            lambda: os.replace(tmp_path / "in" / "a", tmp_path / "d"),
            lambda: subprocess.run([sys.executable, "-c", ""], check=True),
        ):
            try:
                act()
            except OSError:
                continue
            raise AssertionError("it was let through")
    assert {event for event, _ in watch.found} == {"open", "os.mkdir", "os.rename", "subprocess.Popen"}
    (tmp_path / "b").write_text("and afterwards it is allowed again")
