"""`python -m tests.mutants [NAME ...]`: put known defects into the code, one by one; do the tests find them?

The defects are in mutants.txt. Each runs in a copy of the working tree, with the test file that ought to find it: first
its tests of `make test`, then, where they did not, those that only `make test-all` runs. The exit status is 0 if every
defect was found.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (".git", ".venv", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", "runs")
QUICK, SLOW = "not long and not slow", "not long"


@dataclass(frozen=True)
class Mutant:
    """A defect: `old`, which stands once in the file, becomes `new`. test: the file that ought to find it."""

    name: str
    path: str
    old: str
    new: str
    test: str


def _read() -> Iterator[Mutant]:
    path = test = ""
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            name, change = line.split(maxsplit=1)
            old, new = change.replace("\\n", "\n").split("  =>  ")
            yield Mutant(name, path, old, new, test)
        elif line and not line.startswith("#"):
            path, test = line.split()


MUTANTS = tuple(_read())


def copy_tree(folder: Path) -> Path:
    """A copy of what is under version control, with what was built beside it linked."""
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    if (ROOT / "frontend" / "node_modules").exists():
        (tree / "frontend" / "node_modules").symlink_to((ROOT / "frontend" / "node_modules").resolve())
    return tree


def passes(tree: Path, test: str, marks: str) -> bool:
    """Whether these tests of a file find nothing, also where it has none. Raises SystemExit if they cannot run."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    if test.endswith(".js"):
        command, folder = ["node", "--test", str(tree / test)], tree / "frontend"
    else:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", marks, test]
        folder = tree
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 5):  # 5: no test has these marks
        raise SystemExit(
            f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2_000:]}{done.stderr[-2_000:]}"
        )
    return done.returncode != 1


def found_by(mutant: Mutant, tree: Path) -> str:
    """Which command finds the defect: "make test", "make test-all", or "" for none."""
    path = tree / mutant.path
    code = path.read_text(encoding="utf-8")
    if code.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.name}: {mutant.old!r} stands {code.count(mutant.old)} times in {mutant.path}")
    path.write_text(code.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        if not mutant.test.endswith(".js") and not passes(tree, mutant.test, QUICK):
            return "make test"
        return "" if passes(tree, mutant.test, SLOW) else "make test-all"
    finally:
        path.write_text(code, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="some of the defects (default: all)")
    names = parser.parse_args().names
    chosen = [mutant for mutant in MUTANTS if not names or mutant.name in names]
    results: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        tree = copy_tree(Path(folder))
        for test in dict.fromkeys(mutant.test for mutant in chosen):
            if not passes(tree, test, QUICK):
                raise SystemExit(f"{test} fails without any defect; mend that first")
        for mutant in chosen:
            results[mutant.name] = found_by(mutant, tree)
            print(f"{mutant.name:18} {mutant.path:42} {results[mutant.name] or 'MISSED'}", flush=True)
    counts = {command: list(results.values()).count(command) for command in ("make test", "make test-all", "")}
    print(f"\n{len(chosen)} defects: {counts['make test']} found by make test, {counts['make test-all']} more by "
          f"make test-all, {counts['']} missed")  # fmt: skip
    return 1 if counts[""] else 0


if __name__ == "__main__":
    sys.exit(main())
