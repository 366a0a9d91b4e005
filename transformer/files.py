"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, also after a crash.

    Raises OSError with the file's name, which a full disk does not say.
    """
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
