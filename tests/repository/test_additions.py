"""A page, a switch and an analysis are added to a copy of the code, in the files that CONTRIBUTING.md lists and no
others, and the tests of the copy find them. Their new files are in tests/additions/."""

import filecmp
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from tests.support import locale_template

pytestmark = pytest.mark.slow  # each starts a process

ROOT = Path(__file__).resolve().parents[2]
ADDED = ROOT / "tests" / "additions"
COPIED = ("docs", "locale", "pages", "tests", "transformer", "frontend/src")
LINKED = ("benchmarks", "checkpoints", "lessons", "recipes", "frontend/node_modules")
RUN = "import runpy, sys, pytest; runpy.run_module(sys.argv[1], {}, '__main__'); sys.exit(pytest.main(sys.argv[2:]))"


@dataclass(frozen=True)
class Addition:
    """changed: file -> what is replaced in it. korean: the translations. files: how many are new or changed by hand.
    writes: the module that writes those of `written`. tests, about: what must pass in the copy, files and words."""

    changed: dict[str, dict[str, str]]
    korean: dict[str, str]
    files: int
    writes: str
    written: set[str]
    tests: tuple[str, ...]
    about: str


ADDITIONS = {
    "page": Addition(
        {"pages/registry.py": {
            '("The model card: data, scores, licence."), study),':
                '("The model card: data, scores, licence."), study),\n'
                '        Page("glossary", _("Glossary"), _("The words of the app."), study),',
        }},
        {"Glossary": "용어집", "The words of the app.": "앱의 용어.", "Words from A to Z.": "용어를 차례로 봅니다."},
        4, "tests.support.documents", {"README.md", "README.ko.md", "tests/pages/links.txt"},
        ("pages/glossary", "pages/test_links.py", "pages/paper/test_views.py", "pages/frame/test_frame.py"),
        "glossary or list or header_links",
    ),
    "switch": Addition(
        {"transformer/interventions/sets.py": {
            "from transformer.model.config":
                "from transformer.interventions.unquery import Unquery\nfrom transformer.model.config",
            "    Scale, Unbias, Unmask, Pad,": "    Scale, Unbias, Unmask, Unquery, Pad,",
        }},
        {"queries off": "쿼리 끔", "queries off in {heads}": "{heads}의 쿼리 끔", "Queries": "쿼리",
         "What each token looks for.": "토큰마다 찾는 것."},
        4, "transformer.view.generate", {f"frontend/src/state/{name}.js" for name in ("generated", "texts")},
        ("interventions/test_unquery.py", "interventions/test_every_switch.py", "web/test_switches.py",
         "view/test_generate.py"),
        "queries or names or all or shares",
    ),
    "analysis": Addition(
        {"pages/embeddings/page.py": {
            "import inputs, layer_norm, lens, residual": "import inputs, layer_norm, lens, residual, turn",
            'lens.draw_output, ("step",)),': 'lens.draw_output, ("step",)),\n    "turn": Part(N_("Turns"), turn.draw),',
            "waits=True": 'waits=True, beyond=("turn",)',
        }},
        {"How far the encoder turns each token": "인코더가 토큰의 벡터를 돌리는 정도", "Turns": "회전",
         "cosine of the vectors before and after": "앞뒤 벡터의 코사인", "cosine": "코사인",
         "1: the encoder changed only the length.": "1이면 길이만 바뀐 것입니다."},
        6, "tests.support.documents", {"tests/pages/links.txt"},
        ("analysis/test_turn.py", "figures/test_every_figure.py", "pages/test_every_part.py", "pages/test_links.py",
         "pages/paper/test_views.py"),
        "turn or list or cosine",
    ),
}  # fmt: skip


def new_files(name: str) -> list[str]:
    return [path.relative_to(ADDED / name).as_posix() for path in (ADDED / name).rglob("*.py")]


def copy_with(name: str, folder: Path) -> set[str]:
    """Make a copy of the code with the new files and the changes of an addition. Returns the files."""
    for part in COPIED:
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("additions"))
    for part in LINKED:
        (folder / part).symlink_to(ROOT / part)
    for path in filter(Path.is_file, ROOT.iterdir()):
        shutil.copy2(path, folder)
    shutil.copytree(ADDED / name, folder, dirs_exist_ok=True)
    for file, texts in ADDITIONS[name].changed.items():
        text = (folder / file).read_text(encoding="utf-8")
        for before, after in texts.items():
            assert text.count(before) == 1, before
            text = text.replace(before, after)
        (folder / file).write_text(text, encoding="utf-8")
    return {*new_files(name), *ADDITIONS[name].changed, "locale/ko.po"}


def translate(korean: dict[str, str], path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `make texts` and a translator do it."""
    texts = locale_template.all_texts()
    with path.open("rb") as file:
        known = {str(entry.id): str(entry.string) for entry in read_po(file)}
    monkeypatch.setattr(locale_template, "all_texts", lambda: dict.fromkeys((*texts, *korean)))
    path.write_bytes(locale_template.catalogue(known | korean, "ko"))


def differing(folder: Path) -> set[str]:
    """Files of the copy that are new or changed."""
    found = [path for part in COPIED for path in (folder / part).rglob("*")] + list(folder.iterdir())
    names = [path.relative_to(folder) for path in found if path.is_file() and "__pycache__" not in path.parts]
    return {str(name) for name in names if not (ROOT / name).is_file() or not filecmp.cmp(ROOT / name, folder / name)}


@pytest.mark.parametrize("name", ADDITIONS)
def test_one_more_is_added_in_few_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    addition = ADDITIONS[name]
    by_hand = copy_with(name, tmp_path)
    assert len(by_hand) == addition.files
    translate(addition.korean, tmp_path / "locale" / "ko.po", monkeypatch)
    tests = ["repository/test_locale.py", *addition.tests]
    command = [sys.executable, "-c", RUN, addition.writes, "-q", "-p", "no:cacheprovider", "-m", "not slow",
               "-W", "ignore::pytest.PytestAssertRewriteWarning"]  # fmt: skip
    command += ["-k", f"{addition.about} or a_language", *(f"tests/{test}" for test in tests)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert differing(tmp_path) == by_hand | addition.written
    if name == "switch" and shutil.which("node"):
        command = ["node", "--test", "frontend/src/lab/switches.test.js"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_contributing_lists_these_files() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name, addition in ADDITIONS.items():
        section = text.partition(f"### {name.capitalize()}")[2].partition("\n### ")[0]
        listed = re.findall(r"^\d\. `([^`]+)`", section, re.MULTILINE)
        assert len(listed) == addition.files, name
        for file in (*new_files(name), *addition.changed, "locale/ko.po"):
            assert any(re.fullmatch(re.sub(r"<\w+>", r"\\w+", one), file) for one in listed), file
