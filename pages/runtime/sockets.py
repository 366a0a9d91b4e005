"""The server's sockets, made to send at once."""

from __future__ import annotations

import contextlib
import os
import socket
import stat

OPEN_FILES = "/dev/fd"  # Linux, macOS, BSD; Windows has no such list, and keeps its way of sending


def send_at_once() -> None:
    """Switch Nagle's algorithm off on every TCP socket of this process; connections accepted later inherit it.

    asyncio does so itself for the sockets it makes, but Streamlit 1.67 makes its own, with protocol number 0, which
    asyncio does not take for TCP. Left on, the second of two small messages waits until the browser acknowledges the
    first, and a browser delays that: measured on Linux, 40 ms of every click.
    """
    if not os.path.isdir(OPEN_FILES):
        return
    for name in os.listdir(OPEN_FILES):
        with contextlib.suppress(OSError):  # closed since it was listed
            number = int(name)
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                with socket.socket(fileno=os.dup(number)) as found:
                    if found.family in (socket.AF_INET, socket.AF_INET6) and found.type == socket.SOCK_STREAM:
                        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
