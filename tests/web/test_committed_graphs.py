"""The graphs of the bundled checkpoints fit their weights and the code of today."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

import transformer
from transformer.checkpoints.folder import WEIGHTS
from transformer.checkpoints.weights import read_header
from transformer.web.check import Graphs, compare, sentences
from transformer.web.folder import ABOUT, GRAPHS, about, export_folder, files

FOLDER = Path(__file__).resolve().parents[2] / "checkpoints"
NAMES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
AGAIN = "run make graphs"
TYPES = {onnx.TensorProto.FLOAT16: torch.float16, onnx.TensorProto.FLOAT: torch.float32}


def parsed(path: Path) -> onnx.ModelProto:
    return onnx.load(path, load_external_data=False)


def stored(graph: onnx.ModelProto) -> dict[str, tuple[torch.dtype, tuple[int, ...], Mapping[str, str]]]:
    """Name -> type, shape and place of the tensors that a graph reads from another file."""
    return {
        tensor.name: (
            TYPES[tensor.data_type],
            tuple(tensor.dims),
            {pair.key: pair.value for pair in tensor.external_data},
        )
        for tensor in graph.graph.initializer
        if tensor.data_location == onnx.TensorProto.EXTERNAL
    }


@pytest.mark.parametrize("name", NAMES)
def test_graphs_read_every_tensor_where_the_weights_have_it(name: str) -> None:
    with (FOLDER / name / WEIGHTS).open("rb") as file:
        header = read_header(file)
    graphs = [parsed(FOLDER / name / graph) for graph in GRAPHS]
    read = {tensor: place for graph in graphs for tensor, place in stored(graph).items()}
    assert read == {
        tensor: (
            entry.dtype,
            entry.shape,
            {"location": WEIGHTS, "offset": str(entry.start), "length": str(entry.end - entry.start)},
        )
        for tensor, entry in header.items()
    }, AGAIN
    inside = [tensor for graph in graphs for tensor in graph.graph.initializer if len(tensor.raw_data) > 20_000]
    assert not inside, "a graph holds weights of its own"


@pytest.mark.parametrize("name", NAMES)
def test_web_json_describes_the_model_and_its_files(name: str) -> None:
    written = json.loads((FOLDER / name / ABOUT).read_text(encoding="utf-8"))
    versions = written.pop("files")
    assert written == about(transformer.load(name)), AGAIN
    assert set(versions) == set(files(written))
    for file, version in versions.items():
        data = (FOLDER / name / file).read_bytes()
        assert version == {"bytes": len(data), "hash": hashlib.sha256(data).hexdigest()[:16]}, (file, AGAIN)


@pytest.mark.parametrize("name", NAMES)
def test_graphs_compute_what_python_computes(name: str) -> None:
    model = transformer.load(name)
    graphs = Graphs(model, FOLDER / name)
    for text in sentences(model)[:2]:
        trace = model.trace(text)
        assert graphs.write(trace.source_ids) == list(trace.target_out_ids)
        compare(graphs, trace)


@pytest.mark.slow
def test_a_new_export_is_the_committed_one(tmp_path: Path) -> None:
    """To the last bit, but for numbers that another processor may round differently: the divisors of the positions'
    angles, and the mean outputs of heads."""
    export_folder(transformer.load("reverse"), tmp_path / "web", fresh=True)
    for name in GRAPHS:
        committed, new = parsed(FOLDER / "reverse" / name), parsed(tmp_path / "web" / name)
        for old, fresh in zip(committed.graph.initializer, new.graph.initializer, strict=True):
            if old.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE) and old.raw_data:
                numbers = [onnx.numpy_helper.to_array(tensor) for tensor in (old, fresh)]
                np.testing.assert_allclose(*numbers, rtol=1e-5, atol=1e-7)
                fresh.raw_data = old.raw_data
        assert new.SerializeToString(deterministic=True) == committed.SerializeToString(deterministic=True), AGAIN
