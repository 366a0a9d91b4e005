"""Zips of checkpoints with something wrong in them: a good one, damaged at random, read and opened in memory."""

from __future__ import annotations

import io
import random
import re
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

from tests.fuzz.common import PATHS, one_sentence, text
from tests.fuzz.folders import CHANGES, NEEDED, base
from transformer.checkpoints.archive import LARGEST, read_zip, zipped
from transformer.checkpoints.folder import FILES, CheckpointError
from transformer.inference.pretrained import InputError, open_files

Entry = tuple[zipfile.ZipInfo, bytes]
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
KINDS = (stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFDIR, stat.S_IFREG, 0)
NAMES = ("/x", "../x", "a/../../x", "C:\\x", "C:/x", "\\x", "a/b/c/config.json", "__MACOSX/config.json", "a/", "", ".")


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


def _entries(rng: random.Random, entries: list[Entry]) -> list[Entry]:
    """One entry more, less, twice, elsewhere, of another kind."""
    at = rng.randrange(len(entries))
    info, data = entries[at]
    kind = rng.randrange(8)
    name = rng.choice((*NAMES, *PATHS[:36], text(rng, 0)[:200])).replace("\0", "").encode("utf-8", "replace").decode()
    if kind == 0:
        return entries[:at] + entries[at + 1 :]
    if kind == 1:
        return [*entries, entry(rng.choice((info.filename, f"other/{info.filename}", name)), data)]
    if kind == 2:
        return [*entries[:at], entry(name, data), *entries[at + 1 :]]
    if kind == 3:
        changed = entry(info.filename, data, external_attr=(rng.choice(KINDS) | 0o644) << 16)
        return [*entries[:at], changed, *entries[at + 1 :]]
    if kind == 4:
        return [*entries[:at], entry(info.filename, data, compress_type=rng.choice(METHODS)), *entries[at + 1 :]]
    if kind == 5:
        return [*entries, *(entry(f"{number}.txt", b"") for number in range(rng.choice((10, 300, 3_000))))]
    if kind == 6:
        return [*entries[:at], entry(info.filename, bytes(rng.choice((10**6, LARGEST + 1)))), *entries[at + 1 :]]
    file = re.split(r"[/\\]", info.filename)[-1]
    data = base().get(file, data)  # as it was: what is damaged already is not what the changes know
    return [
        *entries[:at],
        entry(info.filename, rng.choice(CHANGES.get(file, (_bytes,)))(rng, data)),
        *entries[at + 1 :],
    ]


def _header(rng: random.Random, data: bytes) -> bytes:
    """A field of one entry in the zip's list that lies: version, flags, method, sizes, lengths, kind, place."""
    found = bytearray(data)
    places = []
    at = directory(data)
    while data[at : at + 4] == b"PK\1\2":
        places.append(at)
        at += 46 + sum(struct.unpack("<3H", data[at + 28 : at + 34]))
    if not places:  # the end already lies
        return data
    field, size = rng.choice(((6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (38, 4), (42, 4)))
    value = rng.choice((0, 1, 7, 255, 256**size - 1, 256**size // 2, rng.randrange(256**size)))
    place = rng.choice(places) + field
    found[place : place + size] = value.to_bytes(size, "little")
    return bytes(found)


def _end(rng: random.Random, data: bytes) -> bytes:
    """A field of the zip's end that lies."""
    found = bytearray(data)
    field, size = rng.choice(((4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)))
    value = rng.choice((0, 1, 256**size - 1, rng.randrange(256**size)))
    at = len(data) - 22 + field
    found[at : at + size] = value.to_bytes(size, "little")
    return bytes(found)


def _bytes(rng: random.Random, data: bytes) -> bytes:
    kind = rng.randrange(5)
    if kind == 0:
        return data[: rng.randrange(len(data) + 1)]
    if kind == 1 and data:
        found = bytearray(data)
        low = rng.choice((0, min(directory(data), len(data) - 1)))
        for _ in range(rng.choice((1, 3, 50))):
            found[rng.randrange(low, len(found))] = rng.randrange(256)
        return bytes(found)
    if kind == 2:
        return rng.choice((data * 2, b"x" * 99 + data, data + b"x", data[4:]))
    if kind == 3:
        return rng.choice((b"", b"PK", b"PK\5\6" + bytes(18), b"PK\3\4" + bytes(99), bytes(22), b"<!DOCTYPE html>" * 9))
    return bytes(rng.randrange(256) for _ in range(rng.choice((21, 22, 400))))


def damaged(seed: int) -> bytes:
    """A zip in which something is wrong, or only unusual."""
    rng = random.Random(f"archives {seed}")
    folder = rng.choice(("", "mine/", "mine/", "été/", "a\\"))
    entries = [entry(f"{folder}{name}", data) for name, data in base().items() if name in NEEDED or rng.random() < 0.5]
    for _ in range(rng.choice((0, 1, 1, 2))):
        entries = _entries(rng, entries) or entries
    data = packed(entries, b"comment" if rng.random() < 0.03 else b"")
    damages: tuple[Callable[[random.Random, bytes], bytes], ...] = (_header, _header, _end, _bytes)
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        if data[-22:-18] == b"PK\5\6":
            data = rng.choice(damages)(rng, data)
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


def case(seed: int) -> None:
    check(damaged(seed))
