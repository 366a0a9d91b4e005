"""What passes between a browser and Streamlit: through a gate before applications made by hand, and before Streamlit's
own answers."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from streamlit import net_util, runtime
from streamlit.file_util import get_static_dir
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server.starlette import starlette_app
from streamlit.web.server.starlette.starlette_websocket import _is_origin_allowed

from pages.runtime import gate
from pages.runtime import streamlit as workarounds
from pages.runtime.gate import EARLY, Gate, is_own_origin
from tests.attack.client import run

STYLE = "p { color: red }"


def behind(app: Any, **given: Any) -> Gate:
    settings: dict[str, Any] = {
        "style": STYLE,
        "opens": lambda key: key == "right",
        "metrics": lambda: {"ours": "ours 7\n", "more": "more 8\n"},
    }
    return Gate(app, **settings | given)


# -- requests ---------------------------------------------------------------------------------------------------------


def answer(app: Any, path: str, *headers: tuple[str, str], method: str = "GET") -> tuple[int, dict[str, str], str]:
    """Status, headers and text."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    path, _, query = path.partition("?")
    given = [(name.encode(), value.encode()) for name, value in headers]
    scope = {"type": "http", "method": method, "headers": given, "path": path, "query_string": query.encode()}
    scope |= {"asgi": {"spec_version": "2.4"}}  # an older one waits for the reader to go away
    run(app(scope, receive, send))
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], told, b"".join(message.get("body", b"") for message in sent[1:]).decode("latin-1")


def test_every_page_has_its_style_before_the_app_answers() -> None:
    own = Starlette(routes=starlette_app.create_streamlit_static_assets_routes(None))
    _, before, plain = answer(own, "/")
    assert "<style>" not in plain and answer(own, "/", ("if-none-match", before["etag"]))[0] == 304
    app = behind(own)
    for path in ("/", "/lab", "/index.html"):
        for headers in ([], [("if-none-match", before["etag"])]):  # a browser that has the page of an older server
            status, told, page = answer(app, path, *headers)
            assert (status, told["cache-control"]) == (200, "no-cache")
            assert page == plain.replace("<body>", f"<body>\n<style>{STYLE}</style>") != plain
            assert told["content-length"] == str(len(page)) and "etag" not in told
    assert answer(app, "/", ("accept-encoding", "gzip"))[1]["content-encoding"] == "gzip"
    script = f"/static/js/{next(Path(get_static_dir()).glob('static/js/index.*.js')).name}"
    status, told, _ = answer(app, script)
    assert status == 200 and "immutable" in told["cache-control"]
    assert answer(app, script, ("if-none-match", told["etag"]))[0] == 304


def test_metrics_are_answered_only_with_the_key() -> None:
    asked: list[str] = []

    def theirs(request: Any) -> PlainTextResponse:
        asked.append(request.headers.get("accept", ""))
        return PlainTextResponse("theirs 1\n# EOF\n")

    app = behind(Starlette(routes=[Route("/_stcore/metrics", theirs, methods=["GET"])]))

    def metrics(params: str = "", method: str = "GET", bearer: str = "") -> tuple[int, str]:
        headers = [("authorization", bearer)] if bearer else []
        status, told, text = answer(app, f"/_stcore/metrics?{params}", ("accept", "x"), *headers, method=method)
        assert int(told["content-length"]) == len(text)
        return status, text

    refused = (404, "Not Found")
    assert (
        metrics() == metrics("key=wrong") == metrics(bearer="Bearer wrong") == metrics(bearer="Basic right") == refused
    )
    assert metrics(method="OPTIONS") == metrics(method="HEAD") == refused and not asked
    found = (200, "theirs 1\nours 7\nmore 8\n# EOF\n")
    assert metrics("key=right") == metrics(bearer="Bearer right") == found and asked == ["", ""]
    assert metrics("key=right&families=ours&families=another") == (200, "theirs 1\nours 7\n# EOF\n")


# -- websockets -------------------------------------------------------------------------------------------------------


def passed_on(*messages: bytes, **given: Any) -> list[bytes]:
    """What an application behind the gate receives of a browser's messages. It starts the session "a" first."""
    received: list[bytes] = []
    events = [{"type": "websocket.receive", "bytes": data} for data in messages]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        start = ForwardMsg()
        start.new_session.initialize.session_id = "a"
        await send({"type": "websocket.send", "bytes": ForwardMsg(script_finished=0).SerializeToString()})
        await send({"type": "websocket.send", "bytes": start.SerializeToString()})
        while (event := await receive())["type"] == "websocket.receive":
            received.append(event["bytes"])

    async def receive() -> Any:
        return events.pop(0) if events else {"type": "websocket.disconnect"}

    async def send(message: Any) -> None:
        pass

    run(behind(app, **given)({"type": "websocket", "path": "/_stcore/stream", "headers": []}, receive, send))
    return received


class Session:
    _scriptrunner = None

    def __init__(self) -> None:
        self.session_state = {"held": 1}


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """A server with the session "a", which is over when its websocket ends."""
    found = SimpleNamespace(active=False, sessions={"a": Session()}, closed=[])
    found.get_app_session, found.close_session = found.sessions.get, found.closed.append
    found.is_active_session = lambda name: found.active
    monkeypatch.setattr(runtime, "get_instance", lambda: found)
    monkeypatch.setattr(workarounds.SERVER, "sessions", {})
    yield found


def test_only_messages_that_pages_send_are_passed_on() -> None:
    """Every kind that Streamlit knows is decided on; those that it adds are ignored until somebody needs them."""
    kinds = {field.name: field for field in BackMsg.DESCRIPTOR.oneofs_by_name["type"].fields}
    operations = BackMsg().backend_operation_request.DESCRIPTOR.oneofs_by_name["payload"].fields
    sent = [b"", b"\xff no message"]
    for name, field in kinds.items():
        one = BackMsg()
        if field.message_type is None:
            setattr(one, name, True)
        else:
            getattr(one, name).SetInParent()
        sent.append(one.SerializeToString())
    for field in operations:
        one = BackMsg()
        getattr(one.backend_operation_request, field.name).SetInParent()
        sent.append(one.SerializeToString())
    first, *others = passed_on(*sent)
    assert first == b"\xff no message"  # Streamlit ends the connection
    found = sorted(str(BackMsg.FromString(one).WhichOneof("type")) for one in others)
    assert found == ["app_heartbeat", "backend_operation_request", "rerun_script", "stop_script"]
    assert {"clear_cache", "load_git_info", "set_run_on_save", "file_urls_request"} < set(kinds)
    assert {"install_skills", "deferred_file"} < {field.name for field in operations}


@pytest.mark.parametrize(
    "url, kept",
    [("http://[", ""), ("http://a:b:c/", ""), ("http://a:99999999/", ""), ("https://a:80/lab", "https://a:80/lab")],
)
def test_an_address_that_cannot_be_read_is_not_kept(url: str, kept: str) -> None:
    asked = BackMsg()
    asked.rerun_script.context_info.url, asked.rerun_script.query_string = url, "a=1"
    (data,) = passed_on(asked.SerializeToString())
    found = BackMsg.FromString(data).rerun_script
    assert (found.context_info.url, found.query_string) == (kept, "a=1")


def test_messages_that_are_held_are_not_passed_on(server: SimpleNamespace) -> None:
    heard: list[Any] = []

    def hold(session: Any, message: BackMsg) -> bool:
        heard.append(session)
        message.rerun_script.query_string += "!"
        return message.rerun_script.query_string == "a!"

    sent = [BackMsg(), BackMsg()]
    sent[0].rerun_script.query_string, sent[1].rerun_script.query_string = "a", "b"
    (data,) = passed_on(*(one.SerializeToString() for one in sent), hold=hold)
    assert BackMsg.FromString(data).rerun_script.query_string == "b!" and heard == [server.sessions["a"]] * 2


@pytest.mark.parametrize("comes_back", [False, True])
def test_a_session_ends_some_time_after_its_page(
    comes_back: bool, server: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamlit ends it when the next page goes, and keeps what it held until another session is served."""
    seen: list[int] = []
    monkeypatch.setattr(st, "get_option", {"server.enableCORS": True, "server.disconnectedSessionTTL": EARLY + 0.1}.get)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        start = ForwardMsg()
        start.new_session.initialize.session_id = "a"
        await send({"type": "websocket.send", "bytes": start.SerializeToString()})
        seen.append(workarounds.viewers())
        server.active = len(seen) == 2  # another websocket has taken the session over

    async def nothing(*_: Any) -> None:
        pass

    async def visit() -> None:
        gate = behind(app)
        for _ in range(1 + comes_back):
            await gate({"type": "websocket", "path": "/_stcore/stream", "headers": []}, nothing, nothing)
        await asyncio.sleep(0.3)

    run(visit())
    assert seen == [1] * (1 + comes_back)
    assert workarounds.viewers() == comes_back and server.closed == ["a"] * (not comes_back)
    assert server.sessions["a"].session_state == ({"held": 1} if comes_back else {})
    workarounds._ended.clear()


def test_the_origins_are_those_that_streamlit_lets_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(net_util, "_external_ip", "")
    own = [
        "localhost:9",
        "0.0.0.0",
        "127.0.0.1:80",
        f"{net_util.get_internal_ip()}:9",
        "school.example",
        "evil.example",
    ]
    for host in own:
        for scheme in ("http", "https"):
            origin = f"{scheme}://{host}"
            expected = host != "evil.example"
            assert is_own_origin(origin, "school.example") is _is_origin_allowed(origin, "school.example") is expected
    assert is_own_origin(None, "a") and not is_own_origin("https://school.example:9", "school.example")
    assert not any(is_own_origin(origin, "a") for origin in ("null", "file://", "http://["))
    options: dict[str, Any] = {"server.enableCORS": True, "server.corsAllowedOrigins": ["https://lms.example"]}
    monkeypatch.setattr(gate.st, "get_option", options.get)
    assert is_own_origin("https://lms.example:9", "a") and not is_own_origin("https://evil.example", "a")
    options["server.enableCORS"] = False
    assert is_own_origin("https://evil.example", "a")
