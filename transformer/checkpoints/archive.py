"""A checkpoint's folder as one zip in memory, for downloads and for files that a visitor loads. Writes no file.

Every zip counts as hostile: the size of its directory is checked before `zipfile` makes an object per entry, the sizes
of its files before unpacking, and only files with the names of a checkpoint are unpacked.
"""

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

from transformer.checkpoints.folder import FILES, LARGEST_BESIDE, NEEDED, CheckpointError

LARGEST = 30_000_000  # bytes, packed, and all files together unpacked; a page takes zips of 16 million
LARGEST_DIRECTORY = 65_536  # bytes of a zip's list of entries, about 700 entries; a checkpoint's list takes 800 bytes
END = struct.Struct("<4s4H2LH")  # a zip's last 22 bytes: "PK\5\6", ..., size of the directory, its offset, comment
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
DATE = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip, for every entry, so that equal files make equal bytes
IGNORED = ("__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini")  # files that file managers add to a folder


def safe_name(name: str) -> str:
    """A folder name that is valid on any system: letters, digits, "-", "_", "."; "checkpoint" if nothing remains."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-.")[:60].strip("-.") or "checkpoint"


def zipped(files: Mapping[str, bytes], name: str) -> bytes:
    """A zip with a folder of these files; equal files make equal bytes. name: of the folder, made safe."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for file in sorted(files):
            entry = zipfile.ZipInfo(f"{safe_name(name)}/{file}", DATE)
            entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16  # Unix, on every system
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[file])
    return written.getvalue()


def read_zip(data: bytes) -> dict[str, bytes]:
    """The files of a checkpoint that was packed by `zipped` or by hand, with its folder or without.

    Skips other files. A file beside the weights that is too large to be read is cut one byte after its limit, so that
    its reader says so. Raises CheckpointError.
    """
    if len(data) > LARGEST:
        raise CheckpointError("the zip has {size:,} bytes; the limit is {largest:,}", size=len(data), largest=LARGEST)
    _check_directory(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            chosen = _chosen(archive.infolist())
            return {name: _unpack(archive, entry, name) for name, entry in chosen.items()}
    except CheckpointError:
        raise
    # `zipfile` raises one of these for a wrong method, offset, size or name.
    except (zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError, EOFError, OSError,
            ValueError, OverflowError, IndexError) as error:  # fmt: skip
        raise CheckpointError("the zip is damaged; download it or pack it again") from error


def _kept(entry: zipfile.ZipInfo, name: str) -> int:
    """How many bytes of an entry are unpacked."""
    return min(entry.file_size, LARGEST_BESIDE[name] + 1) if name in LARGEST_BESIDE else entry.file_size


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> bytes:
    """The bytes of an entry, up to its declared size; `archive.read` would unpack everything first."""
    with archive.open(entry) as file:
        return file.read(_kept(entry, name))


def _check_directory(data: bytes) -> None:
    """Check that this is a plain zip before reading any entry. Raises CheckpointError."""
    end = data[-END.size :]
    if len(end) < END.size or not end.startswith(b"PK\5\6") or not data.startswith(b"PK"):
        raise CheckpointError("this file is not a complete zip; choose the zip of a checkpoint folder")
    _mark, disk, first_disk, disk_entries, entries, size, _offset, comment = END.unpack(end)
    if comment or disk or first_disk or disk_entries != entries or data[-42:-38] == b"PK\6\7":
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
    chosen: dict[str, zipfile.ZipInfo] = {}
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
        if path.name in chosen:
            raise CheckpointError("the zip has {name} twice; pack only one checkpoint folder", name=path.name)
        folders.add(path.parts[0] if len(path.parts) == 2 else "")
        chosen[path.name] = entry
    if len(folders) > 1:
        raise CheckpointError("the zip has checkpoint files in several folders; pack only one checkpoint folder")
    if missing := [name for name in NEEDED if name not in chosen]:
        raise CheckpointError("this zip is not a checkpoint: {missing} is missing", missing=missing[0])
    if (size := sum(_kept(entry, name) for name, entry in chosen.items())) > LARGEST:
        raise CheckpointError(
            "the unpacked zip would take {size:,} bytes; the limit is {largest:,}", size=size, largest=LARGEST
        )
    return chosen


def _path(entry: zipfile.ZipInfo) -> PurePosixPath | None:
    """The path of an entry, None for a folder and for files of file managers. Raises CheckpointError."""
    name = entry.filename.replace("\\", "/")  # older Windows programs write backslashes
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
    if name.endswith("/") or not path.parts or set(IGNORED) & set(path.parts):
        return None
    if entry.compress_type not in METHODS:
        raise CheckpointError(
            "the zip uses an unsupported compression for {name}; pack it as an ordinary zip", name=shown(name)
        )
    return path
