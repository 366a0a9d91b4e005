"""Small files that ask for much, opened where only so much memory may be taken: `python -m tests.fuzz.bombs`."""

import json
import os
import resource
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from tests.fuzz.folders import base, write
from tests.fuzz.pieces import fields, packed
from transformer.checkpoints.folder import CONFIG, RECORDING, TOKENIZER, WEIGHTS

# MB that opening a folder may take whose files are refused: a tokenizer of 5 MB of empty pieces, 60 bytes each.
MOST = 200
ROOM = 6 * 2**30  # bytes of addresses that the process may have at all; torch alone reserves 1 GB


def _config(**changes: Any) -> bytes:
    about = json.loads(base()[CONFIG])
    about["model"].update(changes)
    return json.dumps(about).encode()


def _tokenizer(change: Callable[[list[tuple[int, int, Any]]], list[tuple[int, int, Any]]]) -> bytes:
    return packed(change(fields(base()[TOKENIZER])))


def _long_rule(found: list[tuple[int, int, Any]]) -> list[tuple[int, int, Any]]:
    """Every replacement of the normaliser becomes a megabyte: 1,000 letters would be a gigabyte."""

    def longer(charsmap: bytes) -> bytes:
        end = 4 + int.from_bytes(charsmap[:4], "little")
        return charsmap[:end] + b"x" * 10**6 + charsmap[end:]

    return [(n, w, packed([(m, v, longer(x) if m == 2 else x) for m, v, x in fields(value)]) if n == 3 else value)
            for n, w, value in found]  # fmt: skip


def _archive() -> bytes:
    written = BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file, file.open("index.json.npy", "w") as entry:
        entry.write(
            b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (700000000,), }".ljust(128)
        )
        for _ in range(700):
            entry.write(bytes(10**6))
    return written.getvalue()


def _many_tensors() -> bytes:
    one = '"%d":{"dtype":"F16","shape":[0],"data_offsets":[0,0]}'
    header = ("{" + ",".join(one % number for number in range(1_000_000)) + "}").encode()
    return struct.pack("<Q", len(header)) + header


def _sparse(name: str, size: int) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        with (folder / name).open("r+b") as file:
            file.truncate(size)

    return make


def _file(name: str, data: Callable[[], bytes]) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(data()) and None


BOMBS: dict[str, tuple[Callable[[Path], None], str]] = {  # name -> what makes it, and a word of what is said
    "2 million empty pieces": (_file(TOKENIZER, lambda: b"\x0a\x00" * 2_400_000), "more than 1,000,000 pieces"),
    "2 million empty settings": (_file(TOKENIZER, lambda: b"\x12\x00" * 2_400_000), "not a SentencePiece model"),
    "settings of 4 MB": (
        _file(TOKENIZER, lambda: packed([(2, 2, b"\x0a\x00" * 2_000_000)])), "not a SentencePiece model"
    ),
    "a piece of 4 MB": (_file(TOKENIZER, lambda: packed([(1, 2, packed([(1, 2, b"x" * 4 * 10**6)]))])), "piece"),
    "a rule that writes a megabyte": (_file(TOKENIZER, lambda: _tokenizer(_long_rule)), "for one character"),
    "tests of itself of 4 MB": (
        _file(TOKENIZER, lambda: _tokenizer(lambda found: [*found, (4, 2, b"x" * 4 * 10**6)])), "test data"
    ),
    "a million tensors": (_file(WEIGHTS, _many_tensors), "not a complete safetensors file"),
    "weights of 100 GB": (_sparse(WEIGHTS, 10**11), "not a complete safetensors file"),
    "a tokenizer of 100 GB": (_sparse(TOKENIZER, 10**11), "larger than 5,000,000 bytes"),
    "a config of 100 GB": (_sparse(CONFIG, 10**11), "the limit is 1,000,000"),
    "absurd sizes": (
        _file(CONFIG, lambda: _config(vocab_size=10**6, d_model=8192, d_ff=65_536, heads=128, encoder_layers=64,
                                      decoder_layers=64)), "a trace of"),
    "a trace of many gigabytes": (
        _file(CONFIG, lambda: _config(d_model=128, heads=128, encoder_layers=64, decoder_layers=64)), "a trace of"
    ),
    "a wide model": (_file(CONFIG, lambda: _config(d_model=8192, heads=1)), "config.json needs"),
    "a recording that unpacks to 700 MB": (_file(RECORDING, _archive), "unpacked it takes"),
}  # fmt: skip


def make(name: str, folder: Path) -> None:
    """A good checkpoint in which this one thing is wrong."""
    write(folder, dict(base()))
    BOMBS[name][0](folder)


def main() -> None:
    """Open them one after the other; of each a line of JSON: name, what was said, MB on top of the program's own."""
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    import transformer
    from transformer.training.recording import Recording

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory(prefix="headscope-fuzz-") as place:
        for number, name in enumerate(BOMBS):
            folder = Path(place) / str(number)
            made = os.fork()  # what it takes to make a bomb is not to be counted
            if not made:
                make(name, folder)
                os._exit(0)
            os.waitpid(made, 0)
            try:
                transformer.load(folder)
                Recording.from_file(folder / RECORDING)
                said = "nothing"
            except (transformer.CheckpointError, ValueError, OSError) as error:
                said = str(error).replace(place, "")
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
            print(json.dumps([name, said, grown]), flush=True)
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
