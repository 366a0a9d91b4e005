"""The server's sockets."""

from __future__ import annotations

import os
import socket

import pytest

from pages.runtime.sockets import OPEN_FILES, send_at_once


@pytest.mark.skipif(not os.path.isdir(OPEN_FILES), reason="this system does not list a process's open files")
def test_connections_accepted_later_send_at_once() -> None:
    with socket.socket() as server, socket.socket() as browser:
        server.bind(("127.0.0.1", 0))
        server.listen()
        send_at_once()
        browser.connect(server.getsockname())
        accepted, _ = server.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
