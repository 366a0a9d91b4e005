"""`python -m transformer describe`: the table, shapes of a sentence's tensors, JSON, and what cannot be described."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.build import PAIRWISE, random_ids, saved_checkpoint, targets_in, tiny_model, variant_name
from tests.support.marian import marian_folder
from transformer.__main__ import main
from transformer.cli.describe import axes, plain, record, table
from transformer.cost.parameters import describe
from transformer.inference.pretrained import load
from transformer.model.config import ModelConfig
from transformer.model.tap import Tap
from transformer.texts import columns, in_language
from transformer.view.languages import load_language

pytestmark = pytest.mark.slow  # starts processes

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(saved_checkpoint(tmp_path_factory.mktemp("describe")))


def test_the_command_prints_the_table(checkpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = load(checkpoint)
    for more, every in (([], False), (["--all"], True)):
        assert main(["describe", "--checkpoint", checkpoint, *more]) == 0
        first, rest = capsys.readouterr().out.split("\n", 1)
        assert first == "mine: Invented to Imagined" and rest == describe(model.model).table(every) + "\n"
    assert main(["describe"]) == 0  # the bundled one
    printed = capsys.readouterr().out
    assert printed.startswith("en-de: English to German\n19,931,520 parameters, 79.7 MB in float32\n")
    assert "  encoder.0 to encoder.3: 4 equal layers, each has" in printed


def test_columns_stand_below_each_other_where_letters_are_wide(checkpoint: str) -> None:
    model = load(checkpoint)
    trace = model.trace("ka")
    with in_language(load_language("ko")):
        lines = [*table(trace, record(model, trace), False)]
    shapes = [line for line in lines if line.startswith("기록한 텐서") or re.match(r"  \S+ +\[", line)]
    assert len(shapes) > 10 and len({columns(re.split(r"\[|모양", line)[0]) for line in shapes}) == 1


@pytest.mark.parametrize("changes", PAIRWISE, ids=variant_name)
def test_every_axis_has_the_size_of_its_name(changes: dict[str, Any]) -> None:
    """Of all tensors that a pass records; source and target differ in length, so that a swapped axis is seen."""
    model, tap = tiny_model(**changes), Tap()
    config = model.config
    with torch.no_grad():
        model(random_ids(1, 1, 4), targets_in(2, 1), tap)
    sizes = {
        "batch": 1, "source": 4, "target": 5, "vocab": config.vocab_size, "d_model": config.d_model,
        "d_ff": config.d_ff, "head": config.heads, "d_head": config.d_head, "d_k": config.d_k or config.d_head,
    }  # fmt: skip
    for name, tensor in tap.finish().items():
        side = 4 if name.startswith("encoder") else 5
        more = {"query": side, "token": side, "key": 4 if ".cross." in name else side}
        assert tuple({**sizes, **more}[axis] for axis in axes(name)) == tuple(tensor.shape), name


def test_what_is_done_in_another_way_is_said_once_on_opening_and_in_the_table(tmp_path: Path) -> None:
    marian_folder(tmp_path / "theirs", "swish")
    (tmp_path / "theirs" / "generation_config.json").write_text('{"do_sample": true}')
    command = [sys.executable, "-m", "transformer", "describe", "--checkpoint", str(tmp_path / "theirs")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    note = "generation_config.json has settings that Headscope does not follow"
    assert done.stderr.startswith(f"theirs: {note}") and done.stderr.count("\n") == 1 and note in done.stdout
    assert "source.spm: 0 of 68 pieces are not in the vocabulary" in done.stdout


@pytest.mark.parametrize("target", [None, "nu re"])
def test_the_command_lists_what_a_trace_records(
    checkpoint: str, target: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["describe", "--checkpoint", checkpoint, "--sentence", "ka lo mi"]
    command += ["--target", target] if target else []
    model = load(checkpoint)
    trace = model.trace("ka lo mi", target)
    source, length = len(trace.source_ids), len(trace.target_in_ids)
    assert main(command) == 0
    printed = capsys.readouterr().out
    whose = "the target" if target else "the model's own translation"
    assert f"{source} tokens of the source: {' '.join(trace.source_labels)}\n" in printed
    assert f"{length} tokens of {whose}, fed in: <s>" in printed
    rows = [line.split("  ") for line in printed.splitlines()]
    cells = {row[1].strip(): [cell.strip() for cell in row[2:] if cell.strip()] for row in rows if len(row) > 3}
    expected = [str([1, 3, length, source]), "batch, head, query, key", "bool"]
    assert cells["decoder.L.cross.mask"] == expected
    assert cells["encoder.L.ff.activation"] == [str([1, source, 37]), "batch, token, d_ff", "float32"]
    assert cells["source.position_ids"] == [str([source]), "source", "int64"]
    assert cells["logits"] == [str([1, length, 67]), "batch, target, vocab", "float32"]

    assert main([*command, "--all"]) == 0
    printed = capsys.readouterr().out
    records = record(model, trace)
    assert all(f"  {name} " in printed for name in records)
    assert f"\n{len(records)} tensors, {sum(one.numel() for one in records.values()):,} numbers\n" in printed
    assert torch.equal(records["decoder.1.cross.weights"][0], trace.cross.weights[1])


def test_the_command_as_json(checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["describe", "--checkpoint", checkpoint, "--sentence", "ka <b>lo</b>"]
    assert main([*command, "--json"]) == 0
    printed = capsys.readouterr().out
    found = json.loads(printed)
    assert printed.isascii() and printed.count("\n") == 1
    model = load(checkpoint)
    trace = model.trace("ka <b>lo</b>")
    assert found["parameters"] == model.model.parameter_count() and found["checkpoint"] == "mine"
    assert sum(one["adds"] for box in found["boxes"] for one in box["tensors"]) == found["parameters"]
    assert ModelConfig.from_dict(found["config"]) == model.config
    assert [layer["key"] for layer in found["layers"]] == ["encoder.0", "encoder.1", "decoder.0", "decoder.1"]
    assert found["shared"] == [
        {"boxes": ["source.embedding", "target.embedding", "output"], "tensors": ["embedding.weight"]}
    ]
    assert found["trace"]["source"] == "ka <b>lo</b>" and found["trace"]["source_tokens"] == list(trace.source_tokens)
    shapes = {one["name"]: one["shape"] for one in found["trace"]["tensors"]}
    assert shapes == {name: list(tensor.shape) for name, tensor in record(model, trace).items()}
    assert main([*command, "--json", str(tmp_path / "found.json")]) == 0
    assert capsys.readouterr().out.startswith("mine: ") and json.loads((tmp_path / "found.json").read_text()) == found


def test_invalid_options_of_describe_give_messages(
    checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more, message in (
        (["--checkpoint", str(tmp_path)], f"{tmp_path} is not a checkpoint: config.json is missing"),
        (["--checkpoint", "no-such-name"], "there is no checkpoint 'no-such-name'"),
        (["--checkpoint", checkpoint, "--target", "ka"], "--target needs --sentence"),
        (["--checkpoint", checkpoint, "--sentence", " "], "the source text is empty"),
        (["--checkpoint", checkpoint, "--sentence", "ka " * 99], "tokens; at most 64 are allowed, shorten it"),
        (["--checkpoint", checkpoint, "--json", str(tmp_path)], tmp_path.name),
    ):
        assert main(["describe", *more]) == 2
        said = capsys.readouterr()
        assert said.out == "" and said.err.count("\n") == 1 and message in said.err


def test_text_that_steers_a_terminal_does_not(checkpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert plain("\x1b[31mred \udcff\n") == "\ufffd[31mred \ufffd\ufffd" and plain("für 12 €") == "für 12 €"
    assert main(["describe", "--checkpoint", checkpoint, "--sentence", "ka \x1b[31m \udcff lo"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_output_to_a_pipe_is_utf_8(checkpoint: str) -> None:
    """A terminal's or pipe's own encoding may know no Greek letter."""
    command = [sys.executable, "-m", "transformer", "describe", "--checkpoint", checkpoint]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert done.stderr == b"" and "      γ   self_residual.norm.weight" in done.stdout.decode("utf-8")
