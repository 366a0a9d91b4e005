"""Zips of checkpoints with something wrong in them: a good one, damaged at random, read and opened in memory."""

from __future__ import annotations

import io
import stat
import struct
import warnings
import zipfile
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.common import PATHS, one_sentence, sent
from tests.fuzz.damage import damaged, damaged_bytes, damaged_files
from tests.fuzz.folders import CHANGES, NEEDED, base
from transformer.checkpoints.archive import LARGEST, read_zip, zipped
from transformer.checkpoints.folder import FILES, CheckpointError
from transformer.inference.pretrained import InputError, open_files

Entry = tuple[zipfile.ZipInfo, bytes]
# What may stand in an entry: methods of compression, kinds of files, names, and the data of a bomb.
MORE = (
    *(zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, bytes(10**6), bytes(LARGEST + 1)),
    *((kind | 0o644) << 16 for kind in (stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFDIR, 0)),
    *("/x", "../x", "a/../../x", "C:\\x", "C:/x", "\\x", "a/b/c/config.json", "__MACOSX/config.json", "a/", "", "."),
    *(f"{folder}{name}" for folder in ("mine/", "other/") for name in NEEDED), *PATHS[:36],
)  # fmt: skip
# (offset, bytes) of fields: of an entry in the zip's list, and of the zip's end.
LISTED = ((6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (38, 4), (42, 4))
END = ((4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2))


def entry(name: str, data: bytes, **fields: Any) -> Entry:
    info = zipfile.ZipInfo("x")
    info.filename = name  # as it is: `ZipInfo` would mend it
    info.create_system, info.compress_type = 3, zipfile.ZIP_DEFLATED
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


def packed(entries: list[Entry], comment: bytes = b"") -> bytes:
    """A zip of these entries, as they are."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Duplicate name")  # meant
        for info, data in entries:
            archive.writestr(info, data)
        archive.comment = comment
    return written.getvalue()


def directory(data: bytes) -> int:
    """Where a zip's list of entries begins, as its end says."""
    return int(struct.unpack("<L", data[-6:-2])[0])


@st.composite
def _lying(draw: st.DrawFn, data: bytes) -> bytes:
    """A field of the zip's list or of its end that lies."""
    found, at = bytearray(data), directory(data)
    places = [(len(data) - 22 + offset, size) for offset, size in END]
    while data[at : at + 4] == b"PK\1\2":
        places += [(at + offset, size) for offset, size in LISTED]
        at += 46 + sum(struct.unpack("<3H", data[at + 28 : at + 34]))
    for at, size in draw(st.lists(st.sampled_from(places), min_size=1, max_size=2)):
        most = 256**size - 1
        value = draw(st.sampled_from((0, 1, 7, 255, most, most // 2 + 1)) | st.integers(0, most))
        found[at : at + size] = value.to_bytes(size, "little")
    return bytes(found)


@st.composite
def zips(draw: st.DrawFn) -> bytes:
    """A zip in which something is wrong, or only unusual."""
    folder, kind = draw(st.sampled_from(("", "mine/", "mine/", "été/", "a\\"))), draw(st.integers(0, 5))
    files = draw(damaged_files(base(), CHANGES)) if kind == 0 else base()
    tree = [[f"{folder}{name}", data, 0, zipfile.ZIP_DEFLATED] for name, data in files.items()]
    entries = []
    for one in draw(damaged(tree, MORE, 3)) if kind in (1, 2) else tree:
        match one:
            case str(name), bytes(data), int(attributes), int(method):
                pass
            case _:
                continue
        if 0 <= attributes < 2**32 and method in (0, 8, 12, 14):
            name = sent(name.replace("\0", ""))[:999]
            entries.append(entry(name, data, external_attr=attributes, compress_type=method))
    data = packed(entries, b"comment" if kind == 5 else b"")
    return draw(_lying(data)) if kind == 3 else draw(damaged_bytes(data)) if kind == 4 else data


def check(data: bytes) -> bool:
    """Read the zip, open and use what it holds. Returns whether it could be opened."""
    try:
        files = read_zip(data)
        assert set(files) <= set(FILES) and sum(map(len, files.values())) <= LARGEST
        assert read_zip(zipped(files, "again")) == files
        model = open_files(files, "mine")
    except CheckpointError as error:
        one_sentence(str(error))
        return False
    try:
        model.trace("ka lo mi", limit=12)
    except InputError as error:
        one_sentence(str(error))
    return True
