"""Files: written whole or not at all, read within bounds."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, Protocol


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe of that name would be waited for


def open_regular(path: Path) -> BinaryIO:
    """A file, open for reading. Raises OSError, also for what is none: a pipe or a device may never end."""
    file = open(path, "rb", opener=_at_once)  # noqa: SIM115, the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not an ordinary file", str(path))
    return file


def read_bounded(path: Path, largest: int) -> bytes:
    """A whole file of at most `largest` bytes. Raises OSError, also for a longer one, however long it says it is."""
    with open_regular(path) as file:
        data = file.read(largest + 1)
    if len(data) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest:,} bytes", str(path))
    return data


def read_text(path: Path, largest: int) -> str:
    """A text in UTF-8 of at most `largest` bytes, from whatever can be read, pipes too. Raises OSError, ValueError."""
    with open(path, "rb") as file:
        data = file.read(largest + 1)
    if len(data) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest:,} bytes", str(path))
    return data.decode("utf-8")


def read_own(path: Path, largest: int) -> bytes:
    """As `read_bounded`, for what a folder from anywhere has shown to others: not what a symbolic link in it leads to
    outside of it, such as a password file. Raises OSError."""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(path.parent)):
        raise OSError(errno.EACCES, "it is a link to a file outside its folder", str(path))
    return read_bounded(path, largest)


class Files(Protocol):
    """Files under plain names, on a disk or in memory. path: where they are, or what stands for it in sentences."""

    path: Path

    def has(self, name: str) -> bool: ...

    def size(self, name: str) -> int: ...

    def open(self, name: str) -> BinaryIO: ...

    def read(self, name: str, largest: int) -> bytes: ...


class Folder:
    """The files of a folder. Everything raises OSError, as `open_regular` and `read_bounded` do."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def size(self, name: str) -> int:
        return (self.path / name).stat().st_size

    def open(self, name: str) -> BinaryIO:
        return open_regular(self.path / name)

    def read(self, name: str, largest: int) -> bytes:
        return read_bounded(self.path / name, largest)


class Packed:
    """Files in memory. path: none on the disk; its last part is a name for them."""

    def __init__(self, name: str, files: Mapping[str, bytes]) -> None:
        self.path, self._files = Path(name), files

    def has(self, name: str) -> bool:
        return name in self._files

    def size(self, name: str) -> int:
        return len(self._files[name])

    def open(self, name: str) -> BinaryIO:
        return io.BytesIO(self._files[name])

    def read(self, name: str, largest: int) -> bytes:
        if self.size(name) > largest:
            raise OSError(errno.EFBIG, f"it is larger than {largest:,} bytes", name)
        return self._files[name]


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, also after a crash.

    Raises OSError with the file's name, which a full disk does not say.
    """
    if not path.name:  # "." and "/": they have no neighbour to be written beside
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    partial = path.with_name(f".{path.name}.partial")  # no tempfile: that would leave it readable by its owner only
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from error
    # The new name must be on the disk too before anything that counts on it. Not every system opens folders.
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
