"""The .npz: every tensor, and an index a person can read."""

from __future__ import annotations

import io
import json

import numpy as np

from tests.support.build import tiny_pretrained
from transformer.tracing.export import arrays, npz


def test_npz_has_every_tensor_and_its_description() -> None:
    trace = tiny_pretrained().trace("ka lo mi", "nu \ud800 re")
    with np.load(io.BytesIO(npz(trace)), allow_pickle=False) as file:
        index = json.loads(bytes(file["index.json"]).decode())
        assert set(file.files) == {"index.json", *index["arrays"]} == {"index.json", *arrays(trace)}
        for name, about in index["arrays"].items():
            assert list(file[name].shape) == about["shape"] and len(about["axes"]) == file[name].ndim
            assert str(file[name].dtype) == about["dtype"]
        assert np.array_equal(file["cross.weights"], trace.cross.weights.numpy())
        assert np.array_equal(file["encoder_ff.pre_activation"], trace.encoder_ff.pre_activation.numpy())
    assert index["target_in"] == list(trace.target_in) and index["target_is_the_models_own"] is False
    assert len(index["arrays"]) == 3 * 14 + 2 * 6 + 10
