"""One way to damage every format: read a file as nested dicts and lists, change some places, and write it again."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import struct
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from safetensors.torch import load, save

from tests.fuzz.common import ANYTHING, SHORT, VALUE, kept_folder, near, sent
from transformer.checkpoints.importers.generation import FOLLOWED, NAMED

Change = Callable[[bytes], st.SearchStrategy[bytes]]
MARK = kept_folder() / "mark"


class Bomb:
    """A pickle that leaves a mark, MARK, where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(MARK),)

    def __deepcopy__(self, _: object) -> Bomb:
        return self


def _object_array() -> bytes:
    written = io.BytesIO()
    np.save(written, np.array([Bomb()], dtype=object), allow_pickle=True)
    return written.getvalue()


HOSTILE = (
    b"", b"\0", b"\xff\xfe", b"<pad>", b"</s>", " ▁".encode(), b"x" * 3_000, b"[" * 990, b"[" * 100_000,
    b"PK\5\6" + bytes(18), b"PK\3\4" + bytes(99), "x".encode("utf-16"), b"\xef\xbb\xbf", _object_array(),
    *(struct.pack("<f", value) for value in (float("nan"), float("inf"), 3e38)),
    *(pickle.dumps(Bomb(), protocol=protocol) for protocol in (0, 2, 5)),
)  # fmt: skip


@st.composite
def damaged_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    """Cut off, with bytes exchanged, with something in between, or something else altogether."""
    kind, at = draw(st.integers(0, 4)), draw(st.integers(0, len(data)))
    if kind == 0:
        return data[:at]
    if kind == 1 and data:
        found = bytearray(data)
        for place, value in draw(st.lists(st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255)), max_size=50)):
            found[place] = value
        return bytes(found)
    if kind == 2:
        return data[:at] + draw(st.sampled_from((*HOSTILE, data))) + data[at:]
    return draw(st.sampled_from(HOSTILE) | st.binary(max_size=400))


@st.composite
def damaged_tensor(draw: st.DrawFn, tensor: torch.Tensor) -> torch.Tensor:
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return tensor.to(draw(st.sampled_from((torch.int8, torch.int64, torch.bool, torch.float64, torch.bfloat16))))
    if kind == 1:
        return tensor.flatten()[: draw(st.integers(0, tensor.numel()))].clone()
    value = draw(st.sampled_from((torch.nan, torch.inf, -torch.inf, 3e38, -3e38, 65_504.0, 0.0)))
    changed = tensor.to(torch.float32, copy=True)
    changed.view(-1)[: draw(st.sampled_from((1, tensor.numel())))] = value
    return changed


def instead(value: Any) -> st.SearchStrategy[Any]:
    """What may stand in the place of a value: mostly something of its own kind."""
    if isinstance(value, bytes):
        return damaged_bytes(value)
    if isinstance(value, torch.Tensor):  # others, or one that would take gigabytes, came from here already
        return damaged_tensor(value) if value.is_floating_point() and value.is_contiguous() else VALUE
    return (near(value) | SHORT if isinstance(value, str) else VALUE) | ANYTHING


@st.composite
def damaged(draw: st.DrawFn, tree: Any, more: Iterable[Any] = (), most: int = 40) -> Any:
    """A copy in which some places are changed, left out, repeated or given the value of another. more: what may stand
    in any place or under any name; most: the number of places."""
    tree, more = copy.deepcopy(tree), st.sampled_from([*more]) if more else st.nothing()
    for _ in range(draw(st.sampled_from((1, 1, 1, 2, min(5, most), most)))):
        holder = tree
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if not isinstance(holder[key], dict | list) or not holder[key] or not draw(st.integers(0, 6)):
                break
            holder = holder[key]
        kind = draw(st.integers(0, 9))
        if not keys or kind == 0:
            value = copy.deepcopy(draw(more | ANYTHING))
            if isinstance(holder, dict):
                holder[draw(SHORT | more.filter(lambda name: isinstance(name, str)))] = value
            else:
                holder.append(value)
        elif kind == 1:
            del holder[key]
        elif kind == 2 and isinstance(holder, list):
            holder[key:key] = [holder[key]] * draw(st.sampled_from((1, 2, 300, 3_000)))
        elif kind <= 3:
            holder[key] = copy.deepcopy(holder[draw(st.sampled_from(keys))])
        else:
            holder[key] = copy.deepcopy(draw(instead(holder[key]) | more))
    return tree


# -- formats: each reads bytes, damages what they say, and writes it again --------------------------------------------


def as_json(tree: Any, twice: bool = False) -> bytes:
    """twice: with a name that stands there two times."""
    written = json.dumps(tree).encode()
    return written.replace(b"{", b'{"x": 1, "x": 2, ', 1) if twice else written


NAMES = ("x", "layers", "target_vocab_size", "exact", "data", "eos_token_id", "decoder_vocab_size",
         "share_encoder_decoder_embeddings", "tie_word_embeddings", "separate_vocabs", "source_lang", "architectures",
         "added_tokens_decoder", "sp_model_kwargs", *FOLLOWED, *NAMED)  # fmt: skip


def json_file(data: bytes) -> st.SearchStrategy[bytes]:
    rarely = st.sampled_from((*(False,) * 12, True))
    return st.builds(as_json, damaged(json.loads(data), NAMES) | damaged(json.loads(data)) | ANYTHING, rarely)


def csv_file(data: bytes) -> st.SearchStrategy[bytes]:
    def written(rows: list[Any]) -> bytes:
        lines = (",".join(map(str, row)) if isinstance(row, list) else str(row)[:9_000] for row in rows)
        return "\n".join(lines).encode("utf-8", "surrogatepass")

    return damaged([row.split(",") for row in data.decode().splitlines()], ("", '"', "9" * 400)).map(written)


@st.composite
def safetensors_header(draw: st.DrawFn, data: bytes) -> bytes:
    """The same numbers under a header that lies."""
    end = 8 + int.from_bytes(data[:8], "little")
    shapes = ("F64", "I16", "BF16", "X", "U64", [0, 2**63], [-4, 8], [2**40, 2**40], [0, 2**60], [1] * 70, [0, True],
              {"dtype": "F16", "shape": [0], "data_offsets": [0, 0]}, "__metadata__", {"a": "b"})  # fmt: skip
    table = as_json(draw(damaged(json.loads(data[8:end]), shapes, 3)), not draw(st.integers(0, 19)))
    return struct.pack("<Q", len(table)) + table + data[end:]


def safetensors_file(data: bytes) -> st.SearchStrategy[bytes]:
    """An honest file of wrong tensors."""

    def written(tensors: dict[str, Any]) -> bytes:
        return save({sent(name): one.contiguous() for name, one in tensors.items() if isinstance(one, torch.Tensor)})

    return safetensors_header(data) | damaged(dict(sorted(load(data).items())), most=3).map(written)


def torch_file(tensors: dict[str, Any]) -> st.SearchStrategy[bytes]:
    """A file that is a pickle: honest, of other things than tensors, of tensors that share or lie, with code in it."""
    name = next(iter(tensors))
    other = (7, None, [1.5], "x", Bomb(), {"a": Bomb()}, torch.zeros(()), torch.zeros(1).expand(10**6, 8192),
             tensors[name].to_sparse(), tensors[name].to(torch.complex64))  # fmt: skip

    def written(tree: Any, new: bool) -> bytes:
        file = io.BytesIO()
        torch.save(tree, file, _use_new_zipfile_serialization=new)
        return file.getvalue()

    trees = st.one_of(st.just(tensors), damaged(tensors, other, 3), st.sampled_from(([1], {}, None, {1: 2}, *other)))
    honest = st.builds(written, trees, st.booleans())
    return honest | honest.flatmap(damaged_bytes)


def varint(number: int) -> bytes:
    found = bytearray()
    while True:
        number, low = number >> 7, number & 127
        found.append(low | (128 if number else 0))
        if not number:
            return bytes(found)


def fields(data: bytes) -> list[Any]:
    """[number, wire type, value] of a protocol buffer; the value of wire type 2 is bytes, of 0 a whole number."""

    def whole(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                return value, at

    at, found = 0, []
    while at < len(data):
        tag, at = whole(at)
        value: Any
        if tag & 7 == 0:
            value, at = whole(at)
        else:
            length = {1: 8, 5: 4}.get(tag & 7, 0)
            if tag & 7 == 2:
                length, at = whole(at)
            value, at = data[at : at + length], at + length
        found.append([tag >> 3, tag & 7, value])
    return found


def packed(found: Iterable[Any]) -> bytes:
    """The protocol buffer; without what none can hold. A value that is a list is a message of fields."""
    written = []
    for field in found:
        try:
            number, wire, value = field
            value = packed(value) if isinstance(value, list) else value
            body = varint(value % 2**70) if isinstance(value, int) else bytes(value)
            written.append(varint((number << 3 | wire) % 2**70) + (varint(len(body)) if wire == 2 else b"") + body)
        except (TypeError, ValueError):
            continue
    return b"".join(written)


@st.composite
def sentencepiece_file(draw: st.DrawFn, data: bytes) -> bytes:
    """Other fields in the file, in some pieces, in the settings, or in the normaliser and its table."""
    found = fields(data)
    others = ([4, 2, b"x" * 99], [5, 2, [[2, 2, b"\1"]]], [6, 2, b"x"], [1, 0, 5], [0, 2, b""], [3, 5, b"abcd"],
              [44, 2, b"x" * 900], [44, 2, b"\xff"], [45, 2, b"<pad>"], [3, 0, 1], [3, 0, 4], [35, 0, 1])  # fmt: skip
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return packed(draw(damaged(found, others)))
    pieces = [at for at, (number, _, _) in enumerate(found) if number == 1]
    where = (
        draw(st.lists(st.sampled_from(pieces), min_size=1, max_size=9, unique=True))
        if kind < 3
        else [len(found) + kind // 5 - 2]
    )
    for at in where:
        inner = fields(found[at][2])
        if kind < 5:
            inner = draw(damaged(inner, others, 3))
        else:  # the table: the length of its tree, the tree, its texts
            place = next(at for at, field in enumerate(inner) if field[0] == 2)
            table = inner[place][2]
            end = 4 + int.from_bytes(table[:4], "little")
            size = draw(st.sampled_from((end - 4,) * 6 + (0, 1, 4, end, end - 8, 2**31, 2**32 - 1, len(table))))
            tree, texts = draw(damaged([table[4:end], table[end:]], most=2).filter(lambda both: len(both) == 2))
            inner[place][2] = b"".join([struct.pack("<L", size), *(one for one in (tree, texts) if type(one) is bytes)])
        found[at][2] = inner
    return packed(found)


def npz_file(data: bytes) -> st.SearchStrategy[bytes]:
    """An archive of arrays: its header and its numbers, or JSON, for each."""

    def read(entry: bytes) -> Any:
        end = 10 + int.from_bytes(entry[8:10], "little")
        return json.loads(entry[end:]) if entry[end:].startswith(b"{") else [entry[10:end].decode(), entry[end:]]

    def written(entries: dict[str, Any]) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, value in entries.items():
                with archive.open(sent(name)[:99], "w") as entry:
                    if isinstance(value, bytes):
                        entry.write(value)
                    elif isinstance(value, list) and [type(one) for one in value] == [str, bytes]:
                        header = value[0].encode("utf-8", "replace")[:9_999]
                        entry.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + value[1])
                    else:
                        np.save(entry, np.frombuffer(json.dumps(value, default=str).encode(), np.uint8))
        return file.getvalue()

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: read(archive.read(name)) for name in archive.namelist()}
    return damaged(entries, HOSTILE, 3).map(written)


def write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


@st.composite
def damaged_files(
    draw: st.DrawFn, files: dict[str, bytes], changes: dict[str, Change], least: int = 1
) -> dict[str, bytes]:
    """The files, some of them damaged as a file of their format can be, or as any can."""
    files = dict(files)
    for name in draw(st.lists(st.sampled_from(list(files)), min_size=least, max_size=3, unique=True)):
        change = changes.get(name, damaged_bytes) if draw(st.integers(0, 4)) else damaged_bytes
        files[name] = draw(change(files[name]))
    return files


KINDS = ("nothing", "folder", "pipe", "link", "loop", "device", "broken", "sparse")


def exchange(path: Path, kind: str) -> None:
    """Put something else under the name of a file."""
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "sparse":
        with path.open("wb") as file:
            file.truncate(10**10)
    elif kind != "nothing":
        there = {"link": "/etc/passwd", "loop": path.name, "device": "/dev/zero", "broken": "nowhere"}
        path.symlink_to(there[kind])
