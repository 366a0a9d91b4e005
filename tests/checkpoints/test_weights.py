"""Safetensors files, read or mapped into memory."""

import json
import os
import struct
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.support.build import tiny_pretrained
from tests.support.marian import marian_folder
from transformer.checkpoints import folder, weights
from transformer.checkpoints.folder import CheckpointError, finite, save_checkpoint
from transformer.checkpoints.importers import tensors
from transformer.checkpoints.weights import LARGEST_HEADER, WeightsError, mapped, read_header, read_tensor
from transformer.inference import speed
from transformer.inference.pretrained import load


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


def test_numbers_of_a_large_file_lie_in_it_until_they_are_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = {"a": torch.arange(15.0).reshape(3, 5), "b": torch.tensor(2.0), "half": torch.ones(7).half()}
    save_file(numbers, tmp_path / "x")
    with (tmp_path / "x").open("rb") as file:
        assert mapped(file) is None
        monkeypatch.setattr(weights, "MAPPED", os.path.getsize(tmp_path / "x"))
        memory, entries = mapped(file), read_header(file)
        read = {name: read_tensor(file, entries[name], memory) for name in numbers}
    assert memory is not None
    start = torch.frombuffer(memory, dtype=torch.uint8).data_ptr()
    for name in "ab":
        assert read[name].data_ptr() == start + entries[name].start
    read["b"].add_(1)
    assert load_file(tmp_path / "x")["b"] == 2 and read["b"] == 3  # a memory of its own
    save_file({"a": torch.zeros(1)}, tmp_path / "y")
    os.replace(tmp_path / "y", tmp_path / "x")
    assert torch.equal(read["a"], numbers["a"]) and torch.equal(read["half"], numbers["half"])


def test_numbers_between_two_multiples_of_four_bytes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "MAPPED", 0)
    header = {"a": _entry(0, 2, 1), "b": _entry(2, 10, 2, dtype="F32")}
    with _file(tmp_path / "x", header, struct.pack("<eff", 1, 2, 3)).open("rb") as file:
        assert read_tensor(file, read_header(file)["b"], mapped(file)).tolist() == [2, 3]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which file a memory shows")
@pytest.mark.parametrize("name", ["ours", "theirs", "pickled"])
def test_a_large_model_has_no_copy_of_its_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "ours":
        tiny = tiny_pretrained()
        save_checkpoint(tmp_path, tiny.model, tiny.tokenizer, dtype=torch.float32)
    else:
        marian_folder(tmp_path)
    path = tmp_path / "model.safetensors"
    if name == "pickled":
        torch.save(load_file(path), tmp_path / "pytorch_model.bin")
        path.unlink()
        path = tmp_path / "pytorch_model.bin"

    def copied() -> set[str]:
        """Names of the parameters that do not lie in the file."""
        model = load(tmp_path).model
        lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(str(path))]
        areas = [range(*(int(end, 16) for end in words[0].split("-"))) for words in lines]
        return {name for name, one in model.named_parameters() if not any(one.data_ptr() in area for area in areas)}

    everything = copied()
    monkeypatch.setattr(folder, "free_bytes", lambda: 0)
    with pytest.raises(CheckpointError, match=r"GB in memory, and 0\.0 GB are free"):
        load(tmp_path)
    monkeypatch.setattr(weights, "MAPPED", 0)
    monkeypatch.setattr(tensors, "MAPPED", 0)
    monkeypatch.setattr(speed, "LARGE", 0)
    assert everything and not copied()


def test_finite_numbers_may_have_an_infinite_sum() -> None:
    large = torch.full((4,), 3e38)
    assert finite(large) and finite(-large) and finite(torch.zeros(0))
    for wrong in ([torch.inf], [torch.nan], [torch.inf, -torch.inf], [-torch.inf]):
        assert not finite(torch.cat((large, torch.tensor(wrong))))
