"""Files: written completely or not at all, and read up to a limit."""

import contextlib
import errno
import gzip
import io
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Protocol

from transformer.texts import N_, UserError


@contextlib.contextmanager
def reading_file(name: object, kind: type[UserError]) -> Iterator[None]:
    """An OSError in this block becomes an error of this kind, which names what cannot be read."""
    try:
        yield
    except OSError as error:
        text = N_("{name} cannot be read: {reason}")
        raise kind(text, name=name, reason=error.strerror or error) from error


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # otherwise opening a pipe would block


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. Raises OSError, also for a pipe or a device, which may never end."""
    file = open(path, "rb", opener=_at_once)  # noqa: SIM115, the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not an ordinary file", str(path))
    return file


def read_bounded(path: Path, largest: int) -> bytes:
    """A whole file of at most `largest` bytes. Raises OSError, also for a longer file, whatever size it reports."""
    with open_regular(path) as file:
        data = file.read(largest + 1)
    if len(data) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest:,} bytes", str(path))
    return data


def read_text(path: Path, largest: int) -> str:
    """A text in UTF-8 of at most `largest` bytes, also from a pipe. Raises OSError, ValueError."""
    with open(path, "rb") as file:
        data = file.read(largest + 1)
    if len(data) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest:,} bytes", str(path))
    return data.decode("utf-8")


def read_own(path: Path, largest: int) -> bytes:
    """Like `read_bounded`, for a file of an untrusted folder. Refuses a symbolic link that leads out of the folder, for
    example to a password file. Raises OSError."""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(path.parent)):
        raise OSError(errno.EACCES, "it is a link to a file outside its folder", str(path))
    return read_bounded(path, largest)


class Files(Protocol):
    """Files by name, on a disk or in memory. path: their folder, or a name for messages."""

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
    """Files in memory. path: not a path on the disk; its last part is their name."""

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
    """Write a file completely or not at all, also in a crash.

    Raises OSError with the file's name, which the error of a full disk lacks.
    """
    if not path.name:  # "." and "/"
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    partial = path.with_name(f".{path.name}.partial")  # not tempfile, whose files only their owner can read
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
    # The new name must be on the disk before anything relies on it. Some systems cannot open folders.
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_gzip(path: Path, data: bytes) -> None:
    """As `write_whole`, compressed with gzip: the same data give the same file. Raises OSError."""
    write_whole(path, gzip.compress(data, mtime=0))
