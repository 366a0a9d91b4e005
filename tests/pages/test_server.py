"""How the server is started: what uvicorn is told, and the socket that it listens on."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import uvicorn
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.runtime_util import get_max_widget_state_size_bytes

from pages import server
from transformer.cli import serve
from transformer.paths import app_folder


def test_no_more_of_a_message_is_read_than_streamlit_accepts() -> None:
    assert server.settings()["ws_max_size"] == get_max_widget_state_size_bytes()


def test_the_folder_pages_does_not_start_an_old_style_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """One beside the script would: the first visitor of a page would see a dialog "Page not found"."""
    monkeypatch.setattr(PagesManager, "uses_pages_directory", None)
    PagesManager(str(app_folder() / "app.py"))
    assert PagesManager.uses_pages_directory is True
    monkeypatch.setattr(PagesManager, "uses_pages_directory", None)
    PagesManager(str(app_folder() / "pages" / "app.py"))
    assert PagesManager.uses_pages_directory is False


def seen_as(peer: str, forwarded: str) -> str:
    """The address that uvicorn gives a visitor of a proxy at `peer`."""
    found: list[str] = []

    async def app(scope: Any, *_: Any) -> None:
        found.append(scope["client"][0])

    config = uvicorn.Config(app, lifespan="off", log_config=None, **server.settings())
    config.load()
    scope = {"type": "websocket", "client": (peer, 1), "headers": [(b"x-forwarded-for", forwarded.encode())]}
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, config.loaded_app(scope, None, None)).result()  # type: ignore[arg-type]
    return found[0]


def test_a_forwarded_address_counts_only_from_a_trusted_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    for proxy in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        assert seen_as(proxy, "192.0.2.7") == "192.0.2.7"
        assert seen_as(proxy, "198.51.100.1, 192.0.2.7") == "192.0.2.7"  # the first part is what the visitor claims
    for visitor in ("192.0.2.1", "172.18.0.2", "2001:db8::1"):
        assert seen_as(visitor, "192.0.2.7") == visitor
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # deploy/compose.yaml, where nothing but nginx is in the network
    assert seen_as("10.89.0.4", "192.0.2.7") == "192.0.2.7"
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "172.16.0.0/12")  # what the operator says
    assert (seen_as("172.18.0.2", "192.0.2.7"), seen_as("127.0.0.1", "192.0.2.7")) == ("192.0.2.7", "127.0.0.1")


@pytest.mark.parametrize(
    ("address", "callers"), [(None, ("127.0.0.1", "::1")), ("::", ("127.0.0.1", "::1")), ("127.0.0.1", ("127.0.0.1",))]
)
def test_connections_to_every_address_send_at_once(address: str | None, callers: tuple[str, ...]) -> None:
    if "::1" in callers and not socket.has_dualstack_ipv6():
        pytest.skip("this system has no IPv6")

    async def delayed(caller: str, listening: socket.socket) -> bool:
        """Whether a connection of asyncio's to this socket still waits before it sends."""
        found: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            option = writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            found.set_result(not option)
            writer.close()

        async with await asyncio.start_server(accepted, sock=listening.dup()):
            _, writer = await asyncio.open_connection(caller, listening.getsockname()[1])
            writer.close()
            return await found

    with ThreadPoolExecutor(1) as thread, socket.create_server(("127.0.0.1", 0)) as plain:
        assert thread.submit(asyncio.run, delayed("127.0.0.1", plain)).result()
        with serve.listen(address, 0) as listening:
            for caller in callers:
                assert not thread.submit(asyncio.run, delayed(caller, listening)).result()


def test_without_ipv6_all_other_addresses_are_listened_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "has_ipv6", False)
    with serve.listen(None, 0) as found:
        assert found.getsockname()[0] == "0.0.0.0"
