"""`python -m tests.mutants [NAME ...]`: put known defects into the code, one by one; do the tests find them?

Each runs in a copy of the working tree, with the tests that ought to find it: first those of `make test`, then, where
they did not, those that only `make test-all` runs. The exit status is 0 if every defect was found.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (".git", ".venv", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", "runs")


@dataclass(frozen=True)
class Mutant:
    """A defect: `old`, which stands once in the file, becomes `new`. tests: files and folders that ought to find it."""

    name: str
    path: str
    old: str
    new: str
    tests: str


MODEL, INFERENCE, SWITCHES = "transformer/model", "transformer/inference", "transformer/interventions"
MUTANTS = (
    # the model
    Mutant("scale", f"{MODEL}/attention.py", "scores / math.sqrt(queries.shape[-1])",
           "scores / math.sqrt(values.shape[-1] + 1)", "tests/model"),
    Mutant("softmax-axis", f"{MODEL}/attention.py", "scores.softmax(dim=-1)", "scores.softmax(dim=-2)", "tests/model"),
    Mutant("dropout-after", f"{MODEL}/attention.py", "dropout = self.dropout if self.training else 0.0",
           "dropout = self.dropout", "tests/model tests/training"),
    Mutant("heads-order", f"{MODEL}/attention.py", "heads.transpose(1, 2).flatten(-2)",
           "heads.transpose(1, 2).transpose(2, 3).flatten(-2)", "tests/model"),
    Mutant("no-residual", f"{MODEL}/layers.py", "x + update if self.residual else update",
           "x + update if not self.pre else update", "tests/model"),
    Mutant("norm-place", f"{MODEL}/layers.py", "compute(self.norm(x) if self.pre else x)", "compute(self.norm(x))",
           "tests/model"),
    Mutant("sine-cosine", f"{MODEL}/positions.py", "torch.stack((angle.sin(), angle.cos())",
           "torch.stack((angle.cos(), angle.sin())", "tests/model"),
    Mutant("wavelength", f"{MODEL}/positions.py", "10000.0 ** (even / d_model)", "1000.0 ** (even / d_model)",
           "tests/model"),
    Mutant("embedding-factor", f"{MODEL}/transformer.py",
           "F.embedding(ids, self.table(side)) * self.config.embedding_factor", "F.embedding(ids, self.table(side))",
           "tests/model"),
    Mutant("activation-tap", f"{MODEL}/feedforward.py", 'activation = tap("activation", activation)',
           'tap("activation", pre_activation)', "tests/model tests/tracing"),
    Mutant("bucket-side", f"{MODEL}/positions.py", "half * (distance > 0)", "half * (distance < 0)",
           "tests/checkpoints/test_t5.py"),
    # masks
    Mutant("causal-mask", f"{MODEL}/masks.py", ".tril(past)", ".tril(past + 1)", "tests/model"),
    Mutant("padding-mask", f"{MODEL}/masks.py", "(ids != pad_id)[:, None, None, :]",
           "(ids >= pad_id)[:, None, None, :]", "tests/model"),
    Mutant("first-pad", f"{MODEL}/masks.py", "(fed != pad_id) | first", "(fed != pad_id)",
           "tests/model tests/checkpoints"),
    Mutant("mask-both", f"{MODEL}/transformer.py", "causal & mask", "causal | mask", "tests/model"),
    # the trace
    Mutant("shifted-target", f"{INFERENCE}/pretrained.py", "*out[:-1]]\n        padded",
           "*out[1:]]\n        padded", "tests/inference tests/tracing"),
    Mutant("tap-after-edit", f"{MODEL}/tap.py", "tensor = self._edited(name, tensor)\n        self",
           "self._edited(name, tensor)\n        self", "tests/model tests/interventions"),
    Mutant("tap-missed", f"{MODEL}/tap.py", "missing = sorted(set(edits) - set(names))", "missing = []",
           "tests/model"),
    Mutant("summary", "transformer/analysis/attention.py", 'flat.mean(0) if summary == "mean" else flat.amax(0)',
           'flat.amax(0) if summary == "mean" else flat.mean(0)', "tests/analysis tests/view"),
    Mutant("eight-bits", "transformer/view/pack.py", "(attention.weights * 255).round().byte()",
           "(attention.weights * 254).byte()", "tests/view"),
    # switches
    Mutant("scale-off", f"{SWITCHES}/scale.py", ".factor / sub_layer.config.scale",
           ".factor * sub_layer.config.scale",
           "tests/interventions"),
    Mutant("uniform", f"{SWITCHES}/replace.py", "mask / mask.sum(-1, keepdim=True)",
           "mask / mask.shape[-1]", "tests/interventions"),
    Mutant("argmax-best", f"{SWITCHES}/replace.py", "tensor.argmax(-1, keepdim=True)",
           "tensor.argmin(-1, keepdim=True)", "tests/interventions"),
    Mutant("skip-text", f"{SWITCHES}/skip.py", 'f"{self.stack}.{self.layer + 1}.{self.part}"',
           'f"{self.stack}.{self.layer}.{self.part}"', "tests/interventions"),
    Mutant("silence-zero", f"{SWITCHES}/silence.py", "device=tensor.device), 0.0)", "device=tensor.device), 1.0)",
           "tests/interventions"),
    Mutant("hide-index", f"{SWITCHES}/hide.py", "int(token) - 1, where)", "int(token), where)",
           "tests/interventions"),
    # decoding
    Mutant("beam-candidates", f"{INFERENCE}/search.py", "joint.topk(min(2 * beam, ", "joint.topk(min(beam, ",
           "tests/inference"),
    Mutant("blocked", f"{INFERENCE}/search.py", "log_probs[..., model.config.unwritten] = -torch.inf",
           "log_probs[..., model.config.pad_id] = -torch.inf", "tests/inference"),
    Mutant("output-limit", f"{INFERENCE}/search.py", "EXTRA_LENGTH = 50", "EXTRA_LENGTH = 49", "tests/inference"),
    Mutant("cache-order", f"{MODEL}/cache.py", "torch.cat((self.keys, keys), 2)", "torch.cat((keys, self.keys), 2)",
           "tests/model tests/inference"),
    Mutant("cache-select", f"{MODEL}/cache.py", "self.keys[rows], self.values[rows]",
           "self.keys[rows], self.values[: len(rows)]", "tests/inference tests/model"),
    Mutant("cache-length", f"{MODEL}/cache.py", "return self.length - tokens", "return self.length",
           "tests/inference"),
    # packing, training
    Mutant("padding-side", "transformer/text/batching.py", "padded[i, : len(row)] = row",
           "padded[i, -len(row) :] = row",
           "tests/text tests/training tests/inference"),
    Mutant("target-out", "transformer/text/batching.py",
           "pad([[config.start_id, *row] for row in targets], config.pad_id)",
           "pad([[config.end_id, *row] for row in targets], config.pad_id)", "tests/text tests/training"),
    Mutant("bucket-limit", "transformer/text/batching.py", "longest_now * (len(batches[-1]) + 1) > tokens",
           "longest_now * len(batches[-1]) > tokens", "tests/training"),
    Mutant("smoothing", "transformer/training/loss.py", "smoothing * log_probs.mean(-1).sum()",
           "smoothing * log_probs.sum(-1).sum()", "tests/training"),
    Mutant("warm-up", "transformer/training/schedule.py", "(warmup / step) ** 0.5", "(warmup / step)",
           "tests/training"),
    # pages
    Mutant("link-cell", "transformer/view/state.py", "cell=(numbers[0] - 1, numbers[1] - 1)",
           "cell=(numbers[1] - 1, numbers[0] - 1)", "tests/view tests/pages/heads"),
    Mutant("link-switches", "pages/frame/state.py", "switches += asked", "switches = asked",
           "tests/pages/frame tests/pages/lab"),
    Mutant("escape", "pages/frame/messages.py", "html.escape(", "str(", "tests/pages/frame tests/pages"),
    Mutant("own-model", "pages/frame/frame.py", "if before.languages != after.languages:",
           "if before.languages == after.languages:", "tests/pages/frame"),
    Mutant("untranslated", "pages/frame/frame.py", '_("Skip to the content")', '"Skip to the content"',
           "tests/pages/test_language.py"),
    Mutant("shared-cache", "pages/runtime/memory.py",
           "return max(int(self.budget * LEAST_SHARE), self.budget - others)", "return self.budget",
           "tests/pages/runtime"),
    # JavaScript
    Mutant("js-merge-state", "frontend/src/state/state.js", "value >= 0 && value <= 1 ?", "value >= 0 ?", "frontend"),
    Mutant("js-renormalise", "frontend/src/core/matrix.js", "total = sum > 0 ? sum / unit : 1;", "total = 1;",
           "frontend"),
    Mutant("js-exact", "frontend/src/state/trace_model.js", "layer * heads + head", "head * heads + layer", "frontend"),
    Mutant("js-text", "frontend/src/core/texts.js", "const translated = translations?.[english];",
           "const translated = english;", "frontend"),
)  # fmt: skip


def copy_tree(folder: Path) -> Path:
    """A copy of what is under version control, with what was built beside it linked."""
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    if (ROOT / "frontend" / "node_modules").exists():
        (tree / "frontend" / "node_modules").symlink_to((ROOT / "frontend" / "node_modules").resolve())
    return tree


def passes(tree: Path, tests: str, marks: str) -> bool:
    """Whether these tests find nothing. Raises SystemExit if none was chosen."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    if tests == "frontend":
        command, folder = ["npm", "test"], tree / "frontend"
    else:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", marks, *tests.split()]
        folder = tree
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) and tests != "frontend":
        raise SystemExit(
            f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2_000:]}{done.stderr[-2_000:]}"
        )
    return done.returncode == 0


def found_by(mutant: Mutant, tree: Path) -> str:
    """Which command finds the defect: "make test", "make test-all", or "" for none."""
    path = tree / mutant.path
    code = path.read_text(encoding="utf-8")
    if code.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.name}: {mutant.old!r} stands {code.count(mutant.old)} times in {mutant.path}")
    path.write_text(code.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        if mutant.tests == "frontend":
            return "" if passes(tree, "frontend", "") else "make test-all"
        if not passes(tree, mutant.tests, "not long and not slow"):
            return "make test"
        return "" if passes(tree, mutant.tests, "not long") else "make test-all"
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
        for tests in dict.fromkeys(mutant.tests for mutant in chosen):
            if not passes(tree, tests, "not long and not slow"):
                raise SystemExit(f"{tests} fails without any defect; mend that first")
        for mutant in chosen:
            results[mutant.name] = found_by(mutant, tree)
            print(f"{mutant.name:18} {mutant.path:42} {results[mutant.name] or 'MISSED'}", flush=True)
    counts = {command: list(results.values()).count(command) for command in ("make test", "make test-all", "")}
    print(f"\n{len(chosen)} defects: {counts['make test']} found by make test, {counts['make test-all']} more by "
          f"make test-all, {counts['']} missed")  # fmt: skip
    return 1 if counts[""] else 0


if __name__ == "__main__":
    sys.exit(main())
