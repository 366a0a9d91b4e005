"""Checkpoint folders with something wrong in them: a good one, damaged at random, opened and used."""

import functools
import json
import os
import pickle
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from safetensors import SafetensorError, safe_open

import transformer
from tests.fuzz.common import JSON, damaged_bytes, damaged_json, mutated, one_sentence
from tests.fuzz.pieces import damaged_pieces
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
MARK = Path(tempfile.gettempdir()) / f"headscope-mark-{os.getpid()}"
SIZES = {"d_model": 6, "d_ff": 5, "heads": 3, "encoder_layers": 1, "decoder_layers": 1, "max_positions": 40}

LEFT_OUT = {"norm": "none", "residual": False, "causal": False, "positions": "none", "scaling": False}


class Bomb:
    """A pickle that makes the folder MARK where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(MARK),)


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


# -- one file ----------------------------------------------------------------------------------------------------------


@st.composite
def damaged_header(draw: st.DrawFn, data: bytes) -> bytes:
    """The same numbers under a header of weights that lies."""
    size = 8 + struct.unpack("<Q", data[:8])[0]
    empty = {"dtype": "F16", "shape": [0], "data_offsets": [0, 0]}
    values = (
        [0, 2**63], [-4, 8], [8, 0], [0, 0], [1, 2, 3], [0.0, 8.0], [0, True], [2**40, 2**40], [-1, -8], [0, 2**60],
        [1] * 70, [True], "F64", "I16", "BF16", "F8_E4M3", "U64", "X", empty,
    )  # fmt: skip
    table = json.loads(data[8:size])
    if draw(st.integers(0, 3)) == 0:
        table["__metadata__"] = draw(st.sampled_from(({"a": "b"}, {"a": 1}, [], "x" * 3_000)) | JSON)
    header = draw(damaged_json(json.dumps(table).encode(), values=values))
    return struct.pack("<Q", len(header)) + header + data[size:]


def _text(data: bytes) -> st.SearchStrategy[bytes]:
    return mutated(data.decode()).map(lambda text: text.encode("utf-8", "surrogatepass"))


def _config(data: bytes) -> st.SearchStrategy[bytes]:
    return damaged_json(data, ("x", "layers", "target_vocab_size"), ("pre", "none", 128, 16_384))


def _json(data: bytes) -> st.SearchStrategy[bytes]:
    return damaged_json(data, ("x", "exact", "data"))


Change = Callable[[bytes], st.SearchStrategy[bytes]]
CHANGES: dict[str, tuple[Change, ...]] = {
    CONFIG: (_config, _config, _config, damaged_bytes),
    WEIGHTS: (damaged_header, damaged_header, damaged_bytes),
    TOKENIZER: (damaged_pieces, damaged_pieces, damaged_pieces, damaged_bytes),
    METRICS: (_json, damaged_bytes),
    EXAMPLES: (_json, _json, damaged_bytes),
    LOG: (_text, damaged_bytes),
    CARD: (damaged_bytes,),
    RECORDING: (damaged_bytes,),
}


def changed(name: str, data: bytes) -> st.SearchStrategy[bytes]:
    """One file with something wrong in it."""
    return st.one_of(*(change(data) for change in CHANGES[name]))


# -- the folder --------------------------------------------------------------------------------------------------------


def _sparse(size: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(size)

    return make


OTHERS: tuple[Callable[[Path], None], ...] = (  # what may stand in place of a file
    lambda path: None,
    Path.mkdir,
    lambda path: os.mkfifo(path),
    *(lambda path, target=target: path.symlink_to(target) for target in (
        "/etc/passwd", "../../..", str(Path(__file__).resolve()), "/dev/zero", "/dev/random", "/dev/null", "nowhere")),
    lambda path: path.symlink_to(path.name),
    *map(_sparse, (10**6 + 1, 5 * 10**7 + 1, 10**10)),
    *(lambda path, protocol=protocol: path.write_bytes(pickle.dumps(Bomb(), protocol)) and None
      for protocol in range(6)),
)  # fmt: skip


def write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


@dataclass
class Damage:
    """A checkpoint with something wrong. changed: names of the files that are not as they were; others: name -> what
    makes something else in place of that file."""

    files: dict[str, bytes]
    changed: tuple[str, ...]
    others: dict[str, Callable[[Path], None]] = field(default_factory=dict)

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        """What Hypothesis prints when a case fails: not the files, which are long."""
        printer.text(f"damage to {self.changed}, something else in place of {list(self.others)}")

    @contextmanager
    def written(self) -> Iterator[Path]:
        """The folder, for a while. Raises AssertionError if a pickle in it was unpickled meanwhile."""
        with tempfile.TemporaryDirectory(prefix="headscope-fuzz-") as place:
            folder = Path(place) / "checkpoints" / "bad"
            write(folder, self.files)
            for name, make in self.others.items():
                (folder / name).unlink(missing_ok=True)
                make(folder / name)
            yield folder
            assert not MARK.exists(), "code of a checkpoint was run"


@st.composite
def damages(draw: st.DrawFn) -> Damage:
    files = dict(base(draw(st.sampled_from((False, False, True)))))
    names = draw(st.lists(st.sampled_from((*NEEDED, *FILES)), min_size=1, max_size=3, unique=True))
    others = {}
    for name in names:
        if draw(st.integers(0, 6)) == 0:
            others[name] = draw(st.sampled_from(OTHERS))
        else:
            files[name] = draw(changed(name, files[name]))
    return Damage(files, tuple(names), others)


def check_weights(path: Path) -> None:
    """What the library refuses, our own reader refuses too, and of what both take they read the same."""
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


def check(folder: Path) -> bool:
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
    try:
        Recording.from_file(folder / RECORDING)
    except (OSError, ValueError) as error:
        one_sentence(str(error).replace(str(folder), ""))
    return opened
