"""The .npz: every tensor, and an index a person can read."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import torch

from tests.support.build import tiny_pretrained
from transformer.interventions.sets import Interventions
from transformer.tracing.export import AXES, arrays, npz


def test_npz_holds_every_tensor_and_says_what_it_is() -> None:
    trace = tiny_pretrained().trace("ka lo mi", "nu \ud800 re ka lo mi nu")
    with np.load(io.BytesIO(npz(trace)), allow_pickle=False) as file:
        index = json.loads(file["index.json"])
        assert set(file.files) == {"index.json", *index["arrays"]} == {"index.json", *arrays(trace)}
        sizes = {"source": len(trace.source_ids), "target": len(trace.target_in), "target_in": len(trace.target_in)}
        for name, about in index["arrays"].items():
            assert list(file[name].shape) == about["shape"] and len(about["axes"]) == file[name].ndim
            assert str(file[name].dtype) == about["dtype"] and about["what"]
            for axis, size in zip(about["axes"], about["shape"], strict=True):
                assert size == sizes.setdefault(axis, size) and axis in AXES, (name, axis)
        assert np.array_equal(file["cross.weights"], trace.cross.weights.numpy())
        assert np.array_equal(file["encoder_ff.pre_activation"], trace.encoder_ff.pre_activation.numpy())
    assert len({sizes[axis] for axis in ("source", "target", "head", "d_model", "d_ff", "vocab")}) == 6
    assert index["arrays"]["cross.weights"]["axes"] == ["layer", "head", "target", "source"]
    assert index["target_in"] == list(trace.target_in) and index["target_is_the_models_own"] is False
    assert len(index["arrays"]) == 3 * 15 + 2 * 6 + 10


def test_the_index_says_what_was_changed() -> None:
    switches = Interventions.parse("scaling=off zero=cross.2.1")
    trace = tiny_pretrained().trace("ka lo", "mi", interventions=switches, edits={"logits": torch.zeros_like})
    with zipfile.ZipFile(io.BytesIO(npz(trace))) as file:
        assert file.namelist()[0] == "index.json"
        index = json.loads(file.read("index.json").decode("utf-8"))
    assert Interventions.parse(index["switches"]) == switches and index["edited_tensors"] == ["logits"]


def test_a_program_without_headscope_reads_it(tmp_path: Path) -> None:
    """As the index itself says, with NumPy alone."""
    trace = tiny_pretrained().trace("ka lo mi", "nu re")
    (tmp_path / "trace.npz").write_bytes(npz(trace))
    program = """
import json, numpy
file = numpy.load("trace.npz")
index = json.loads(file["index.json"])
row = index["target_out"].index("</s>")
weights = file["cross.weights"][-1, 0, row]
print(index["source_tokens"][weights.argmax()], round(float(weights.sum()), 4))
"""
    command = [sys.executable, "-I", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=True)
    best = trace.source_tokens[int(trace.cross.weights[-1, 0, -1].argmax())]
    assert done.stdout.split() == [best, "1.0"]
