"""What every command of the command line takes: wall clock, CPU and memory, one process after the other."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file

from benchmarks.app import ROOT
from benchmarks.report import Table, load
from transformer.inference.pretrained import Pretrained
from transformer.probing.alignment import gold_pairs
from transformer.probing.importance import all_heads, sub_layers
from transformer.probing.probes import english_to_german, probe_pairs
from transformer.training.data import Pair

USAGE = Path(__file__).with_name("usage.py")
LINES, ALIGNED, SENTENCES, UPDATES, SNAPSHOTS = 1_000, 3_000, 100, 100, 12
QUICK = 2  # of everything
PAIRS_A_MINUTE = 2_000
FROM_PYTHON = "from Python: "
LOAD = "import sys, transformer; model = transformer.load(sys.argv[1]); "
TRACE = LOAD + "trace = model.trace(sys.argv[2], sys.argv[3]); "
ATTRIBUTE = (
    TRACE
    + "from transformer.attribution import METHODS, attribute; "
    + "[attribute(model, trace, name, [len(trace.target_out) // 2]) for name in METHODS]"
)
PATCH = (
    TRACE
    + "from transformer.probing.patching import head_places, recovery; "
    + "other = model.trace(sys.argv[2], sys.argv[3], "
    + "edits={'encoder.0.self.head_outputs': lambda outputs: 0 * outputs}); "
    + "places = [place for found in head_places(model).values() for place in found]; "
    + "recovery(model, trace, other, places, 0, trace.target_out_ids[0])"
)


class CommandFailed(RuntimeError):
    """A command ended with another status than 0; the message holds the end of what it wrote."""


@dataclass(frozen=True)
class Usage:
    """Seconds of wall clock and of CPU, and the largest resident memory, in bytes."""

    wall: float
    cpu: float
    peak: int


@dataclass(frozen=True)
class Job:
    """name: as in the table; arguments: of Python; done: what it did, in words; source: its standard input.
    rate: what to say about the speed, with whether that is good; None where nothing is wanted."""

    name: str
    arguments: Sequence[str]
    done: str
    source: Path | None = None
    rate: Callable[[Usage], tuple[str, bool]] | None = None


def use(arguments: Sequence[str], source: Path | None = None) -> Usage:
    """Run Python with these arguments on one thread. source: its standard input. Raises CommandFailed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        with open(source or os.devnull, "rb") as lines, (Path(folder) / "errors").open("w+b") as errors:
            subprocess.run(
                [sys.executable, "-S", USAGE, report, sys.executable, *arguments],
                stdin=lines,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd=ROOT,
                env=os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HEADSCOPE_LANGUAGE": "en"},
                check=True,
            )
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace")
        found = json.loads(report.read_text(encoding="utf-8"))
    if found.pop("status") != 0:
        raise CommandFailed(f"{' '.join(map(str, arguments))}: {said[-2_000:]}")
    return Usage(**found)


def jobs(model: Pretrained, folder: Path, quick: bool = False) -> list[Job]:
    """Every command but `app`, which does not end, and `get`, which needs a network. folder: for their files."""
    lines, aligned, sentences, updates = [QUICK] * 4 if quick else [LINES, ALIGNED, SENTENCES, UPDATES]
    files = Files(model, folder, quick)
    heads, parts = len(all_heads(model.config)), len(sub_layers(model.config))
    first = files.pairs[0]

    def command(name: str, *options: object) -> list[str]:
        return ["-m", "transformer", name, "--checkpoint", str(model.path), *map(str, options)]

    def a_minute(used: Usage) -> tuple[str, bool]:
        rate = aligned / used.wall * 60
        return f"{rate:,.0f} pairs a minute", rate >= PAIRS_A_MINUTE

    worth = f"{heads} heads at 0 and at their means, {parts} sub-layers and layers at 0, {sentences} sentences"
    some = ["--data", files.few] if quick else []
    return [
        Job("nothing but loading the model", ["-c", LOAD, str(model.path)], "import torch, read the weights"),
        Job("`translate`", command("translate"), f"{lines:,} sentences, greedy", files.sources(lines)),
        Job("`translate --beam 4`", command("translate", "--beam", 4), f"{lines:,} sentences", files.sources(lines)),
        Job("`evaluate`", command("evaluate", "--data", files.few), f"{files.count} pairs"),
        Job("`heads`", command("heads", *some), f"roles over {files.probes} pairs"),
        Job(
            "`align`",
            command("align"),
            f"{aligned:,} pairs",
            files.lines("align.tsv", aligned),
            None if quick else a_minute,
        ),
        Job(
            "`align --score`",
            command("align", "--score", "--gold", files.gold),
            f"every head, weights and norms, both readings, {files.golds} pairs",
        ),
        Job(
            "`importance --no-pruning`",
            command("importance", *some, "--no-pruning", "--sentences", sentences),
            worth,
        ),
        Job("`importance`", command("importance", *some, "--sentences", sentences), "the same, and 12 pruning curves"),
        Job("`describe`", command("describe"), "parts and parameters"),
        Job("`describe --sentence`", command("describe", "--sentence", first[0]), "all tensors of a pass"),
        Job(
            "`export-web`",
            ["-m", "transformer", "export-web", str(model.path), str(folder / "web")],
            "copies of the graphs that ship",
        ),
        Job(
            "`site`",
            ["-m", "transformer", "site", str(folder / "site"), "--checkpoint", str(model.path)],
            "files of all pages",
        ),
        Job(
            "`record`",
            command("record", "--run", files.run, "--validation", files.few, "--output", folder / "learning.npz"),
            f"{files.snapshots} snapshots, the checkpoint's examples, {files.count} validation pairs",
        ),
        Job(
            "`train`",
            ["-m", "transformer", "train", "--recipe", "recipes/reverse.toml", "--output", str(folder / "trained"),
             "--steps", str(updates), "--warmup", str(updates), "--cooldown", "0"],
            f"{updates} updates of the recipe `reverse`",
        ),
        Job(
            f"{FROM_PYTHON}attribution",
            ["-c", ATTRIBUTE, str(model.path), *first],
            "one token of a sentence by all nine methods",
        ),
        Job(f"{FROM_PYTHON}patching", ["-c", PATCH, str(model.path), *first], f"{heads} heads of one sentence"),
    ]  # fmt: skip


class Files:
    """What the commands read: pairs of the probe set, and of the gold alignments for English to German."""

    def __init__(self, model: Pretrained, folder: Path, quick: bool) -> None:
        self.folder = folder
        probes = probe_pairs(model) or []
        german = english_to_german(model)
        golds = [(gold.source, gold.target) for gold in gold_pairs()] if german else []
        self.pairs: list[Pair] = [*probes, *golds][: QUICK if quick else None]
        self.count, self.probes = len(self.pairs), QUICK if quick else len(probes)
        self.few = self.lines("pairs.tsv", self.count)
        rows = [f"{gold.source}\t{gold.target}\t{_links(gold.sure)}" for gold in gold_pairs()] if german else [
            f"{source}\t{target}\t0-0" for source, target in self.pairs
        ]  # fmt: skip
        rows = rows[: QUICK if quick else None]
        self.gold, self.golds = folder / "gold.tsv", len(rows)
        self.gold.write_text("\n".join(rows) + "\n", encoding="utf-8")
        self.run, self.snapshots = folder / "run", QUICK if quick else SNAPSHOTS
        (self.run / "snapshots").mkdir(parents=True)
        weights = {name: tensor.half().contiguous() for name, tensor in model.model.state_dict().items()}
        for step in range(self.snapshots):  # a run that learns nothing costs as much to record
            save_file(weights, self.run / "snapshots" / f"{step:08}.safetensors")

    def _many(self, count: int) -> list[Pair]:
        return list(itertools.islice(itertools.cycle(self.pairs), count))

    def lines(self, name: str, count: int) -> Path:
        path = self.folder / name
        path.write_text("".join(f"{a}\t{b}\n" for a, b in self._many(count)), encoding="utf-8")
        return path

    def sources(self, count: int) -> Path:
        path = self.folder / "sources.txt"
        path.write_text("".join(f"{source}\n" for source, _ in self._many(count)), encoding="utf-8")
        return path


def _links(links: frozenset[tuple[int, int]]) -> str:
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    """The commands one after the other, each a process of its own."""
    table = Table(
        "Every command, on one thread",
        ("command", "what it did", "wall clock, s", "CPU, s", "peak, MB", "rate"),
        load(),
    )
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        for job in jobs(model, Path(folder), quick):
            used = use(job.arguments, job.source)
            rate, good = job.rate(used) if job.rate else ("", None)
            cells = (f"{used.wall:.1f}", f"{used.cpu:.1f}", f"{used.peak / 1e6:,.0f}")
            table.add(job.name, job.done, *cells, rate, good=good)
    table.notes.append(
        f"Each in a process of its own, which imports torch and reads the weights first. Wanted: {PAIRS_A_MINUTE:,} "
        "pairs a minute for `align`, with its start and its choice of the best head. What every head alone is worth: "
        "section 12. Peak: the largest resident memory, torch included. Sentences repeat where the project's own are "
        "not enough. `app` does not end, and `get` needs a network."
    )
    return [table]
