"""A checkpoint's folder as one zip, in memory: what a person downloads, and what they bring along. No file is written.

A zip from anywhere is hostile until it is read: its directory is bounded before `zipfile` makes an object of every
entry, its sizes before anything is unpacked, and of its names only those that `checkpoint` knows are unpacked at all.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import PurePosixPath
from reprlib import repr as shown

from transformer.checkpoints.folder import FILES, NEEDED, CheckpointError

LARGEST = 30_000_000  # bytes, packed, and all files together unpacked; the bundled en-de takes 19 million
LARGEST_DIRECTORY = 65_536  # bytes of a zip's list of entries, some 700 of them; a checkpoint's takes 800
END = struct.Struct("<4s4H2LH")  # a zip's last 22 bytes: "PK\5\6", ..., size of the directory, its place, comment
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
DAY = (1980, 1, 1, 0, 0, 0)  # of every entry, the first a zip can say: the same files make the same bytes
LEFT = ("__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini")  # what file managers put beside a folder's files


def safe_name(name: str) -> str:
    """The name as a folder may have it on any system: letters, digits, "-", "_", "."; "checkpoint" if nothing stays."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-.")[:60].strip("-.") or "checkpoint"


def zipped(files: Mapping[str, bytes], name: str) -> bytes:
    """A folder of these files as a zip, the same bytes for the same files. name: the folder's, made safe."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for file in sorted(files):
            entry = zipfile.ZipInfo(f"{safe_name(name)}/{file}", DAY)
            entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16  # Unix, whichever writes it
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[file])
    return written.getvalue()


def read_zip(data: bytes) -> dict[str, bytes]:
    """The files of a checkpoint that was packed as `zipped` does, or by hand: with its folder or without.

    Names that no checkpoint has are left out. Raises CheckpointError with one sentence.
    """
    if len(data) > LARGEST:
        raise CheckpointError("the zip has {size:,} bytes; the limit is {largest:,}", size=len(data), largest=LARGEST)
    _check_directory(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            chosen = _chosen(archive.infolist())
            return {name: _unpack(archive, entry) for name, entry in chosen.items()}
    except CheckpointError:
        raise
    # `zipfile` has no error of its own for every damage: a false method, offset, size or name raises one of these.
    except (zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError, EOFError, OSError,
            ValueError, OverflowError, IndexError) as error:  # fmt: skip
        raise CheckpointError("the zip is damaged; download it or pack it again") from error


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of an entry, as many as its size says: `archive.read` unpacks whatever is there before it counts."""
    with archive.open(entry) as file:
        return file.read(entry.file_size)


def _check_directory(data: bytes) -> None:
    """Refuse what is no plain zip before any entry is read. Raises CheckpointError."""
    end = data[-END.size :]
    if len(end) < END.size or not end.startswith(b"PK\5\6") or not data.startswith(b"PK"):
        raise CheckpointError("this file is not a complete zip; choose the zip of a checkpoint folder")
    _mark, disk, first, here, entries, size, _place, comment = END.unpack(end)
    if comment or disk or first or here != entries or data[-42:-38] == b"PK\6\7":
        raise CheckpointError(
            "the zip has a comment, several parts or 64-bit sizes; pack the checkpoint folder again as an ordinary zip"
        )
    if size > LARGEST_DIRECTORY:
        raise CheckpointError(
            "the zip's list of files has {size:,} bytes; the limit is {largest:,}, so pack only the checkpoint folder",
            size=size,
            largest=LARGEST_DIRECTORY,
        )


def _chosen(entries: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Name -> entry of the checkpoint's files, all checked by name, kind and size. Raises CheckpointError."""
    found: dict[str, zipfile.ZipInfo] = {}
    folders: set[str] = set()
    for entry in entries:
        path = _path(entry)
        if path is None or path.name not in FILES:
            continue
        if len(path.parts) > 2:
            raise CheckpointError(
                "the zip has {filename} too deep, in a folder inside a folder; pack the checkpoint folder itself",
                filename=shown(entry.filename),
            )
        if path.name in found:
            raise CheckpointError("the zip has {name} twice; pack only one checkpoint folder", name=path.name)
        folders.add(path.parts[0] if len(path.parts) == 2 else "")
        found[path.name] = entry
    if len(folders) > 1:
        raise CheckpointError("the zip has checkpoint files in several folders; pack only one checkpoint folder")
    if missing := [name for name in NEEDED if name not in found]:
        raise CheckpointError("this zip is not a checkpoint: {missing} is missing", missing=missing[0])
    if (size := sum(entry.file_size for entry in found.values())) > LARGEST:
        raise CheckpointError(
            "the unpacked zip would take {size:,} bytes; the limit is {largest:,}", size=size, largest=LARGEST
        )
    return found


def _path(entry: zipfile.ZipInfo) -> PurePosixPath | None:
    """Where an entry lies, None for a folder and for what file managers leave. Raises CheckpointError."""
    name = entry.filename.replace("\\", "/")  # so Windows wrote it for long
    path = PurePosixPath(name)
    if name.startswith("/") or ":" in path.parts[:1] or re.match("[A-Za-z]:", name) or ".." in path.parts:
        raise CheckpointError(
            "the zip names a file outside its folder, {name}; pack only that folder", name=shown(name)
        )
    if entry.flag_bits & 0x1:
        raise CheckpointError("the zip is encrypted; pack the checkpoint folder without a password")
    kind = stat.S_IFMT(entry.external_attr >> 16) if entry.create_system == 3 else 0
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise CheckpointError(
            "the zip contains a link or a device, {name}; pack the files themselves", name=shown(name)
        )
    if name.endswith("/") or not path.parts or set(LEFT) & set(path.parts):
        return None
    if entry.compress_type not in METHODS:
        raise CheckpointError(
            "the zip uses an unsupported compression for {name}; pack it as an ordinary zip", name=shown(name)
        )
    return path
