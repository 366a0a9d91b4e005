"""Tests of the workarounds for Streamlit: each first shows what Streamlit does by itself."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import streamlit as st
from streamlit import net_util, runtime
from streamlit.file_util import get_static_dir
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.testing.v1 import AppTest
from streamlit.web.server.starlette.starlette_server import _bind_socket

from pages.runtime import streamlit as workarounds
from tests.support.app import ROOT


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit as it is before a server starts."""
    monkeypatch.setattr(PagesManager, "uses_pages_directory", None)
    monkeypatch.setattr(net_util, "_external_ip", None)


@pytest.mark.usefixtures("untouched")
def test_the_folder_pages_does_not_start_an_old_style_app(monkeypatch: pytest.MonkeyPatch) -> None:
    PagesManager(str(ROOT / "app.py"))
    assert PagesManager.uses_pages_directory is True
    monkeypatch.setattr(PagesManager, "uses_pages_directory", None)
    workarounds.prepare_server()
    PagesManager(str(ROOT / "app.py"))
    assert PagesManager.uses_pages_directory is False


@pytest.mark.usefixtures("untouched")
def test_no_web_service_is_asked_for_the_public_address(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(net_util, "_make_blocking_http_get", lambda url, **_: asked.append(url))
    net_util.get_external_ip()
    assert asked
    monkeypatch.setattr(net_util, "_external_ip", None)
    asked.clear()
    workarounds.prepare_server()
    assert net_util.get_external_ip() == "" and not asked


@pytest.mark.skipif(not os.path.isdir(workarounds.OPEN_FILES), reason="this system does not list a process's files")
def test_connections_accepted_later_send_at_once() -> None:
    def delayed(server: socket.socket) -> bool:
        """Whether a connection of asyncio's to this socket still waits before it sends."""

        async def connected() -> bool:
            found: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

            def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                option = writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                found.set_result(not option)
                writer.close()

            serving = await asyncio.start_server(accepted, sock=server.dup())
            async with serving:
                _, writer = await asyncio.open_connection(*server.getsockname()[:2])
                writer.close()
                return await found

        with ThreadPoolExecutor(1) as thread:  # this one may hold the event loop of a browser's tests
            return thread.submit(asyncio.run, connected()).result()

    with _bind_socket("127.0.0.1", 0, 5) as server:
        assert delayed(server)
        workarounds.send_at_once()
        assert not delayed(server)


def test_garbage_is_collected_by_python_alone() -> None:
    assert st.get_option("runner.postScriptGC") in (True, False)  # the option is still there
    assert "postScriptGC = false" in (ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8")
    workarounds.shorten_garbage_collection.cache_clear()
    frozen = gc.get_freeze_count()
    workarounds.shorten_garbage_collection()
    assert gc.get_freeze_count() > frozen
    gc.unfreeze()


def test_a_session_without_a_server_counts_as_connected_and_others_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert workarounds.session_id() == "" and workarounds.is_connected("x")

    class Server:
        is_active_session = staticmethod(lambda session: session == "here")

    assert callable(runtime.Runtime.is_active_session)
    monkeypatch.setattr(runtime, "exists", lambda: True)
    monkeypatch.setattr(runtime, "get_instance", Server)
    assert workarounds.is_connected("here") and not workarounds.is_connected("gone")


def test_the_fragment_that_asks_for_a_run_after_a_lost_connection_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """That a browser then asks for one: tests/browser/test_replicas.py."""
    sent: list[str] = []
    enqueue = ScriptRunContext.enqueue
    monkeypatch.setattr(
        ScriptRunContext, "enqueue", lambda self, msg: (sent.append(msg.WhichOneof("type")), enqueue(self, msg))[1]
    )

    def script() -> None:
        from pages.runtime.streamlit import rerun_after_reconnect

        rerun_after_reconnect()

    assert not AppTest.from_function(script).run().exception
    assert "auto_rerun" in sent


def test_the_hidden_chart_brings_plotly_from_streamlit_s_own_files() -> None:
    def script() -> None:
        from pages.runtime.streamlit import load_plotly

        load_plotly()

    app = AppTest.from_function(script).run()
    assert not app.exception and len(app.get("plotly_chart")) == 1
    assert list(Path(get_static_dir()).glob("static/js/PlotlyChart.*.js"))


def test_widgets_drawn_last_belong_to_their_page() -> None:
    def script() -> None:
        import streamlit as st
        from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

        from pages.runtime.streamlit import bound_to_page

        elements = []

        def look() -> None:
            elements.append(ThreadState.get().active_script_hash)

        def page() -> None:
            look()
            elements.append(bound_to_page(look))

        st.navigation([st.Page(page)]).run()
        within, later = elements
        look()
        later()
        st.session_state["found"] = [within, *elements[2:]]

    app = AppTest.from_function(script).run()
    assert not app.exception
    page, outside, later = app.session_state["found"]
    assert later == page != outside
