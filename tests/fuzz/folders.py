"""Checkpoint folders with something wrong in them: a good one, damaged at random, opened and used."""

from __future__ import annotations

import functools
import io
import json
import os
import pickle
import random
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save

import transformer
from tests.fuzz.common import anything, one_sentence, text
from tests.fuzz.pieces import damaged_model
from tests.support.build import tiny_tokenizer
from transformer.checkpoints.folder import (
    CONFIG,
    METRICS,
    RECORDING,
    TOKENIZER,
    WEIGHTS,
    CheckpointError,
    save_checkpoint,
)
from transformer.checkpoints.weights import WeightsError, read_header
from transformer.inference.pretrained import InputError
from transformer.training.recording import Recording

EXAMPLES, LOG, CARD = "examples.json", "training.csv", "README.md"
FILES = (CONFIG, WEIGHTS, TOKENIZER, METRICS, EXAMPLES, LOG, CARD, RECORDING)
NEEDED = (CONFIG, WEIGHTS, TOKENIZER)
SIZES = {"d_model": 6, "d_ff": 5, "heads": 3, "encoder_layers": 1, "decoder_layers": 1, "max_positions": 40}

LEFT_OUT = {"norm": "none", "residual": False, "causal": False, "positions": "none", "scaling": False}


class Bomb:
    """A pickle that leaves a mark where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


@functools.cache
def base(bare: bool = False) -> dict[str, bytes]:
    """The files of a good checkpoint, a few kilobytes each but for the tokenizer. bare: of a model that leaves out what
    can be left out."""
    tokenizer = tiny_tokenizer()
    sizes = {"vocab_size": len(tokenizer), "dropout": 0.0, **SIZES, **(LEFT_OUT if bare else {})}
    config = transformer.ModelConfig.from_dict(sizes)
    with tempfile.TemporaryDirectory() as place, torch.random.fork_rng():
        torch.manual_seed(3)
        folder = Path(place) / "mine"
        save_checkpoint(folder, transformer.Transformer(config).eval(), tokenizer, ("Invented", "Imagined"))
        found = {path.name: path.read_bytes() for path in folder.iterdir()}
    example = {"title": "One", "look": "here", "source": "ka lo", "target": "mi", "view": {"kind": "cross", "layer": 1}}
    arrays = {f"{kind}.0": np.zeros((2, 1, 3, 4, 4), np.uint8) for kind in transformer.KINDS}
    recording = Recording(
        (0, 5), (("ka", "lo"),), {kind: (arrays[f"{kind}.0"],) for kind in transformer.KINDS}, (("a",), ("b",)),
        ({"loss": 1.0, "bleu": 0.0},) * 2,
    )  # fmt: skip
    return {
        **found,
        METRICS: json.dumps({"bleu": 12.5, "chrf": 30.1, "perplexity": 9.0, "data": ["x, 1 to 9 symbols"]}).encode(),
        EXAMPLES: json.dumps([example]).encode(),
        LOG: b"step,loss,validation_loss,validation_bleu\n1,2.5,2.4,\n2,2.0,2.1,3.5\n",
        CARD: b"# Card\n\ndata, licence\n",
        RECORDING: recording.to_bytes(),
    }


# -- config.json and the other tables -------------------------------------------------------------------------------


def _config(rng: random.Random, data: bytes) -> bytes:
    about = json.loads(data)
    for _ in range(rng.choice((1, 1, 2))):
        inner = rng.random() < 0.7
        table = about["model"] if inner and isinstance(about.get("model"), dict) else about
        name = rng.choice([*table, "x", "layers", "target_vocab_size"])
        if rng.random() < 0.15:
            table.pop(name, None)
        else:
            size = rng.choice((0, 1, 2, 3, 64, 66, 128, 8_192, 16_384, 65_536, 10**6, "pre", "none", True, False))
            table[name] = rng.choice((anything(rng), size))
    written = json.dumps(about)
    if rng.random() < 0.1:
        written = written.replace("{", '{"format": 1, "format": 2, "model": {"d_model": 4}, ', 1)
    return written.encode("utf-8", "surrogatepass")


def _json(rng: random.Random, data: bytes) -> bytes:
    value = json.loads(data)
    if rng.random() < 0.3:
        value = anything(rng)
    elif isinstance(value, list):
        one = dict(value[0])
        one[rng.choice([*one, "x"])] = anything(rng)
        value = [one, *([anything(rng)] * rng.choice((0, 1, 300)))]
    else:
        value[rng.choice([*value, "exact", "data"])] = anything(rng)
    return json.dumps(value).encode()


def _log(rng: random.Random, data: bytes) -> bytes:
    rows = data.decode().splitlines()
    cells = [row.split(",") for row in rows]
    for _ in range(rng.choice((1, 3))):
        row = rng.choice(cells)
        row[rng.randrange(len(row))] = rng.choice((text(rng, 0), "nan", "1e400", "9" * 400, "", '"', "-1", "9" * 5_000))
    if rng.random() < 0.2:
        cells.append(["1"] * rng.choice((1, 9, 2_000)))
    return "\n".join(map(",".join, cells)).encode("utf-8", "surrogatepass")


def _npz(rng: random.Random, data: bytes) -> bytes:
    """The archive with one entry exchanged: a pickled object, zeros of a gigabyte, a shape that lies, other JSON."""
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        entries = {name: old.read(name) for name in old.namelist()}
    name = rng.choice(list(entries))
    kind = rng.randrange(5)
    if kind == 0:
        written = io.BytesIO()
        np.save(written, np.array([{"a": 1}], dtype=object), allow_pickle=True)
        entries[name] = written.getvalue()
    elif kind == 1:
        header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({rng.choice((10**9, 2**40, 10**30))},), }}"
        entries[name] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) + 1) + header.encode() + b"\n" + bytes(50)
    elif kind == 2:
        entries[name] = text(rng, 0).encode("utf-8", "replace")
    elif kind == 3:
        entries.pop(name)
    else:
        written = io.BytesIO()
        np.save(written, np.frombuffer(json.dumps(anything(rng)).encode(), np.uint8))
        entries["index.json.npy"] = written.getvalue()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for key, value in entries.items():
            new.writestr(key, value)
    return made.getvalue()


# -- weights ---------------------------------------------------------------------------------------------------------


def _header(rng: random.Random, data: bytes) -> bytes:
    """The same numbers under a header that lies."""
    size = struct.unpack("<Q", data[:8])[0]
    table = json.loads(data[8 : 8 + size])
    name = rng.choice(list(table))
    kind = rng.randrange(7)
    if kind == 0:
        places = ([0, 2**63], [-4, 8], [8, 0], [0, 0], [1, 2, 3], "x", [0.0, 8.0], [0, True])
        table[name]["data_offsets"] = rng.choice(places)
    elif kind == 1:
        shape = table[name]["shape"]
        shapes = ([*shape, 1], shape[::-1], [2**40, 2**40], [-1, -8], [0, 2**60], [1] * 70, None, [True])
        table[name]["shape"] = rng.choice(shapes)
    elif kind == 2:
        table[name]["dtype"] = rng.choice(("F64", "I16", "BF16", "F8_E4M3", "X", None, 7, "U64"))
    elif kind == 3:
        other = rng.choice(list(table))
        table[name], table[other] = table[other], table[name]
    elif kind == 4:
        table.pop(name)
    elif kind == 5:
        table[text(rng, 0)] = rng.choice(({"dtype": "F16", "shape": [0], "data_offsets": [0, 0]}, anything(rng)))
    else:
        table["__metadata__"] = rng.choice(({"a": "b"}, {"a": 1}, [], "x" * 3_000, anything(rng)))
    written = json.dumps(table).encode()
    if rng.random() < 0.1:
        written = written.replace(b"{", b"[" * 3_000, 1)
    return struct.pack("<Q", len(written)) + written + data[8 + size :]


def _tensors(rng: random.Random, data: bytes) -> bytes:
    """Honest files of wrong tensors."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / WEIGHTS).write_bytes(data)
        tensors = load_file(Path(place) / WEIGHTS)
    name = rng.choice(list(tensors))
    kind = rng.randrange(7)
    if kind == 0:
        tensors.pop(name)
    elif kind == 1:
        tensors[text(rng, 0).encode("utf-8", "replace").decode()] = torch.zeros(rng.choice((0, 2)))
    elif kind == 2:
        kinds = (torch.int8, torch.int64, torch.bool, torch.float64, torch.bfloat16)
        tensors[name] = tensors[name].to(rng.choice(kinds))
    elif kind == 3:
        tensors[name] = tensors[name].flatten()[: rng.randrange(tensors[name].numel())].clone()
    elif kind == 4:
        tensors[name].view(-1)[rng.randrange(tensors[name].numel())] = rng.choice((torch.nan, torch.inf, -torch.inf))
    elif kind == 5:  # finite, and no pass can add them up
        for key, value in tensors.items():
            tensors[key] = torch.full_like(value, rng.choice((3e38, -3e38, 1e30)), dtype=torch.float32)
    else:
        tensors[name] = torch.full_like(tensors[name], rng.choice((0.0, 65_504.0, -65_504.0)))
    return save(tensors)


# -- any file, and the folder ----------------------------------------------------------------------------------------


def _bytes(rng: random.Random, data: bytes) -> bytes:
    """Cut off, flipped, doubled, empty, of another kind."""
    kind = rng.randrange(6)
    if kind == 0:
        return data[: rng.randrange(len(data) + 1)]
    if kind == 1:
        found = bytearray(data)
        for _ in range(rng.choice((1, 3, 50))):
            found[rng.randrange(len(found))] = rng.randrange(256)
        return bytes(found)
    if kind == 2:
        return data * 2
    if kind == 3:
        return rng.choice((b"", b"\0", b"PK\x03\x04" + bytes(99), "x".encode("utf-16"), b"\xef\xbb\xbf" + data))
    if kind == 4:
        return b"[" * rng.choice((500, 990, 100_000)) + b"]" * rng.choice((0, 500, 990))
    return bytes(rng.randrange(256) for _ in range(rng.choice((7, 8, 9, 400))))


CHANGES: dict[str, tuple[Callable[[random.Random, bytes], bytes], ...]] = {
    CONFIG: (_config, _config, _config, _bytes),
    WEIGHTS: (_header, _header, _tensors, _tensors, _bytes),
    TOKENIZER: (damaged_model, damaged_model, damaged_model, _bytes),
    METRICS: (_json, _bytes),
    EXAMPLES: (_json, _json, _bytes),
    LOG: (_log, _bytes),
    CARD: (_bytes,),
    RECORDING: (_npz, _npz, _bytes),
}


def _exchange(rng: random.Random, path: Path, mark: Path) -> None:
    """Something else under the name of a file."""
    path.unlink(missing_ok=True)
    kind = rng.choice(("nothing", "folder", "pipe", "pickle", "link", "loop", "device", "broken", "sparse"))
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "pickle":
        path.write_bytes(pickle.dumps(Bomb(mark), protocol=rng.randint(0, 5)))
    elif kind == "link":
        path.symlink_to(rng.choice(("/etc/passwd", "../../..", str(Path(__file__).resolve()))))
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "device":
        path.symlink_to(rng.choice(("/dev/zero", "/dev/random", "/dev/null")))
    elif kind == "broken":
        path.symlink_to("nowhere")
    elif kind == "sparse":
        with path.open("wb") as file:
            file.truncate(rng.choice((10**6 + 1, 5 * 10**7 + 1, 10**10)))


def write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def damage(rng: random.Random, folder: Path, mark: Path) -> list[str]:
    """Write a good checkpoint and damage it. Returns the names of the files that are not as they were."""
    files = dict(base(rng.random() < 0.3))
    changed = []
    exchanged = []
    for name in {rng.choice((*NEEDED, *FILES)): None for _ in range(rng.choice((1, 1, 1, 2, 3)))}:
        changed.append(name)
        if rng.random() < 0.15:
            exchanged.append(name)
        else:
            files[name] = rng.choice(CHANGES[name])(rng, files[name])
    write(folder, files)
    for name in exchanged:
        if not (folder / name).is_symlink() and (folder / name).is_file():
            _exchange(rng, folder / name, mark)
    return changed


def check_weights(path: Path) -> None:
    """What the library refuses, our own reader refuses too, and of what both take they read the same."""
    if not path.is_file() or path.stat().st_size > 10**7:
        return
    try:
        with path.open("rb") as file:
            entries = read_header(file)
    except WeightsError:
        return
    try:
        with safe_open(path, framework="pt") as theirs:
            assert set(theirs.keys()) == set(entries)
            for name, entry in entries.items():
                assert tuple(theirs.get_slice(name).get_shape()) == entry.shape
    except SafetensorError as error:
        raise AssertionError(f"the library refuses what we read: {error}") from error


def check(folder: Path, mark: Path) -> bool:
    """Open the folder and use what it holds. Returns whether it could be opened."""
    opened = False
    try:
        model = transformer.load(folder)
        opened = True
        for source in ("ka lo mi", "é ﬁ 12 </s>"):
            try:
                trace = model.trace(source, limit=12)
                assert len(trace.source_labels) == len(trace.source_ids)
            except InputError as error:
                one_sentence(str(error))
        assert all(name.strip() and len(name) <= 40 for name in model.languages)
    except CheckpointError as error:
        one_sentence(str(error).replace(str(folder), ""))
    check_weights(folder / WEIGHTS)
    try:
        Recording.from_file(folder / RECORDING)
    except (OSError, ValueError) as error:
        one_sentence(str(error).replace(str(folder), ""))
    assert not mark.exists(), "code of a checkpoint was run"
    return opened


@contextmanager
def damaged(seed: int) -> Iterator[tuple[Path, Path, list[str]]]:
    """A folder with one damaged checkpoint in it, the mark that a pickle would leave, and what was damaged."""
    rng = random.Random(f"folders {seed}")
    with tempfile.TemporaryDirectory(prefix="headscope-fuzz-") as place:
        folder, mark = Path(place) / "checkpoints" / "bad", Path(place) / "mark"
        yield folder, mark, damage(rng, folder, mark)


def case(seed: int) -> None:
    with damaged(seed) as (folder, mark, _changed):
        check(folder, mark)
