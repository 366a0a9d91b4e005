"""What this process writes to disk, seen through Python's audit events; outside of one folder it is refused."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
PATH_ARGUMENTS = {  # event -> which of its arguments are paths of what changes
    "os.mkdir": (0,), "os.rename": (0, 1), "os.remove": (0,), "os.rmdir": (0,), "os.link": (1,), "os.symlink": (1,),
    "os.truncate": (0,), "os.chmod": (0,), "os.chown": (0,), "os.utime": (0,), "os.setxattr": (0,),
}  # fmt: skip
PROCESSES = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty")
UNWATCHED = ("/dev/null", "/proc/", "/dev/tty", "/dev/shm/")  # the last is memory

_watching: list[Watch] = []


class Watch:
    """found: (event, path) of what was written, or tried to be. allowed: a folder in which that may happen."""

    def __init__(self, allowed: Path | None) -> None:
        self.allowed = os.path.realpath(allowed) if allowed is not None else None
        self.found: list[tuple[str, str]] = []

    def see(self, event: str, path: Any, folder: int = -1) -> None:
        """folder: the descriptor of the one that the path begins in; -1: the current one."""
        if isinstance(path, int) or path is None:  # a descriptor: its opening was seen
            return
        name = os.path.abspath(
            os.path.join(os.readlink(f"/proc/self/fd/{folder}") if folder >= 0 else "", os.fsdecode(path))
        )
        if name.startswith(UNWATCHED) or (self.allowed and (name + os.sep).startswith(self.allowed + os.sep)):
            return
        self.found.append((event, name))
        raise PermissionError(errno.EACCES, "the test lets nobody write here", name)


def _hook(event: str, given: tuple[Any, ...]) -> None:
    if not _watching:
        return
    watch = _watching[-1]
    if event == "open":
        path, mode, flags = given
        if (isinstance(mode, str) and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & WRITING):
            watch.see(event, path)
    elif event in PATH_ARGUMENTS:
        for place in PATH_ARGUMENTS[event]:
            watch.see(event, given[place], given[-1] if event in ("os.mkdir", "os.remove", "os.rmdir") else -1)
    elif event in PROCESSES:
        watch.found.append((event, repr(given[:2])))
        raise PermissionError(errno.EACCES, "the test lets nobody start a process")


_hooked = False


@contextmanager
def watched(allowed: Path | None = None) -> Iterator[Watch]:
    """Nothing is written meanwhile but in the folder `allowed`, and no process started; what tried to is in `found`.

    An audit hook cannot be taken away again; outside of `watched` it does nothing.
    """
    global _hooked
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked = True
    watch = Watch(allowed)
    _watching.append(watch)
    try:
        yield watch
    finally:
        _watching.remove(watch)
