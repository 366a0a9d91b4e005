"""Zips of checkpoints with something wrong in them: a good one, damaged at random, read and opened in memory."""

from __future__ import annotations

import io
import re
import stat
import struct
import warnings
import zipfile
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.common import PATHS, TEXTS, damaged_bytes, flipped, flips, one_sentence
from tests.fuzz.folders import CHANGES, NEEDED, base, changed
from transformer.checkpoints.archive import LARGEST, read_zip, zipped
from transformer.checkpoints.folder import FILES, CheckpointError
from transformer.inference.pretrained import InputError, open_files

Entry = tuple[zipfile.ZipInfo, bytes]
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
KINDS = (stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFDIR, stat.S_IFREG, 0)
NAMES = ("/x", "../x", "a/../../x", "C:\\x", "C:/x", "\\x", "a/b/c/config.json", "__MACOSX/config.json", "a/", "", ".")
ENTRY_FIELDS = ((6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (38, 4), (42, 4))  # offset, size
END_FIELDS = ((4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2))


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


def listed(data: bytes) -> list[int]:
    """Where each entry of that list begins; none if the end lies already."""
    positions, position = [], directory(data)
    while data[position : position + 4] == b"PK\1\2":
        positions.append(position)
        position += 46 + sum(struct.unpack("<3H", data[position + 28 : position + 34]))
    return positions


@st.composite
def _other_entries(draw: st.DrawFn, entries: list[Entry]) -> list[Entry]:
    """One entry more, less, twice, elsewhere, of another kind."""
    at = draw(st.integers(0, len(entries) - 1))
    info, data = entries[at]
    name = draw(st.sampled_from((*NAMES, *PATHS)) | TEXTS.map(lambda text: text[:200])).replace("\0", "")
    name = name.encode("utf-8", "replace").decode()
    file = re.split(r"[/\\]", info.filename)[-1]
    whole = base().get(file, data)  # as it was: what is damaged already is not what the changes know
    kind = draw(st.sampled_from(("less", "more", "many", "name", "kind", "method", "size", "file", "file")))
    if kind == "less" and len(entries) > 1:
        return entries[:at] + entries[at + 1 :]
    if kind == "more":
        return [*entries, entry(draw(st.sampled_from((info.filename, f"other/{info.filename}", name))), data)]
    if kind == "many":
        return [*entries, *(entry(f"{number}.txt", b"") for number in range(draw(st.sampled_from((10, 300, 3_000)))))]
    if kind == "name":
        new = entry(name, data)
    elif kind == "kind":
        new = entry(info.filename, data, external_attr=(draw(st.sampled_from(KINDS)) | 0o644) << 16)
    elif kind == "method":
        new = entry(info.filename, data, compress_type=draw(st.sampled_from(METHODS)))
    elif kind == "size":
        new = entry(info.filename, bytes(draw(st.sampled_from((10**6, LARGEST + 1)))))
    else:
        new = entry(info.filename, draw(changed(file, whole) if file in CHANGES else damaged_bytes(whole)))
    return [*entries[:at], new, *entries[at + 1 :]]


@st.composite
def _lying_field(draw: st.DrawFn, data: bytes) -> bytes:
    """A field of one entry in the zip's list, or of its end, that lies."""
    positions = listed(data)
    if positions and draw(st.booleans()):
        start, (field, size) = draw(st.sampled_from(positions)), draw(st.sampled_from(ENTRY_FIELDS))
    else:
        start, (field, size) = len(data) - 22, draw(st.sampled_from(END_FIELDS))
    most = 256**size - 1
    value = draw(st.sampled_from((0, 1, 7, 255, most, most // 2)) | st.integers(0, most))
    return flipped(data, [(start + field + at, byte) for at, byte in enumerate(value.to_bytes(size, "little"))])


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A zip in which something is wrong, or only unusual."""
    folder = draw(st.sampled_from(("", "mine/", "mine/", "été/", "a\\")))
    entries = [entry(f"{folder}{name}", data) for name, data in base().items() if name in NEEDED or draw(st.booleans())]
    for _ in range(draw(st.sampled_from((0, 1, 1, 2)))):
        entries = draw(_other_entries(entries))
    data = packed(entries, draw(st.sampled_from((*[b""] * 30, b"comment"))))
    for _ in range(draw(st.sampled_from((0, 0, 1, 1, 2)))):
        if data[-22:-18] == b"PK\5\6":
            in_list = flips(data, min(directory(data), len(data) - 1))
            data = draw(st.one_of(_lying_field(data), _lying_field(data), in_list, damaged_bytes(data)))
    return data


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
