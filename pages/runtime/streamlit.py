"""Every workaround for Streamlit on the Python side, and every use of its private parts.

tests/pages/runtime/test_streamlit.py fails if a newer Streamlit breaks one of them or makes it unnecessary.

Not worked around: opened at the address of a page, such as /lab, Streamlit's browser code first looks for its server at
/lab/_stcore/health and /lab/_stcore/host-config, which gives two 404s in the console, and then at the root. It cannot
know whether "lab" is a page or the folder that the whole app is served under.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import inspect
import ipaddress
import logging
import os
import re
import socket
import stat
import sys
import threading
import time
import traceback
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import streamlit as st
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from streamlit import config, net_util, runtime
from streamlit.components.v2.bidi_component import serialization
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements import html
from streamlit.elements.widgets import text_widgets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.caching.ttl_cache import TTLCache
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.runtime_util import get_max_widget_state_size_bytes
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState
from streamlit.runtime.session_manager import ActiveSessionInfo, SessionClientDisconnectedError
from streamlit.runtime.state.session_state import SessionState, _is_internal_key
from streamlit.runtime.stats import StatsProvider
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager
from streamlit.web.server.starlette import starlette_app, starlette_server

from pages.runtime.memory import MEMORY, return_memory

OPEN_FILES = "/dev/fd"  # Linux, macOS, BSD; Windows has no such list and is left as it is


# -- the server -------------------------------------------------------------------------------------------------------


# Seconds after which a thread that computes lets another one go on. A pass of a model lets go at every product of
# matrices and asks again; with Python's own 0.005 it would wait so long each time that others click.
SWITCH = 0.001
# Messages that a page of this app sends. Streamlit knows others: `clear_cache` empties the caches of all viewers,
# `load_git_info` runs git and tells the branch and the changed files, `file_urls_request` prepares uploads.
MESSAGES = frozenset({"rerun_script", "stop_script", "app_heartbeat", "backend_operation_request"})
OPERATIONS = frozenset({"deferred_file"})  # a download; the others write files, or send tables that no page has
TRUSTED = "127.0.0.1,::1,::ffff:127.0.0.1"  # a proxy on this machine; the last one, for a server that listens on "::"


def prepare_server() -> None:
    """Call before the server starts.

    Because of the folder `pages` beside app.py, Streamlit takes the app for an old-style multipage app until app.py has
    run once: the first visitor of a page would see a dialog "Page not found".

    For a websocket from another origin, Streamlit would ask a web service for the machine's public address while
    everybody waits. With an address set, which no origin equals, it asks nobody.

    A visitor's address is the one that a proxy forwards, if uvicorn trusts the proxy.

    Streamlit refuses messages of more than 25 MB after it has read them, and reads 200 MB, its limit for what it sends.
    """
    PagesManager.uses_pages_directory = False
    net_util._external_ip = ""
    os.environ.setdefault("FORWARDED_ALLOW_IPS", TRUSTED)
    starlette_server.get_max_message_size_bytes = get_max_widget_state_size_bytes
    take_only_needed_messages()
    shorten_log()
    look_up_single_values()
    read_theme_once()
    look_for_no_tables()
    clean_html_once()
    gather_events()
    sys.setswitchinterval(SWITCH)


KEPT_HTML = 128  # texts that `clean_html_once` remembers


class _SingleValues(Mapping[str, Any]):
    """A session's state by key, each value looked up when it is asked for."""

    def __init__(self, state: SessionState) -> None:
        self._state = state

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and not _is_internal_key(key) and key in self._state

    def __getitem__(self, key: str) -> Any:
        if _is_internal_key(key):
            raise KeyError(key)
        return self._state[key]

    def _all(self) -> dict[str, Any]:
        state: dict[str, Any] = _whole_state.__get__(self._state)
        return state

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())


_whole_state: Any = inspect.getattr_static(SessionState, "filtered_state")


def look_up_single_values() -> None:
    """Every menu and every field asks for the whole state of the session, all values of all components, and looks at
    one of them: 4% of what the process does while thirty viewers click."""
    SessionState.filtered_state = property(_SingleValues)  # type: ignore[assignment, method-assign]


def read_theme_once() -> None:
    """Every run reads and packs the six themes of the configuration, which do not change: 4% of what the process does
    while thirty viewers click."""
    populate = inspect.unwrap(app_session._populate_theme_msg)
    packed: dict[str, CustomThemeConfig] = {}

    @functools.wraps(populate)
    def populate_once(msg: CustomThemeConfig, section: str = "theme") -> None:
        if section not in packed:
            theme = CustomThemeConfig()
            populate(theme, section)
            packed[section] = theme
        if packed[section].ByteSize():  # reading a part of a message does not make it a part that is sent
            msg.MergeFrom(packed[section])

    app_session._populate_theme_msg = populate_once


def look_for_no_tables() -> None:
    """Streamlit looks for tables in what every component is sent, and imports pandas and pyarrow for it, and again to
    read a time as "400ms": 1.2 s of the first visit, 75 MB, and 3% of what the process does while thirty viewers click.
    No page sends a table."""
    serialization._extract_dataframes_from_dict = lambda data, arrow_blobs=None: data
    text_widgets._parse_text_input_live = lambda live: int(live.removesuffix("ms")) if isinstance(live, str) else None


def clean_html_once() -> None:
    """Every run dedents its style sheet, 30 kB, looks for a file of that name, and removes all styles from it, to see
    whether anything is left: 8% of what the process does while thirty viewers click."""
    for name in ("_is_file", "clean_text", "_html_only_style_tags"):
        setattr(html, name, functools.lru_cache(KEPT_HTML)(inspect.unwrap(getattr(html, name))))


def gather_events() -> None:
    """A script hands each of its events, seventy messages in a run, to the server's thread by a call of its own, which
    wakes that thread. Here the server's thread takes all that are there at once, in their order."""
    if hasattr(AppSession._on_scriptrunner_event, "__wrapped__"):
        return
    waiting: WeakKeyDictionary[AppSession, list[Callable[[], None]]] = WeakKeyDictionary()
    lock = threading.Lock()

    @functools.wraps(AppSession._on_scriptrunner_event)
    def on_event(session: AppSession, *given: Any, **named: Any) -> None:
        handle = functools.partial(session._handle_scriptrunner_event_on_event_loop, *given, **named)
        with lock:
            events = waiting.setdefault(session, [])
            events.append(handle)
            if len(events) > 1:
                return

        def take_all() -> None:
            with lock:
                events = waiting.pop(session)
            for handle in events:
                try:
                    handle()
                except Exception as error:  # the others are not lost
                    found = {"message": "an event of a script", "exception": error}
                    asyncio.get_running_loop().call_exception_handler(found)

        session._call_soon_on_event_loop(take_all)

    AppSession._on_scriptrunner_event = on_event  # type: ignore[method-assign, assignment]


def is_needed(message: BackMsg) -> bool:
    """Whether a page of this app sends such a message."""
    kind = message.WhichOneof("type")
    if kind == "backend_operation_request":
        return message.backend_operation_request.WhichOneof("payload") in OPERATIONS
    return kind in MESSAGES


def is_address(url: str) -> bool:
    """Whether the address that a browser says it shows can be read."""
    try:
        _ = urlsplit(url).port  # read only when it is asked for
    except ValueError:
        return False
    return True


def take_only_needed_messages() -> None:
    """Ignore the messages from browsers that no page of this app sends, and an address that is none. Streamlit has no
    option for it."""
    handle = AppSession.handle_backmsg
    if getattr(handle, "only_needed", False):
        return

    @functools.wraps(handle)
    def handle_needed(session: AppSession, msg: BackMsg) -> None:
        # Streamlit ignores a run of a fragment that is gone, too, but writes what the browser calls it to the log.
        asked = msg.rerun_script
        if is_needed(msg) and (not asked.fragment_id or session.has_fragment(asked.fragment_id)):
            if not is_address(asked.context_info.url):
                asked.context_info.url = ""
            handle(session, msg)

    handle_needed.only_needed = True  # type: ignore[attr-defined]
    AppSession.handle_backmsg = handle_needed  # type: ignore[method-assign, assignment]


def guard_metrics(opens: Callable[[str], bool], provider: StatsProvider) -> None:
    """Answer at Streamlit's address for metrics only who gives a key, and add the figures of `provider` there.

    Streamlit tells them everybody. The key is a parameter of the address, or follows "Bearer" in the header
    Authorization; for anybody else there is no such address.
    """
    create = inspect.unwrap(starlette_app.create_metrics_routes)

    def guarded(route: Route) -> Route:
        async def answer(request: Request) -> Response:
            scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
            given = bearer if scheme.lower() == "bearer" else request.query_params.get("key", "")
            answered: Response = PlainTextResponse("Not Found", status_code=404)
            return await route.endpoint(request) if opens(given) else answered

        return Route(route.path, answer, methods=sorted(route.methods or ()))

    @functools.wraps(create)
    def create_guarded(server: runtime.Runtime, base_url: str | None) -> list[BaseRoute]:
        server.stats_mgr.register_provider(provider)
        return [guarded(route) for route in create(server, base_url) if isinstance(route, Route)]

    starlette_app.create_metrics_routes = create_guarded  # type: ignore[assignment]


def style_first_page(style: str) -> None:
    """Call before the server starts: every page has this style sheet before the app has answered.

    Streamlit's browser side fetches the code that inserts a style sheet of the app when it meets one, and draws what
    needs no such code at once: parts of the page would show without style for a moment, at places where they do not
    stay, on a slow device for a second. The app sends its style sheets all the same; they come later in the page.
    """
    create = inspect.unwrap(starlette_app.create_streamlit_static_assets_routes)

    @functools.wraps(create)
    def create_styled(base_url: str | None) -> list[BaseRoute]:
        routes = create(base_url)
        for route in routes:
            if isinstance(route, Mount) and isinstance(route.app, StaticFiles):
                _style_answers(route.app, style)
        return routes

    starlette_app.create_streamlit_static_assets_routes = create_styled


def _style_answers(files: StaticFiles, style: str) -> None:
    """Let the server of Streamlit's files put a style sheet into its HTML page."""
    get_response = files.get_response

    async def get_styled(path: str, scope: Any) -> Response:
        if not path.startswith("static"):  # another answer to "not modified since" would be the page without the style
            headers = [pair for pair in scope["headers"] if not pair[0].startswith(b"if-")]
            scope = {**scope, "headers": headers}
        answer = await get_response(path, scope)
        if not isinstance(answer, FileResponse) or Path(answer.path).suffix != ".html":
            return answer
        page = Path(answer.path).read_text(encoding="utf-8").replace("<body>", f"<body>\n<style>{style}</style>", 1)
        return HTMLResponse(page, headers={"Cache-Control": answer.headers["Cache-Control"]})

    files.get_response = get_styled  # type: ignore[method-assign]


def viewers() -> int:
    """How many pages of this process are open."""
    manager = getattr(runtime.get_instance(), "_session_mgr", None) if runtime.exists() else None
    return manager.num_active_sessions() if isinstance(manager, WebsocketSessionManager) else 0


def send_at_once() -> None:
    """Switch Nagle's algorithm off on every TCP socket of this process; connections accepted later inherit it.

    asyncio does so for the sockets it makes, but Streamlit makes its own, with protocol number 0, which asyncio does
    not recognise as TCP. Otherwise the second of two small messages waits until the browser acknowledges the first, and
    a browser delays that: 40 ms of every click, measured on Linux.
    """
    if not os.path.isdir(OPEN_FILES):
        return
    for name in os.listdir(OPEN_FILES):
        with contextlib.suppress(OSError):  # closed after it was listed
            descriptor = int(name)
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                with socket.socket(fileno=os.dup(descriptor)) as copy:
                    if copy.family in (socket.AF_INET, socket.AF_INET6) and copy.type == socket.SOCK_STREAM:
                        copy.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


HOUSEKEEPING, PAUSE = 15.0, 3.0  # seconds at most between two looks; and at least, if there was something to do


@cache
def keep_house() -> None:
    """Call once per process: frees what ended sessions and evicted values held, soon and not at the next visit."""
    threading.Thread(target=_keep_house, name="housekeeping", daemon=True).start()


def _keep_house() -> None:
    while True:
        MEMORY.pressed.wait(HOUSEKEEPING)
        ended = _end_old_sessions()
        if MEMORY.settle() or ended:
            gc.collect()  # sessions are in cycles; it may find owners who leave
            MEMORY.settle()
            return_memory()
            time.sleep(PAUSE)


def _end_old_sessions() -> int:
    """End the sessions whose page has been gone for two minutes. Streamlit would do so when the next page goes."""
    try:
        server = runtime.get_instance()
    except RuntimeError:  # no server runs
        return 0
    manager = getattr(server, "_session_mgr", None)
    stored = getattr(getattr(manager, "_session_storage", None), "_cache", None)
    if not isinstance(manager, WebsocketSessionManager) or not isinstance(stored, TTLCache):
        return 0  # in a test of a script
    ended: list[str] = []
    done = threading.Event()

    def end() -> None:
        with manager._storage_lock:
            expired = stored.expire()
        for name, found in expired:
            found.session.shutdown()
            if found.session._scriptrunner is None:
                found.session.session_state.clear()  # Streamlit's loop keeps the session that it served last
            ended.append(name)
        done.set()

    with contextlib.suppress(RuntimeError):  # the server is ending
        server._get_async_objs().eventloop.call_soon_threadsafe(end)
        done.wait(HOUSEKEEPING)
    return len(ended)


@cache
def shorten_garbage_collection() -> None:
    """Call once per process, after all imports: makes garbage collections short.

    Collections stop every viewer. With torch loaded one takes 140 ms unless the objects that stay are frozen. Later
    objects must not be frozen, because frozen objects are never collected: neither the session of a viewer who is here
    when another model is opened, nor an evicted model. Streamlit's own collection after every run, a quarter of a
    click's time, is switched off (.streamlit/config.toml): Python collects by itself after enough changes.
    """
    gc.collect()
    gc.freeze()


def address_for_others(listens: str | None) -> str | None:
    """The server's address in its network; None if it listens on this machine alone or has no network.

    listens: the address that it was started with, if any.
    """
    if listens in ("localhost", "127.0.0.1", "::1"):
        return None
    if listens and listens not in ("0.0.0.0", "::"):
        return listens
    found = net_util.get_internal_ip()  # asks the system, sends nothing
    return found if found and not found.startswith("127.") else None


def network_address() -> str | None:
    """The same for the server that runs."""
    return address_for_others(config.get_option("server.address"))


# -- the log ----------------------------------------------------------------------------------------------------------

SESSION_ID = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
CALLS = 4  # how many of the calls that led to an error the log names


class _Line(logging.LogRecord):
    """A line of the log without what belongs to visitors. Of a session's id, which would open its session, it has the
    beginning. Of an error it has kind and place, because its message may quote what somebody typed."""

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        line = super().getMessage()
        error = self.exc_info[1] if isinstance(self.exc_info, tuple) else None
        if error is not None:
            calls = traceback.extract_tb(error.__traceback__)[-CALLS:]
            places = " < ".join(f"{Path(call.filename).name}:{call.lineno} {call.name}" for call in reversed(calls))
            line = f"{line}: {type(error).__name__} in {places}"
        self.msg, self.args, self.exc_info = SESSION_ID.sub(r"\1…", " ".join(line.split())), (), None


def shorten_log() -> None:
    """One line for each event, without ids of sessions and without typed text."""
    logging.setLogRecordFactory(_Line)


# -- a viewer's session -----------------------------------------------------------------------------------------------


def session_id() -> str:
    """The session whose script runs in this thread; "" outside of a session."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context is not None else ""


def viewer_network() -> str:
    """The network that the viewer of this session comes from: an address, or the first 64 bits of an IPv6 address,
    because a household or a phone has all the others; "" for this machine, or if nobody knows."""
    try:
        address = ipaddress.ip_address(st.context.ip_address or "")
    except ValueError:
        return ""
    address = getattr(address, "ipv4_mapped", None) or address
    if address.is_loopback:
        return ""
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else str(address)


def went_through_history() -> bool:
    """Whether this run was asked for by the browser's back or forward button."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and context.is_history_navigation


def is_connected(session: str) -> bool:
    """Whether the browser of a session is still there: yes on another page of the app, no with a closed tab."""
    return not runtime.exists() or runtime.get_instance().is_active_session(session)


@st.fragment(run_every=timedelta(days=1))
def rerun_after_reconnect() -> None:
    """A fragment that does nothing, once a day; but a page with such a fragment asks for a run as soon as it
    reconnects.

    Without it, Streamlit's page waits for the next click. If its server died and another one answers now, that server
    has no session: the click would meet a fresh state from the link, and be lost.
    """


# -- sessions that the server runs by itself (followers.py) ------------------------------------------------------------


def active_session(name: str) -> ActiveSessionInfo | None:
    """The session of that id and its browser, as long as that is there."""
    manager = getattr(runtime.get_instance(), "_session_mgr", None) if runtime.exists() else None
    return manager.get_active_session_info(name) if isinstance(manager, WebsocketSessionManager) else None


def server_loop() -> asyncio.AbstractEventLoop | None:
    """The loop of the server, in whose thread all functions of this part are called but this one."""
    return runtime.get_instance()._get_async_objs().eventloop if runtime.exists() else None


def is_running(session: AppSession) -> bool:
    """Whether its script runs, or has messages that are not sent yet."""
    return session._scriptrunner is not None or not session._browser_queue.is_empty()


def any_running() -> bool:
    """Whether the script of any session runs."""
    manager = getattr(runtime.get_instance(), "_session_mgr", None)
    return isinstance(manager, WebsocketSessionManager) and any(
        info.session._scriptrunner is not None for info in manager.list_active_sessions()
    )


def run_again(session: AppSession, kept: Iterable[str]) -> None:
    """Ask for a run with the values that the session's widgets have. kept: hashes of large messages that its browser
    has."""
    asked = ClientState()
    asked.CopyFrom(session._client_state)
    asked.cached_message_hashes.extend(kept)
    session.request_rerun(asked)


def move(session: AppSession, page: str, query: str) -> None:
    """Let the next run of `run_again` be of this page and address."""
    session._client_state.page_script_hash, session._client_state.query_string = page, query


def send(to: ActiveSessionInfo, messages: Iterable[ForwardMsg]) -> bool:
    """Send messages to a session's browser; whether it is still there."""
    try:
        for message in messages:
            to.client.write_forward_msg(message)
    except SessionClientDisconnectedError:
        return False
    return True


def listen_to_sessions(
    sent: Callable[[AppSession, ForwardMsg], None], asked: Callable[[AppSession, BackMsg], bool]
) -> None:
    """From now on, call `sent` with every message of a session to its browser, and `asked` with every one from a
    browser, which is not obeyed if `asked` says so."""
    enqueue, handle = AppSession._enqueue_forward_msg, AppSession.handle_backmsg

    @functools.wraps(enqueue)
    def enqueue_heard(session: AppSession, msg: ForwardMsg) -> None:
        sent(session, msg)
        enqueue(session, msg)

    @functools.wraps(handle)
    def handle_heard(session: AppSession, msg: BackMsg) -> None:
        if not asked(session, msg):
            handle(session, msg)

    AppSession._enqueue_forward_msg = enqueue_heard  # type: ignore[method-assign, assignment]
    AppSession.handle_backmsg = handle_heard  # type: ignore[method-assign, assignment]


# -- drawing ----------------------------------------------------------------------------------------------------------


DRAWN = 500  # most blocks that are remembered
_drawn: dict[Hashable, list[ForwardMsg]] = {}


def draw_again(name: Hashable, block: DeltaGenerator, draw: Callable[[], None]) -> None:
    """Fill an empty block by `draw`, the first time; later by the messages of that time, which takes a tenth of it.

    For what depends on the name alone and reports nothing, such as links.
    """
    context, cursor = get_script_run_ctx(), block._cursor
    if context is None or cursor is None:
        with block:
            draw()
        return
    key = (name, cursor.root_container, cursor.parent_path, ThreadState.get().active_script_hash)
    messages = _drawn.get(key)
    if messages is None:
        drawn, enqueue = list[ForwardMsg](), context._enqueue

        def enqueue_kept(message: ForwardMsg) -> None:
            drawn.append(message)
            enqueue(message)

        context._enqueue = enqueue_kept
        try:
            with block:
                draw()
        finally:
            context._enqueue = enqueue
        while len(_drawn) >= DRAWN:
            _drawn.pop(next(iter(_drawn)), None)
        _drawn[key] = drawn
    else:
        for message in messages:
            context._enqueue(message)


def bound_to_page(draw: Callable[[], None]) -> Callable[[], None]:
    """The same function, drawn as part of the page that runs now; app.py would draw different widgets."""
    context, page = get_script_run_ctx(), ThreadState.get().active_script_hash

    def drawn() -> None:
        if context is None:
            draw()
        else:
            with context.run_with_active_hash(page):
                draw()

    return drawn
