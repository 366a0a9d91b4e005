"""Tensors of a safetensors file, read without trusting its header.

A file below MAPPED bytes is read. A larger one is mapped into memory where its numbers have 32 bits: the system may
drop them and read them again, and several processes share them. That has a price: what is written into the file later
changes the open model, and if the file becomes shorter, the whole process ends. So replace a large file by renaming
another, as `headscope get` does, or delete it first: the open model keeps the old one.

Format: https://huggingface.co/docs/safetensors: eight bytes with the length of the header, a JSON table of names, then
the numbers, one tensor after the other without a gap.
"""

import contextlib
import json
import math
import mmap
import os
from dataclasses import dataclass
from typing import Any, BinaryIO

import torch
from torch import Tensor

from transformer.texts import UserError

LARGEST_HEADER = 2_000_000  # bytes; the 3,000 tensors of the deepest model a configuration allows take 400,000
MAPPED = 400_000_000  # bytes; 100 million numbers in float32
DTYPES = {
    "BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8, "I16": torch.int16, "U16": torch.uint16,
    "I32": torch.int32, "U32": torch.uint32, "I64": torch.int64, "U64": torch.uint64, "F16": torch.float16,
    "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64, "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2, "C64": torch.complex64,
}  # fmt: skip


class WeightsError(UserError):
    """A file that is not a complete safetensors file."""


@dataclass(frozen=True)
class Entry:
    """Type, shape and position of a tensor in its file. start, end: bytes from the beginning of the file."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    start: int
    end: int


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name appears twice")
    return dict(pairs)


def _whole(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**63 for value in values)


def read_header(file: BinaryIO) -> dict[str, Entry]:
    """Name -> entry of all tensors, checked against the size of the file. Raises WeightsError."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if not 2 <= length <= min(LARGEST_HEADER, size - 8):
        raise WeightsError("the length of the header does not fit the file")
    try:
        text = file.read(length).decode("utf-8")
        table = json.loads(text, object_pairs_hook=_table)
        if "\\u" in text:  # half of a surrogate pair, "\ud800", is not a valid name
            json.dumps(table, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise WeightsError("the header is not JSON") from error
    if not isinstance(table, dict):
        raise WeightsError("the header is not a table")
    about = table.pop("__metadata__", {})
    if not isinstance(about, dict) or not all(isinstance(value, str) for value in about.values()):
        raise WeightsError("the metadata of the header is not text")
    entries = {}
    for name, about in table.items():
        if not isinstance(about, dict) or about.keys() != {"dtype", "shape", "data_offsets"}:
            raise WeightsError("the header does not describe {name!r} correctly", name=name[:60])
        kind, shape, offsets = about["dtype"], about["shape"], about["data_offsets"]
        dtype = DTYPES.get(kind) if isinstance(kind, str) else None
        if dtype is None or not _whole(shape) or len(shape) > 8 or not _whole(offsets) or len(offsets) != 2:
            raise WeightsError("{name!r} is not described", name=name[:60])
        if math.prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
            raise WeightsError("the data of {name!r} does not fit its shape", name=name[:60])
        entries[name] = Entry(dtype, tuple(shape), 8 + length + offsets[0], 8 + length + offsets[1])
    end = 8 + length
    for entry in sorted(entries.values(), key=lambda entry: (entry.start, entry.end)):
        if entry.start != end:
            raise WeightsError("the tensors overlap, or there is a gap between them")
        end = entry.end
    if end != size:
        raise WeightsError("the length of the file does not fit its tensors")
    return entries


def mapped(file: BinaryIO) -> mmap.mmap | None:
    """The memory that shows an open file of at least MAPPED bytes; None for a smaller one, for one that is not on a
    disk, and where the system cannot map it. What is written into this memory stays out of the file."""
    with contextlib.suppress(OSError):  # io.UnsupportedOperation is one
        if os.fstat(file.fileno()).st_size >= MAPPED:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return None


def lies_in(entry: Entry, memory: mmap.mmap | None) -> bool:
    """Whether `read_tensor` gives the numbers where they lie in the memory of their file, and copies nothing."""
    inside = memory is not None and entry.start < entry.end <= len(memory)
    return inside and entry.dtype == torch.float32 and entry.start % 4 == 0


def read_tensor(file: BinaryIO, entry: Entry, memory: mmap.mmap | None = None) -> Tensor:
    """The numbers of one tensor. memory: of the file, from `mapped`; a float32 tensor lies in it, if it begins at a
    multiple of four bytes. Raises WeightsError if the file became shorter after its header was read."""
    size = entry.end - entry.start
    if lies_in(entry, memory):
        return torch.frombuffer(memory, dtype=entry.dtype, count=size // 4, offset=entry.start).reshape(entry.shape)
    data = bytearray(size)
    file.seek(entry.start)
    if file.readinto(data) != len(data):  # type: ignore[attr-defined]
        raise WeightsError("the file became shorter while it was read")
    return torch.frombuffer(data, dtype=entry.dtype).reshape(entry.shape)
