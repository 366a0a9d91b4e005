"""Tests of the workarounds for Streamlit: each first shows what Streamlit does by itself."""

import asyncio
import gc
import inspect
import logging
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import streamlit as st
from streamlit import runtime
from streamlit.components.v2.bidi_component import serialization
from streamlit.elements.widgets import text_widgets
from streamlit.proto.BidiComponent_pb2 import BidiComponent as BidiComponentProto
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.session_state import SessionState
from streamlit.testing.v1 import AppTest

from pages.frame.live import PAUSE
from pages.runtime import streamlit as workarounds
from tests.support.app import ROOT

REPLACED_PARTS = (
    (serialization, "_extract_dataframes_from_dict"), (text_widgets, "_parse_text_input_live"),
    (AppSession, "_on_scriptrunner_event"), (AppSession, "_enqueue_forward_msg"), (SessionState, "filtered_state"),
)  # fmt: skip


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit as it is before a server starts."""
    for owner, name in REPLACED_PARTS:
        found = getattr(owner, name)
        monkeypatch.setattr(owner, name, getattr(found, workarounds.REPLACED, found))


@pytest.mark.usefixtures("untouched")
def test_a_part_is_replaced_once_and_one_that_is_missing_is_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[tuple[Any, ...]] = []
    own = [getattr(owner, name) for owner, name in REPLACED_PARTS]
    monkeypatch.setattr(AppSession, "_enqueue_forward_msg", lambda session, msg: heard.append(("own", msg)))
    for _ in range(2):
        workarounds.listen_to_sessions(lambda session, msg: heard.append((session, msg)))
    AppSession._enqueue_forward_msg("session", "message")  # type: ignore[arg-type]
    assert heard == [("session", "message"), ("own", "message")] and not caplog.text
    monkeypatch.setattr(AppSession, "_enqueue_forward_msg", own[3])
    for owner, name in (
        *REPLACED_PARTS[:2],
        (AppSession, "_enqueue_forward_msg"),
        (AppSession, "_call_soon_on_event_loop"),
    ):
        monkeypatch.delattr(owner, name)
    workarounds.look_for_no_tables()
    workarounds.gather_events()
    workarounds.listen_to_sessions(lambda session, msg: None)
    workarounds.replace("streamlit.gone", "part", lambda own: own)
    assert AppSession._on_scriptrunner_event is own[2]
    assert caplog.text.count("is not known here") == 5 and "'_call_soon_on_event_loop'); the app works" in caplog.text


def test_what_uses_private_parts_does_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    session: Any = SimpleNamespace(request_rerun=asked.append)
    workarounds.run_again(session, ["large"])
    assert asked == [None] and not workarounds.is_running(session)
    monkeypatch.setattr(workarounds, "get_script_run_ctx", lambda **_: SimpleNamespace())
    monkeypatch.delattr(script_run_context, "ThreadState")
    drawn: list[str] = []
    workarounds.bound_to_page(lambda: drawn.append("drawn"))()
    assert drawn == ["drawn"] and not workarounds.went_through_history()


def test_a_run_of_a_fragment_that_is_not_there_is_ignored_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit would write what the browser calls it."""
    said: list[str] = []
    log = logging.getLogger("streamlit.runtime.app_session")
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", lambda record: said.append(record.getMessage()))
    monkeypatch.setattr(log, "handlers", [handler])
    monkeypatch.setattr(log, "filters", [])
    monkeypatch.setattr(log, "level", logging.INFO)
    monkeypatch.setattr(logging, "_logRecordFactory", logging.LogRecord)
    session: Any = mock.Mock(has_fragment=lambda name: False)
    session._fragment_storage.contains = session.has_fragment  # what 1.66 asks
    for shortened in (False, True):
        if shortened:
            workarounds.shorten_log()
        AppSession.request_rerun(session, ClientState(fragment_id="typed text"))
        log.warning("another line")
    assert [("typed text" in line, line == "another line") for line in said] == [
        (True, False), (False, True), (False, True)
    ]  # fmt: skip


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
def test_one_value_of_a_state_is_looked_up_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    state = SessionState()
    state["mine"], state["$$STREAMLIT_INTERNAL_KEY_hers"] = 1, 2
    theirs = state.filtered_state
    workarounds.look_up_single_values()
    ours: Any = state.filtered_state
    assert dict(ours) == theirs == {"mine": 1} and len(ours) == 1
    monkeypatch.setattr(SessionState, "_keys", None)  # the list of all
    assert ours["mine"] == 1 and "mine" in ours
    assert "other" not in ours and "$$STREAMLIT_INTERNAL_KEY_hers" not in ours


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


def test_garbage_is_collected_by_python_alone() -> None:
    assert st.get_option("runner.postScriptGC") in (True, False)  # the option is still there
    assert "postScriptGC = false" in (ROOT / "pages" / ".streamlit" / "config.toml").read_text(encoding="utf-8")
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
