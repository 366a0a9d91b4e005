"""Several workers under torchrun: the same run as one alone."""

import csv
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from transformer.text.batching import Batch
from transformer.training.parallel import ALONE, Workers

ROOT = Path(__file__).resolve().parents[2]


def numbered(rows: int) -> Batch:
    ids = torch.arange(1, rows + 1)[:, None].expand(-1, 3)
    return Batch(ids, ids + 100, ids + 200)


@pytest.mark.parametrize(("rows", "count"), [(7, 2), (5, 3), (1, 2), (4, 4)])
def test_parts_are_the_batch_once(rows: int, count: int) -> None:
    batch = numbered(rows)
    parts = [Workers(number, count).part(batch) for number in range(count)]
    predicted = torch.cat([part.target_out[part.target_out.sum(-1) > 0] for part in parts])
    assert sorted(predicted[:, 0].tolist()) == batch.target_out[:, 0].tolist()
    for part in parts:
        assert len(part.source) == len(part.target_in) == len(part.target_out) >= 1
        assert torch.equal(part.source + 100, part.target_in)


def test_one_alone_exchanges_nothing() -> None:
    batch, values = numbered(3), torch.tensor([2.0])
    assert ALONE.part(batch) is batch and ALONE.total(values) is values and ALONE.gather(values) == [values]
    assert ALONE.first and not Workers(1, 2).first


def run(
    count: int, folder: Path, *more: str, module: Sequence[str] = ("-m", "transformer")
) -> subprocess.CompletedProcess[str]:
    """Train by one process, or by several under torchrun."""
    starter = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"] if count > 1 else []
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *starter, *module, "train", *more, "--output", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, cwd=ROOT)


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder, rng = tmp_path_factory.mktemp("data"), random.Random(3)
    words = ["ka", "lo", "mi", "nu", "re", "sta"]
    lines = [" ".join(rng.choices(words, k=rng.randint(1, 6))) for _ in range(120)]
    (folder / "pairs.tsv").write_text("".join(f"{line}\t{line[::-1]}\n" for line in lines))
    return [
        "--data", str(folder / "pairs.tsv"), "--validation", str(folder / "pairs.tsv"), "--preset", "tiny",
        "--vocab-size", "24", "--d-model", "16", "--heads", "2", "--d-ff", "24", "--max-positions", "40",
        "--steps", "50", "--warmup", "10", "--peak-rate", "0.01", "--batch-tokens", "70", "--validate-every", "1",
        "--validation-sentences", "1", "--save-every", "25", "--sampling", "0.3",
    ]  # fmt: skip


def losses(folder: Path) -> list[float]:
    return [float(row["loss"]) for row in csv.DictReader((folder / "training.csv").read_text().splitlines())]


@pytest.mark.long
def test_two_workers_learn_the_same_as_one(options: list[str], tmp_path: Path) -> None:
    alone = run(1, tmp_path / "one", *options, "--dropout", "0")
    assert alone.returncode == 0, alone.stderr
    together = run(2, tmp_path / "two", *options, "--dropout", "0")
    assert together.returncode == 0, together.stderr
    one, two = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert len(one) == len(two) == 50 and one[-1] < one[0] - 0.3
    assert max(abs(a - b) for a, b in zip(one, two, strict=True)) < 1e-4
    assert together.stderr.count("a new run in") == 1 and "2 workers" in together.stderr
    files = [sorted(path.name for path in (tmp_path / name).rglob("*")) for name in ("one", "two")]
    assert files[0] == files[1]
    # Another number of workers would draw other dropout: refused, in one sentence.
    refused = run(1, tmp_path / "two")
    assert refused.returncode == 2 and "uses 2 workers on cpu" in refused.stderr


HALF = """
import os, signal, sys
import transformer.cli.train as train
from transformer.__main__ import main

found = train.Bar.update
def update(bar, entry):
    found(bar, entry)
    if entry.step == 30:
        os.kill(os.getpid(), signal.SIGTERM)  # one worker is told to stop, as when a machine is wanted back
train.Bar.update = update
sys.exit(main())
"""


@pytest.mark.long
def test_workers_stop_together_and_resume_without_a_difference(options: list[str], tmp_path: Path) -> None:
    whole = run(2, tmp_path / "whole", *options, "--dropout", "0.1")
    assert whole.returncode == 0, whole.stderr
    (tmp_path / "half.py").write_text(HALF)
    half = run(2, tmp_path / "half", *options, "--dropout", "0.1", module=[str(tmp_path / "half.py")])
    assert "stopped at step 30; the run is saved" in half.stderr and half.returncode != 0
    assert run(2, tmp_path / "half").returncode == 0
    weights = [
        load_file(folder / json.loads((folder / "state.json").read_text())["tensors"])
        for folder in (tmp_path / "whole", tmp_path / "half")
    ]
    assert losses(tmp_path / "whole") == losses(tmp_path / "half")
    assert weights[0].keys() == weights[1].keys()
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert not torch.equal(weights[0]["random.0"], weights[0]["random.1"])
