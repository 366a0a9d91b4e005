"""Tests of the workarounds for Streamlit: each first shows what Streamlit does by itself."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import socket
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
import streamlit as st
import uvicorn
from starlette.applications import Starlette
from streamlit import config, net_util, runtime
from streamlit.components.v2.bidi_component import serialization
from streamlit.elements import html
from streamlit.elements.widgets import text_widgets
from streamlit.file_util import get_static_dir
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.BidiComponent_pb2 import BidiComponent as BidiComponentProto
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import NewSession
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.runtime_util import get_max_message_size_bytes, get_max_widget_state_size_bytes
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state import SessionState
from streamlit.runtime.stats import GaugeStat, StatsManager
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager
from streamlit.testing.v1 import AppTest
from streamlit.web.server.starlette import starlette_app, starlette_server
from streamlit.web.server.starlette.starlette_server import _bind_socket, _get_uvicorn_config_kwargs

from pages.frame.live import PAUSE
from pages.runtime import streamlit as workarounds
from tests.support.app import ROOT

HANDLE = inspect.unwrap(AppSession.handle_backmsg)  # Streamlit's own, also after another test started a server


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit as it is before a server starts."""
    monkeypatch.setattr(PagesManager, "uses_pages_directory", None)
    monkeypatch.setattr(AppSession, "handle_backmsg", HANDLE)
    monkeypatch.setattr(starlette_server, "get_max_message_size_bytes", get_max_message_size_bytes)
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "")
    monkeypatch.delenv("FORWARDED_ALLOW_IPS")
    monkeypatch.setattr(net_util, "_external_ip", None)
    original = inspect.unwrap(starlette_app.create_metrics_routes)
    monkeypatch.setattr(starlette_app, "create_metrics_routes", original)
    original = inspect.unwrap(starlette_app.create_streamlit_static_assets_routes)
    monkeypatch.setattr(starlette_app, "create_streamlit_static_assets_routes", original)
    monkeypatch.setattr(SessionState, "filtered_state", workarounds._whole_state)
    monkeypatch.setattr(app_session, "_populate_theme_msg", inspect.unwrap(app_session._populate_theme_msg))
    monkeypatch.setattr(AppSession, "_on_scriptrunner_event", inspect.unwrap(AppSession._on_scriptrunner_event))
    monkeypatch.setattr(sys, "setswitchinterval", lambda _: None)


@pytest.mark.usefixtures("untouched")
def test_a_menu_looks_up_one_value_of_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit's own reads every value for it; what is found is the same."""

    def script() -> None:
        import streamlit as st

        st.session_state["own"] = [1]
        st.session_state.setdefault("menu", None)
        st.selectbox("menu", ["a", "b"], key="menu")
        st.selectbox("other", ["c"], key="other")
        st.text_input("without a key")

    def looked_up() -> tuple[dict[str, Any], set[str]]:
        read: list[str] = []
        own = SessionState.__getitem__
        monkeypatch.setattr(SessionState, "__getitem__", lambda state, key: read.append(key) or own(state, key))
        app = AppTest.from_function(script).run()
        monkeypatch.setattr(SessionState, "__getitem__", own)
        return dict(app.session_state.items()), {key for key in read if key in ("own", "menu", "other")}

    everything, read = looked_up()
    assert everything == {"own": [1], "menu": None, "other": "c"} and read == {"own", "menu", "other"}
    workarounds.look_up_single_values()
    found, read = looked_up()
    assert found == everything and read == {"menu", "other"}


class FakeSession:
    """What of a session takes the events of a script; event 3 fails."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []
        self.handled: list[object] = []
        self._call_soon_on_event_loop = self.calls.append

    def _handle_scriptrunner_event_on_event_loop(self, sender: None, event: int, *_: object) -> None:
        if event == 3:
            raise ValueError
        self.handled.append(event)


@pytest.mark.usefixtures("untouched")
def test_the_servers_thread_takes_all_events_of_a_script_at_once() -> None:
    def sent() -> tuple[int, list[object]]:
        session, other = FakeSession(), FakeSession()
        on_event: Any = AppSession._on_scriptrunner_event

        async def main() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)
            for events in ((1, 2), (3, 4)):
                begin = len(session.calls)
                for event in events:
                    on_event(session, None, event)
                    on_event(other, None, event)
                for call in session.calls[begin:]:
                    asyncio.get_running_loop().call_soon(call)
                await asyncio.sleep(0)

        with ThreadPoolExecutor(1) as thread:  # this one may hold the event loop of a browser's tests
            thread.submit(lambda: asyncio.run(main())).result()
        assert not other.handled
        return len(session.calls), session.handled

    assert sent() == (4, [1, 2, 4])
    workarounds.gather_events()
    assert sent() == (2, [1, 2, 4])


@pytest.mark.usefixtures("untouched")
def test_the_theme_is_read_once_and_sent_with_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def sent() -> list[bytes]:
        session = NewSession()
        app_session._populate_theme_msg(session.custom_theme)
        app_session._populate_theme_msg(session.custom_theme.dark, "theme.dark")
        return [session.SerializeToString()]

    read: list[str] = []
    own = config.get_options_for_section
    monkeypatch.setattr(config, "get_options_for_section", lambda section: read.append(section) or own(section))
    theirs = sent() + sent()
    assert theirs[0] == theirs[1] != b"" and len(read) == 4
    read.clear()
    workarounds.read_theme_once()
    assert sent() + sent() == theirs and read == ["theme", "theme.dark"]


@pytest.mark.usefixtures("untouched")
def test_components_are_sent_their_data_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = [text_widgets._parse_text_input_live(live) for live in (PAUSE, False)]
    data = {"text": "a", "numbers": [1, 2.5, None], "nested": {"b": True}}
    theirs = BidiComponentProto()
    serialization.serialize_mixed_data(data, theirs)
    monkeypatch.setattr(serialization, "_extract_dataframes_from_dict", None)
    monkeypatch.setattr(text_widgets, "_parse_text_input_live", None)
    workarounds.look_for_no_tables()
    monkeypatch.setitem(sys.modules, "pandas", None)  # importing it fails
    ours = BidiComponentProto()
    serialization.serialize_mixed_data(data, ours)
    assert ours == theirs
    assert [text_widgets._parse_text_input_live(live) for live in (PAUSE, False)] == pauses == [400, None]


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


@pytest.mark.usefixtures("untouched")
def test_no_more_of_a_message_is_read_than_is_accepted() -> None:
    def read() -> object:
        return _get_uvicorn_config_kwargs()["ws_max_size"]

    assert read() == 200_000_000
    workarounds.prepare_server()
    assert read() == get_max_widget_state_size_bytes() == 25_000_000


def test_no_visitor_empties_the_caches(untouched: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With Streamlit's own handler: it empties every cache of the process and the session's state."""
    made: list[int] = []

    @st.cache_resource
    def resource() -> int:
        made.append(1)
        return len(made)

    session = AppSession.__new__(AppSession)
    session._session_state = SessionState()
    session._session_state["kept"] = 7
    monkeypatch.setattr(AppSession, "__del__", lambda _: None)  # there is nothing to shut down
    emptied = BackMsg(clear_cache=True)
    assert resource() == 1
    workarounds.take_only_needed_messages()
    for _ in range(10):
        session.handle_backmsg(emptied)
    assert resource() == 1 and session._session_state["kept"] == 7
    HANDLE(session, emptied)
    assert resource() == 2 and "kept" not in session._session_state


def test_only_messages_that_pages_send_are_handled(untouched: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kind that Streamlit knows is decided on; those that it adds are ignored until somebody needs them."""
    handled: list[str] = []
    monkeypatch.setattr(AppSession, "handle_backmsg", lambda _, msg: handled.append(msg.WhichOneof("type")))
    for _ in range(2):  # a second call changes nothing
        workarounds.take_only_needed_messages()
    session: Any = SimpleNamespace()
    kinds = {field.name: field for field in BackMsg.DESCRIPTOR.oneofs_by_name["type"].fields}
    for name, field in kinds.items():
        message = BackMsg()
        if field.message_type is None:
            setattr(message, name, True)
        else:
            getattr(message, name).SetInParent()
        AppSession.handle_backmsg(session, message)
    operations = BackMsg().backend_operation_request.DESCRIPTOR.oneofs_by_name["payload"].fields
    for field in operations:
        message = BackMsg()
        getattr(message.backend_operation_request, field.name).SetInParent()
        AppSession.handle_backmsg(session, message)
    AppSession.handle_backmsg(session, BackMsg())
    assert sorted(handled) == ["app_heartbeat", "backend_operation_request", "rerun_script", "stop_script"]
    assert {"clear_cache", "load_git_info", "set_run_on_save", "file_urls_request"} < set(kinds)
    assert {"install_skills", "deferred_file"} < {field.name for field in operations}


@pytest.mark.parametrize(
    "url, kept",
    [("http://[", ""), ("http://a:b:c/", ""), ("http://a:99999999/", ""), ("https://a:80/lab", "https://a:80/lab")],
)
def test_an_address_that_cannot_be_read_is_not_kept(
    untouched: None, monkeypatch: pytest.MonkeyPatch, url: str, kept: str
) -> None:
    handled: list[BackMsg] = []
    monkeypatch.setattr(AppSession, "handle_backmsg", lambda _, msg: handled.append(msg))
    workarounds.take_only_needed_messages()
    message = BackMsg()
    message.rerun_script.context_info.url = url
    AppSession.handle_backmsg(SimpleNamespace(), message)  # type: ignore[arg-type]
    assert handled[0].rerun_script.context_info.url == kept


def test_a_run_of_a_fragment_that_is_not_there_is_ignored_without_a_word(
    untouched: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    handled: list[str] = []
    monkeypatch.setattr(AppSession, "handle_backmsg", lambda _, msg: handled.append(msg.rerun_script.fragment_id))
    workarounds.take_only_needed_messages()
    for fragment in ("there", "typed text", ""):
        message = BackMsg()
        message.rerun_script.fragment_id = fragment
        AppSession.handle_backmsg(SimpleNamespace(has_fragment=lambda name: name == "there"), message)  # type: ignore[arg-type]
    assert handled == ["there", ""]


def seen_as(peer: str, forwarded: str) -> str:
    """The address that uvicorn, as Streamlit configures it, gives a visitor of a proxy at `peer`."""
    found: list[str] = []

    async def app(scope: Any, *_: Any) -> None:
        found.append(scope["client"][0])

    config = uvicorn.Config(app, lifespan="off", log_config=None, **_get_uvicorn_config_kwargs())
    config.load()
    scope = {"type": "websocket", "client": (peer, 1), "headers": [(b"x-forwarded-for", forwarded.encode())]}
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, config.loaded_app(scope, None, None)).result()  # type: ignore[arg-type]
    return found[0]


@pytest.mark.usefixtures("untouched")
def test_a_forwarded_address_counts_only_from_a_trusted_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seen_as("::ffff:127.0.0.1", "192.0.2.7") == "::ffff:127.0.0.1"  # what a server sees that listens on "::"
    workarounds.prepare_server()
    for proxy in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        assert seen_as(proxy, "192.0.2.7") == "192.0.2.7"
        assert seen_as(proxy, "198.51.100.1, 192.0.2.7") == "192.0.2.7"  # the first part is what the visitor claims
    for visitor in ("192.0.2.1", "172.18.0.2", "2001:db8::1"):
        assert seen_as(visitor, "192.0.2.7") == visitor
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # deploy/compose.yaml, where nothing but nginx is in the network
    workarounds.prepare_server()
    assert seen_as("10.89.0.4", "192.0.2.7") == "192.0.2.7"
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "172.16.0.0/12")  # what the operator says
    workarounds.prepare_server()
    assert (seen_as("172.18.0.2", "192.0.2.7"), seen_as("127.0.0.1", "192.0.2.7")) == ("192.0.2.7", "127.0.0.1")


class Families:
    """A provider of one figure."""

    stats_families = ("ours",)

    def get_stats(self, family_names: Any = None) -> dict[str, list[GaugeStat]]:
        return {"ours": [GaugeStat("ours", 7)]}


def answered(ask: Callable[[Any, Any], Coroutine[Any, Any, None]]) -> list[Any]:
    """The messages that an application sends, which `ask` calls with what receives and sends."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, ask(receive, send)).result()
    return sent


def metrics_answer(method: str = "GET", bearer: str = "", **params: str) -> tuple[int, str]:
    """Status and text of Streamlit's address for metrics, of a server that starts now."""

    async def ask(receive: Any, send: Any) -> None:
        server: Any = SimpleNamespace(stats_mgr=StatsManager())
        headers = [(b"authorization", bearer.encode())] if bearer else []
        routes = starlette_app.create_metrics_routes(server, None)
        found = [route for route in routes if method in route.methods]  # type: ignore[attr-defined]
        scope = {"type": "http", "method": method, "headers": headers, "path": found[0].path,  # type: ignore[attr-defined]
                 "query_string": urlencode(params).encode()}  # fmt: skip
        await found[0].handle(scope, receive, send)

    sent = answered(ask)
    return sent[0]["status"], sent[1]["body"].decode()


@pytest.mark.usefixtures("untouched")
def test_metrics_are_answered_only_with_the_key() -> None:
    assert metrics_answer() == (200, "# EOF\n")  # Streamlit tells everybody
    for _ in range(2):  # a second call changes nothing
        workarounds.guard_metrics(lambda given: given == "right", Families())  # type: ignore[arg-type]
    refused = (404, "Not Found")
    assert metrics_answer() == metrics_answer(key="wrong") == metrics_answer(bearer="Bearer wrong") == refused
    assert metrics_answer("OPTIONS") == metrics_answer("HEAD") == metrics_answer(bearer="Basic right") == refused
    for found in (metrics_answer(key="right"), metrics_answer(bearer="Bearer right")):
        assert found[0] == 200 and found[1].count("ours 7\n") == 1
    assert metrics_answer(key="right", families="others") == (200, "# EOF\n")


def page_answer(path: str, *headers: tuple[str, str]) -> tuple[int, dict[str, str], str]:
    """Status, headers and text of a file of Streamlit's, of a server that starts now."""

    async def ask(receive: Any, send: Any) -> None:
        app = Starlette(routes=starlette_app.create_streamlit_static_assets_routes(None))
        given = [(name.encode(), value.encode()) for name, value in headers]
        scope = {"type": "http", "method": "GET", "headers": given, "path": path, "query_string": b""}
        scope |= {"asgi": {"spec_version": "2.4"}}  # an older one waits for the reader to go away
        await app(scope, receive, send)

    sent = answered(ask)
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], told, b"".join(message.get("body", b"") for message in sent[1:]).decode()


@pytest.mark.usefixtures("untouched")
def test_every_page_has_its_style_before_the_app_answers() -> None:
    _, before, plain = page_answer("/")
    assert "<style>" not in plain and page_answer("/", ("if-none-match", before["etag"]))[0] == 304
    for _ in range(2):  # a second call changes nothing
        workarounds.style_first_page("p { color: red }")
    for path in ("/", "/lab", "/index.html"):
        for headers in ([], [("if-none-match", before["etag"])]):  # a browser that has the page of an older server
            status, told, page = page_answer(path, *headers)
            assert (status, told["cache-control"]) == (200, "no-cache")
            assert page == plain.replace("<body>", "<body>\n<style>p { color: red }</style>") != plain
    script = f"/static/js/{next(Path(get_static_dir()).glob('static/js/index.*.js')).name}"
    status, told, _ = page_answer(script)
    assert status == 200 and "immutable" in told["cache-control"]
    assert page_answer(script, ("if-none-match", told["etag"]))[0] == 304


def test_viewers_are_open_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert workarounds.viewers() == 0  # without a server
    manager = WebsocketSessionManager.__new__(WebsocketSessionManager)
    manager._active_session_info_by_id = {"one": None, "two": None}  # type: ignore[dict-item]
    monkeypatch.setattr(runtime, "exists", lambda: True)
    monkeypatch.setattr(runtime, "get_instance", lambda: SimpleNamespace(_session_mgr=manager))
    assert workarounds.viewers() == 2


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:127.0.0.1", ""),
        ("127.0.0.1", ""),
        (None, ""),
        ("no address", ""),
    ],
)
def test_the_network_of_a_viewer(address: str | None, network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(st.context), "ip_address", property(lambda _: address))
    assert workarounds.viewer_network() == network


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


def test_a_session_that_the_server_runs_keeps_its_widgets_and_its_large_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = inspect.getsource(AppSession)
    for name in ("_scriptrunner", "_client_state", "_browser_queue", "_enqueue_forward_msg", "handle_backmsg"):
        assert f"self.{name}" in source or f"def {name}" in source
    assert "_client_state" in inspect.getsource(AppSession._handle_scriptrunner_event_on_event_loop)
    asked: list[ClientState] = []
    queue = ForwardMsgQueue()
    session: Any = SimpleNamespace(
        _client_state=ClientState(query_string="a=1"), _scriptrunner=None, _browser_queue=queue,
        request_rerun=asked.append,
    )  # fmt: skip
    assert not workarounds.is_running(session)
    queue.enqueue(ForwardMsg())
    assert workarounds.is_running(session)  # what it says is still on its way
    workarounds.run_again(session, ["large"])
    workarounds.move(session, "page", "b=2")
    workarounds.run_again(session, [])
    told = [(one.page_script_hash, one.query_string, list(one.cached_message_hashes)) for one in asked]
    assert told == [("", "a=1", ["large"]), ("page", "b=2", [])]


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


def test_a_block_that_is_drawn_again_is_the_one_that_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def script() -> None:
        import streamlit as st

        from pages.runtime.streamlit import draw_again

        def draw() -> None:
            st.session_state["draws"] = st.session_state.get("draws", 0) + 1
            st.markdown("first")
            st.popover("menu").markdown("second")

        if st.session_state.get("lower"):
            st.markdown("above")  # the block is at another place
        draw_again("name", st.container(), draw)
        st.markdown("after")

    monkeypatch.setattr(workarounds, "_drawn", {})
    monkeypatch.setattr(workarounds, "DRAWN", 2)
    app = AppTest.from_function(script).run()
    for lower, draws in ((False, 1), (True, 2), (True, 2), (False, 2)):
        app.session_state["lower"] = lower
        app.run()
        texts = [one.value for one in app.markdown]
        assert texts == ["above"] * lower + ["first", "second", "after"] and app.session_state["draws"] == draws
    another = AppTest.from_function(script).run()
    assert [one.value for one in another.markdown] == ["first", "second", "after"]
    assert "draws" not in another.session_state and len(workarounds._drawn) <= workarounds.DRAWN


def test_html_is_cleaned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    for name in ("_is_file", "clean_text", "_html_only_style_tags"):
        real = inspect.unwrap(getattr(html, name))
        monkeypatch.setattr(html, name, lambda text, name=name, real=real: (looked.append(name), real(text))[1])
    workarounds.clean_html_once()

    def script() -> None:
        import streamlit

        streamlit.html("<style>p { color: red }</style>")
        streamlit.html("  <p>text</p>")

    drawn = []
    for _ in range(2):
        app = AppTest.from_function(script).run()
        assert not app.exception
        drawn.append([element.proto.body for element in app.get("html")])
    assert drawn[0] == drawn[1] and "<p>text</p>" in drawn[0]
    assert sorted(looked) == [
        "_html_only_style_tags",
        "_html_only_style_tags",
        "_is_file",
        "_is_file",
        *["clean_text"] * 2,
    ]
