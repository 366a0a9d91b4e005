"""The gate: everything between a browser and Streamlit passes through this ASGI middleware.

It lets in websockets of the app's own pages and, of their messages, those that the pages send; gives every page its
style sheet before the app has answered; and keeps the metrics for the operator.
"""

import asyncio
import logging
import weakref
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs, urlsplit

import streamlit as st
from google.protobuf.message import DecodeError
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession

from pages.runtime.streamlit import SERVER, end_session, machine_address

# Messages that a page of this app sends. Streamlit knows others: `clear_cache` empties the caches of all viewers,
# `load_git_info` runs git and tells the branch and the changed files, `file_urls_request` prepares uploads.
MESSAGES = frozenset({"rerun_script", "stop_script", "app_heartbeat", "backend_operation_request"})
OPERATIONS = frozenset({"deferred_file"})  # a download; the others write files, or send tables that no page has
METRICS = "/_stcore/metrics"
EARLY = 1.0  # seconds by which a session ends before Streamlit forgets it, at some later time, without ending it
END = "# EOF\n"  # the last line of metrics
_LOG = logging.getLogger("headscope")


def is_own_origin(origin: str | None, host: str | None) -> bool:
    """Whether Streamlit would let in a websocket of a page with this origin. For any other one it would first ask a web
    service for the machine's public address, while everybody waits.

    host: the one that the websocket calls. Programs that are no browser name no origin.
    """
    if origin is None or not st.get_option("server.enableCORS"):
        return True
    trusted = {urlsplit(str(url)).hostname for url in st.get_option("server.corsAllowedOrigins")}
    own = {"localhost", "127.0.0.1", "0.0.0.0", st.get_option("browser.serverAddress"), machine_address(), *trusted}
    try:
        url = urlsplit(origin)
        return url.netloc == host or (url.hostname is not None and url.hostname in own)
    except ValueError:
        return False


def allowed_message(data: bytes) -> BackMsg | None:
    """A message from a browser as Streamlit gets it, without an address that cannot be read; None for one that no page
    sends. Raises DecodeError for what is no message."""
    message = BackMsg.FromString(data)
    kind, operation = message.WhichOneof("type"), message.backend_operation_request.WhichOneof("payload")
    if kind not in MESSAGES or (kind == "backend_operation_request" and operation not in OPERATIONS):
        return None
    try:
        _ = urlsplit(message.rerun_script.context_info.url).port  # read only when it is asked for
    except ValueError:
        message.rerun_script.context_info.url = ""
    return message


def is_page(path: str) -> bool:
    """Whether Streamlit may answer with its page, which it does for every address that it does not know."""
    name = path.rpartition("/")[2]
    return "." not in name or name == "index.html"


class Gate:
    """style: the style sheet that every page has from the start; opens: whether a key is the operator's; metrics: the
    metrics of this app, by name of the family, each as lines in the form of Prometheus; hold: whether a message of a
    session's browser has to wait, and Streamlit gets it from elsewhere.

    Streamlit's browser side fetches the code that inserts a style sheet of the app when it meets one, and draws what
    needs no such code at once: without `style`, parts of the page would show for a moment, on a slow device for a
    second, at places where they do not stay. The runs of the app send only what a page has beyond it (`run_style`).
    """

    def __init__(
        self,
        app: ASGIApp,
        style: str,
        opens: Callable[[str], bool],
        metrics: Callable[[], Mapping[str, str]],
        hold: Callable[[AppSession, BackMsg], bool] = lambda session, message: False,
    ) -> None:
        self._app, self._style, self._opens, self._own_metrics, self._hold = app, style, opens, metrics, hold
        self._ending: dict[str, asyncio.TimerHandle] = {}  # sessions whose page is gone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            SERVER.loop = asyncio.get_running_loop()
        elif scope["type"] == "websocket":
            return await self._connect(scope, receive, send)
        elif scope["path"].endswith(METRICS):
            return await (await self._metrics(scope, receive))(scope, receive, send)
        elif scope["method"] == "GET" and is_page(scope["path"]):
            return await GZipMiddleware(await self._page(scope, receive))(scope, receive, send)
        await self._app(scope, receive, send)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if not is_own_origin(headers.get("origin"), headers.get("host")):
            _LOG.warning("Rejecting WebSocket connection of a page with another origin: %s", headers["origin"])
            await send({"type": "websocket.close", "code": 1008})
            return

        name = ""
        session: AppSession | None = None

        async def receive_needed() -> Message:
            while True:
                event = await receive()
                if event.get("bytes") is None:
                    return event
                try:
                    message = allowed_message(event["bytes"])
                except DecodeError:
                    return event  # Streamlit ends the connection
                if message is not None and (session is None or not self._hold(session, message)):
                    return {**event, "bytes": message.SerializeToString()}

        async def send_heard(message: Message) -> None:
            nonlocal name, session
            if session is None and message.get("bytes"):
                name = ForwardMsg.FromString(message["bytes"]).new_session.initialize.session_id
                session = runtime.get_instance().get_app_session(name)
                if session is not None:
                    SERVER.sessions[name] = session
                    if (ending := self._ending.pop(name, None)) is not None:
                        ending.cancel()  # its page has come back
            await send(message)

        try:
            await self._app(scope, receive_needed, send_heard)
        finally:
            if session is not None and not runtime.get_instance().is_active_session(name):
                SERVER.sessions.pop(name, None)
                left = st.get_option("server.disconnectedSessionTTL") - EARLY
                found = weakref.ref(session)  # Streamlit keeps it, but not of too many
                self._ending[name] = asyncio.get_running_loop().call_later(left, self._end, name, found)

    def _end(self, name: str, found: weakref.ref[AppSession]) -> None:
        self._ending.pop(name, None)
        if (session := found()) is not None:
            end_session(name, session)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        """Streamlit's answer as a whole: neither packed nor "not modified"."""
        told: Message = {}
        body = bytearray()

        async def keep(message: Message) -> None:
            told.update(message)
            body.extend(message.get("body", b""))

        unwanted = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
        headers = [pair for pair in scope["headers"] if pair[0] not in unwanted]
        await self._app({**scope, "headers": headers}, receive, keep)
        answer = Response(bytes(body), told["status"])
        answer.raw_headers = told["headers"]
        return answer

    async def _page(self, scope: Scope, receive: Receive) -> Response:
        answer = await self._answer(scope, receive)
        if answer.status_code == 200 and answer.headers.get("content-type", "").startswith("text/html"):
            styled = f"<body>\n<style>{self._style}</style>".encode()
            answer.body = bytes(answer.body).replace(b"<body>", styled, 1)
            answer.headers["content-length"] = str(len(answer.body))
            for name in ("accept-ranges", "etag", "last-modified"):  # those of the page without the style
                del answer.headers[name]
        return answer

    async def _metrics(self, scope: Scope, receive: Receive) -> Response:
        """Streamlit's metrics and the app's, for who gives the key: a parameter of the address, or what follows
        "Bearer" in the header Authorization. For anybody else there is no such address."""
        headers, params = Headers(scope=scope), parse_qs(scope["query_string"].decode("latin-1"))
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        given = bearer if scheme.lower() == "bearer" else params.get("key", [""])[-1]
        if not self._opens(given):
            return PlainTextResponse("Not Found", 404)
        scope = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"accept"]}  # text, not protobuf
        answer = await self._answer(scope, receive)
        asked, body = params.get("families", []), bytes(answer.body).decode()
        if body.endswith(END):
            ours = "".join(lines for name, lines in self._own_metrics().items() if not asked or name in asked)
            answer.body = f"{body.removesuffix(END)}{ours}{END}".encode()
            answer.headers["content-length"] = str(len(answer.body))
        return answer
