"""A checkpoint as one zip, in memory: what is packed comes back bit by bit, and a hostile zip is one sentence."""

import io
import json
import stat
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from safetensors.torch import save

import transformer
from tests.fuzz import archives
from tests.fuzz.archives import entry, packed
from tests.fuzz.common import examples, one_sentence
from tests.fuzz.folders import base
from tests.fuzz.guard import watched
from tests.support.build import tiny_pretrained
from transformer.checkpoints.archive import LARGEST, read_zip, safe_name, zipped
from transformer.checkpoints.folder import (
    ABOUT,
    CARD,
    CONFIG,
    EXAMPLES,
    GRAPHS,
    HEADS,
    LARGEST_BESIDE,
    LOG,
    NEEDED,
    RECIPE,
    TOKENIZER,
    WEIGHTS,
    CheckpointError,
    checkpoint_files,
    save_checkpoint,
)
from transformer.inference.pretrained import open_files

pytestmark = pytest.mark.slow  # many cases

ROOT = Path(__file__).resolve().parents[2]
UNPACK = 3 * LARGEST  # bytes that reading a refused zip may take: the zip, what is unpacked of it, and room beside


def files_of(name: str) -> dict[str, bytes]:
    """All but those for browsers, which an uploaded checkpoint cannot have."""
    folder = ROOT / "checkpoints" / name
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in (ABOUT, *GRAPHS)}


def good(folder: str = "mine/") -> list[archives.Entry]:
    return [entry(f"{folder}{name}", data) for name, data in base().items()]


def refused(data: bytes) -> str:
    """The one sentence that reading and opening says, in bounded memory."""
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError) as error:
            open_files(read_zip(data), "mine")
        assert tracemalloc.get_traced_memory()[1] < UNPACK
    finally:
        tracemalloc.stop()
    one_sentence(str(error.value))
    return str(error.value)


# -- the files of a checkpoint --------------------------------------------------------------------------------------


def test_saved_files_equal_the_files_in_memory(tmp_path: Path) -> None:
    tiny = tiny_pretrained()
    save_checkpoint(tmp_path / "mine", tiny.model, tiny.tokenizer, tiny.languages)
    files = checkpoint_files(tiny.model, tiny.tokenizer, tiny.languages)
    assert {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()} == files
    assert files[WEIGHTS] == save({name: one.half().contiguous() for name, one in tiny.model.named_parameters()})
    assert files[TOKENIZER] == tiny.tokenizer.to_bytes()
    about = json.loads(files[CONFIG])
    assert about == {
        "architecture": "headscope-transformer", "format": 1, "source": "Invented", "target": "Imagined",
        "model": tiny.config.to_dict(),
    }  # fmt: skip
    assert files[CONFIG].decode() == json.dumps(about, indent=2) + "\n"


def test_files_in_memory_are_the_model_of_the_folder() -> None:
    ours, theirs = open_files(files_of("reverse"), "packed"), transformer.load("reverse")
    assert ours.name == "packed" and (ours.languages, ours.metrics) == (theirs.languages, theirs.metrics)
    for name, weight in theirs.model.state_dict().items():
        assert torch.equal(weight, ours.model.state_dict()[name]), name
    text = "attention"
    assert ours.translate(text).text == theirs.translate(text).text == text[::-1]
    assert torch.equal(ours.trace(text).cross.weights, theirs.trace(text).cross.weights)


def test_other_files_are_read_alike_from_folder_and_memory() -> None:
    ours, theirs = open_files(files_of("sort"), "packed"), transformer.load("sort")
    for name in ("README.md", "training.csv", "examples.json", "learning.npz", "nothing"):
        assert ours.beside(name, 100_000) == theirs.beside(name, 100_000)
    assert ours.beside("README.md", 100_000) == (ROOT / "checkpoints" / "sort" / "README.md").read_bytes()
    for one in (ours, theirs):
        with pytest.raises(OSError, match="larger than 9 bytes"):
            one.beside("README.md", 9)
    assert ours.beside(WEIGHTS, 10**9) is None  # they are in the model, once


@pytest.mark.parametrize("name", NEEDED)
def test_a_file_that_is_missing_is_named(name: str) -> None:
    with pytest.raises(CheckpointError, match=f"^mine is not a checkpoint: {name} is missing$"):
        open_files({file: data for file, data in base().items() if file != name}, "mine")
    assert refused(packed(without(name))) == f"this zip is not a checkpoint: {name} is missing"


# -- packing and unpacking ------------------------------------------------------------------------------------------


def test_a_zip_is_read_back_bit_by_bit() -> None:
    tiny = tiny_pretrained()
    files = checkpoint_files(tiny.model, tiny.tokenizer, tiny.languages, torch.float32)
    again = open_files(read_zip(zipped(files, "mine")), "mine")
    for name, weight in tiny.model.named_parameters():
        assert torch.equal(weight, again.model.get_parameter(name)), name
    assert checkpoint_files(again.model, tiny.tokenizer, again.languages, torch.float32) == files


def test_the_same_files_make_the_same_zip() -> None:
    files = dict(base())
    data = zipped(files, "mine")
    assert zipped(dict(reversed(files.items())), "mine") == data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [f"mine/{name}" for name in sorted(files)]
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {info.external_attr >> 16 for info in archive.infolist()} == {stat.S_IFREG | 0o644}


@pytest.mark.parametrize(
    "name, safe",
    [
        ("reverse · 1", "reverse-1"),
        ("été/../x", "ete-..-x"),
        ("..", "checkpoint"),
        ("", "checkpoint"),
        ("\ud800\0", "checkpoint"),
        ("x" * 500, "x" * 60),
    ],
)
def test_the_folders_name_is_safe_everywhere(name: str, safe: str) -> None:
    assert safe_name(name) == safe
    assert set(read_zip(zipped(base(), name))) == set(base())


@pytest.mark.parametrize("folder", ["", "mine/", "my model/", "été/", "mine\\", "./", "./mine/"])
def test_with_a_folder_or_without(folder: str) -> None:
    assert read_zip(packed(good(folder))) == base()


def test_files_added_by_file_managers_are_ignored() -> None:
    """macOS packs a second tree of attributes beside the folder, whose names are those of the files."""
    added = [entry("__MACOSX/mine/._config.json", b"x"), entry("__MACOSX/mine/config.json", b"x")]
    added += [entry(f"mine/{name}", b"x") for name in (".DS_Store", "desktop.ini", "notes.txt")]
    added += [entry("mine/", b"", external_attr=(stat.S_IFDIR | 0o755) << 16), entry("mine/drafts/a.txt", b"x")]
    assert read_zip(packed([*added, *good()])) == base()


# -- hostile zips ---------------------------------------------------------------------------------------------------


def with_fields(data: bytes, name: str, **fields: tuple[int, int, int]) -> bytes:
    """The zip with fields of one entry of its list set to (offset, size, value)."""
    found = bytearray(data)
    at = archives.directory(data)
    while data[at + 46 : at + 46 + len(name)] != name.encode():
        at += 46 + sum(struct.unpack("<3H", data[at + 28 : at + 34]))
    for offset, size, value in fields.values():
        found[at + offset : at + offset + size] = value.to_bytes(size, "little")
    return bytes(found)


def other(name: str, **fields: Any) -> bytes:
    return packed([*good(), entry(name, b"x", **fields)])


def without(name: str) -> list[archives.Entry]:
    return [one for one in good() if not one[0].filename.endswith(name)]


def link(target: str) -> bytes:
    linked = entry("mine/README.md", target.encode(), external_attr=(stat.S_IFLNK | 0o777) << 16)
    return packed([*without(CARD), linked])


@pytest.mark.parametrize(
    "data, said",
    [
        (b"", "this file is not a complete zip; choose the zip of a checkpoint folder"),
        (b"x" * 99, "this file is not a complete zip"),
        (zipped(base(), "mine")[:-1], "this file is not a complete zip"),
        (zipped(base(), "mine")[:-30], "this file is not a complete zip"),
        (b"<html>" + zipped(base(), "mine"), "this file is not a complete zip"),
        (packed(good(), b"a comment"), "this file is not a complete zip"),
        (packed([]), "this zip is not a checkpoint: config.json is missing"),
        (packed([entry("a.txt", b"x")]), "this zip is not a checkpoint: config.json is missing"),
        (other("../x"), "the zip names a file outside its folder, '../x'"),
        (other("mine/../../config.json"), "the zip names a file outside its folder, "),
        (other("/etc/passwd"), "the zip names a file outside its folder, '/etc/passwd'"),
        (other("C:\\windows\\x"), "the zip names a file outside its folder, 'C:/windows/x'"),
        (other("..\\x"), "the zip names a file outside its folder, '../x'"),
        (other("//server/x"), "the zip names a file outside its folder, '//server/x'"),
        (link("/etc/passwd"), "the zip contains a link or a device, 'mine/README.md'; pack the files themselves"),
        (link("config.json"), "the zip contains a link or a device, "),
        (other("mine/pipe", external_attr=(stat.S_IFIFO | 0o644) << 16),
         "the zip contains a link or a device, 'mine/pipe'"),
        (other("other/config.json"), "the zip has config.json twice; pack only one checkpoint folder"),
        (packed([*without(CONFIG), entry("config.json", base()[CONFIG])]),
         "the zip has checkpoint files in several folders; pack only one checkpoint folder"),
        (packed(good("a/b/")),
         "the zip has 'a/b/tokenizer.model' too deep, in a folder inside a folder; pack the checkpoint folder itself"),
        (packed([*without(CONFIG), entry("mine/config.json", base()[CONFIG], compress_type=zipfile.ZIP_LZMA)]),
         "the zip uses an unsupported compression for 'mine/config.json'; pack it as an ordinary zip"),
        (with_fields(packed(good()), "mine/config.json", flags=(8, 2, 1)), "the zip is encrypted"),
        (with_fields(packed(good()), "mine/config.json", method=(10, 2, 99)),
         "the zip uses an unsupported compression for 'mine/config.json'"),
        (with_fields(packed(good()), "mine/config.json", crc=(16, 4, 7)), "the zip is damaged"),
        (with_fields(packed(good()), "mine/config.json", place=(42, 4, 2**32 - 2)), "the zip is damaged"),
        (with_fields(packed(good()), "mine/config.json", size=(24, 4, 3)), "the zip is damaged"),
        (bytes(LARGEST + 1), f"the zip has {LARGEST + 1:,} bytes; the limit is 30,000,000"),
    ],
)  # fmt: skip
def test_a_hostile_zip_gives_one_sentence(data: bytes, said: str) -> None:
    assert refused(data).startswith(said)


def test_a_bomb_is_not_unpacked() -> None:
    """A file that says it is large, and one that says it is small and unpacks to 200 MB."""
    data = packed([*without(WEIGHTS), entry(f"mine/{WEIGHTS}", bytes(200_000_000))])
    assert len(data) < 10**6
    assert refused(data).startswith("the unpacked zip would take 200,")
    small = with_fields(data, f"mine/{WEIGHTS}", size=(24, 4, 1_000))
    assert refused(small) == "the zip is damaged; download it or pack it again"


@pytest.mark.parametrize("name", [EXAMPLES, CARD, LOG, HEADS, RECIPE])
def test_a_file_that_is_too_large_to_be_read_is_not_kept(name: str) -> None:
    """The checkpoint opens; the reader of that file says that it is too large, as for a folder."""
    limit = LARGEST_BESIDE[name]
    data = packed([*without(name), entry(f"mine/{name}", b" " * 200_000_000)])
    files = read_zip(data)
    assert len(files[name]) == limit + 1 and sum(map(len, files.values())) < UNPACK
    with pytest.raises(OSError, match="it is larger than"):
        open_files(files, "mine").beside(name, limit)
    fits = read_zip(packed([*without(name), entry(f"mine/{name}", b" " * limit)]))
    assert open_files(fits, "mine").beside(name, limit) == b" " * limit


@pytest.mark.parametrize("count", [3_000, 600_000])
def test_a_million_entries_are_not_listed(count: int) -> None:
    """One takes 46 bytes in the zip and an object of 500 in Python."""
    one = b"PK\1\2" + bytes(24) + struct.pack("<H", 1) + bytes(16) + b"x"
    listed = one * count
    few = min(count, 65_535)
    data = b"PK\3\4" + bytes(26) + listed + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, few, few, len(listed), 30, 0)
    assert refused(data).startswith(f"the zip's list of files has {len(listed):,} bytes; the limit is 65,536")


def test_sizes_of_64_bits_are_refused() -> None:
    """There the end that is checked is not the end that `zipfile` would believe."""
    data = packed(good())
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
    assert refused(data[:-22] + locator + data[-22:]).startswith("the zip has a comment, several parts or 64-bit sizes")


def test_any_damage_is_read_or_refused_in_one_sentence() -> None:
    """Some damage does no harm, most does; if none ever did, or all, the cases would be poor ones."""
    opened = []

    @given(archives.damaged())
    @examples(250)
    def open_damaged(data: bytes) -> None:
        opened.append(archives.check(data))

    open_damaged()
    assert 0.1 < sum(opened) / len(opened) < 0.6


def test_nothing_is_written() -> None:
    data = zipped(base(), "mine")
    with watched() as watch:
        open_files(read_zip(data), "mine")
    assert watch.found == []
