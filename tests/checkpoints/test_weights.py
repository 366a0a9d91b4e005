"""Safetensors files, read without mapping them."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from transformer.checkpoints.weights import LARGEST_HEADER, WeightsError, read_header, read_tensor


def _file(path: Path, header: object, numbers: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + numbers)
    return path


def _entry(start: int, end: int, *shape: int, dtype: str = "F16") -> dict[str, object]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.uint8])
def test_files_written_by_the_library_are_read(dtype: torch.dtype, tmp_path: Path) -> None:
    numbers = {"a": torch.arange(15).reshape(3, 5), "b.c": torch.ones(7), "d": torch.tensor(2)}
    tensors = {name: tensor.to(dtype) for name, tensor in numbers.items()}
    save_file(tensors, tmp_path / "x", metadata={"format": "pt"})
    with (tmp_path / "x").open("rb") as file:
        entries = read_header(file)
        assert set(entries) == set(tensors)
        for name, tensor in tensors.items():
            read = read_tensor(file, entries[name])
            assert read.dtype == dtype and read.shape == tensor.shape and torch.equal(read, tensor)


@pytest.mark.parametrize(
    "header",
    [
        {"a": _entry(0, 4, 2), "b": _entry(2, 4, 1)},  # they overlap
        {"a": _entry(0, 2, 1)},  # two bytes belong to nobody
        {"a": _entry(0, 8, 4)},  # the file ends before
        {"a": _entry(2, 4, 1)},  # it does not begin where the header ends
        {"a": _entry(0, 4, 3)},  # three numbers in two places
        {"a": _entry(0, 4, -2)},
        {"a": _entry(0, 4, True, 2)},
        {"a": _entry(0, 4, 2, dtype="F17")},
        {"a": {**_entry(0, 4, 2), "more": 1}},
        {"a": _entry(0, 4, 2), "__metadata__": {"a": 1}},
        {"a": _entry(0, 4, 2), "__metadata__": "x"},
        [], "x", 7, b"{", b"\xff\xff",
        b'{"a": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]}, "a": {}}',
        b'{"a": {}, "a": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]}}',
        b'{"\\ud800": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]}}',
        b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_false_header_is_refused(header: object, tmp_path: Path) -> None:
    with _file(tmp_path / "x", header, bytes(4)).open("rb") as file, pytest.raises(WeightsError):
        read_header(file)


def test_a_valid_header_passes(tmp_path: Path) -> None:
    with _file(tmp_path / "x", {"a": _entry(0, 4, 2), "__metadata__": {"a": "b"}}, bytes(4)).open("rb") as file:
        assert set(read_header(file)) == {"a"}


@pytest.mark.parametrize("length", [0, 1, LARGEST_HEADER + 1, 2**63, 2**64 - 1])
def test_a_header_of_another_length(length: int, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(struct.pack("<Q", length) + b"{}" + bytes(LARGEST_HEADER + 10))
    with (tmp_path / "x").open("rb") as file, pytest.raises(WeightsError):
        read_header(file)
