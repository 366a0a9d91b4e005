"""Every workaround for Streamlit on the Python side, and every use of its private parts; gate.py and pages/server.py
use public ones.

tests/pages/runtime/test_streamlit.py fails if a newer Streamlit breaks one of them or makes it unnecessary. What is
missing in another version is left out: the app works there, but more slowly.

Not worked around: opened at the address of a page, such as /lab, Streamlit's browser code first looks for its server at
/lab/_stcore/health and /lab/_stcore/host-config, which gives two 404s in the console, and then at the root. It cannot
know whether "lab" is a page or the folder that the whole app is served under.
"""

import asyncio
import contextlib
import functools
import gc
import ipaddress
import logging
import pkgutil
import re
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit import runtime
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.session_manager import SessionClientDisconnectedError

from pages.runtime.memory import MEMORY, return_memory

REPLACED = "streamlits_own"  # attribute of what `replace` puts in
SESSION = "streamlit.runtime.app_session:AppSession"
_LOG = logging.getLogger("headscope")


def replace(owner: str, name: str, change: Callable[[Any], Any], needs: tuple[str, ...] = ()) -> None:
    """Put something else in the place of a private part of Streamlit's, once. A version that does not have the part, or
    what the change needs beside it, stays as it is: the app works, but more slowly.

    owner: "module" or "module:class".
    """
    try:
        found = pkgutil.resolve_name(owner)
        own, *_ = [getattr(found, one) for one in (name, *needs)]
    except (ImportError, AttributeError) as error:
        _LOG.warning("Streamlit %s is not known here (%s); the app works, but more slowly", st.__version__, error)
        return
    if not hasattr(own, REPLACED):
        changed = change(own)
        setattr(changed, REPLACED, own)
        setattr(found, name, changed)


# -- the server -------------------------------------------------------------------------------------------------------


def look_for_no_tables() -> None:
    """Streamlit looks for tables in what every component is sent, and imports pandas and pyarrow for it, and again to
    read a time as "400ms": 0.5 s of CPU at the first visit, 79 MB, 2% of the CPU of a run. No page sends a table."""
    serialization = "streamlit.components.v2.bidi_component.serialization"
    replace(serialization, "_extract_dataframes_from_dict", lambda own: lambda data, *_: data)
    replace(
        "streamlit.elements.widgets.text_widgets",
        "_parse_text_input_live",
        lambda own: lambda live: int(live.removesuffix("ms")) if isinstance(live, str) else None,
    )


def gather_events() -> None:
    """A script hands each of its events, fifty messages in a run, to the server's thread by a call of its own, which
    wakes that thread: 9% of the CPU of a run with 15 viewers. Here the server's thread takes all that are there at
    once, in their order."""
    waiting: WeakKeyDictionary[AppSession, list[Callable[[], None]]] = WeakKeyDictionary()
    lock = threading.Lock()

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

    needs = ("_handle_scriptrunner_event_on_event_loop", "_call_soon_on_event_loop")
    replace(SESSION, "_on_scriptrunner_event", lambda own: on_event, needs)


class _Property(property):
    """One that `replace` can mark."""


class _StateByKey(Mapping[str, Any]):
    """A session's state, each value looked up when it is asked for. whole: makes it a dictionary."""

    def __init__(self, state: Any, whole: Callable[[Any], dict[str, Any]]) -> None:
        self._state, self._whole = state, whole

    def __getitem__(self, key: str) -> Any:
        if key.startswith("$$"):  # Streamlit's own, which `whole` leaves out
            raise KeyError(key)
        return self._state[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole(self._state))

    def __len__(self) -> int:
        return len(self._whole(self._state))


def look_up_single_values() -> None:
    """Every menu and every field makes a dictionary of the whole state of the session, and looks at one value of it:
    4% of the CPU of a run with 15 viewers."""
    state = "streamlit.runtime.state.session_state:SessionState"
    replace(state, "filtered_state", lambda own: _Property(lambda found: _StateByKey(found, own.fget)))


@dataclass
class Server:
    """The server of this process, as `gate.py` sees it. loop: its event loop; sessions: those of open pages, by id."""

    loop: asyncio.AbstractEventLoop | None = None
    sessions: dict[str, AppSession] = field(default_factory=dict)


SERVER = Server()


def viewers() -> int:
    """How many pages of this process are open."""
    return len(SERVER.sessions)


HOUSEKEEPING, PAUSE = 15.0, 3.0  # seconds at most between two looks; and at least, if there was something to do
_ended = threading.Event()  # a session has, since the last look


@cache
def keep_house() -> None:
    """Call once per process: frees what ended sessions and evicted values held, soon and not at the next visit."""
    threading.Thread(target=_keep_house, name="housekeeping", daemon=True).start()


def _keep_house() -> None:
    while True:
        MEMORY.pressed.wait(HOUSEKEEPING)
        ended = _ended.is_set()
        _ended.clear()
        if MEMORY.settle() or ended:
            gc.collect()  # sessions are in cycles; it may find owners who leave
            MEMORY.settle()
            return_memory()
            time.sleep(PAUSE)


def end_session(name: str, session: AppSession) -> None:
    """End a session whose page is gone. Streamlit would do so when the next page goes. Call in the server's thread."""
    if not runtime.get_instance().is_active_session(name):
        runtime.get_instance().close_session(name)
        if not is_running(session):
            session.session_state.clear()  # Streamlit's loop keeps the session that it served last
        _ended.set()


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


def machine_address() -> str | None:
    """This machine's address in its network; None if it has none. Asks the system, sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 1))  # of documentation: no machine has it
        found = str(probe.getsockname()[0])
        return None if found.startswith("127.") else found
    return None


def address_for_others(listens: str | None) -> str | None:
    """The server's address in its network; None if it listens on this machine alone or has no network.

    listens: the address that it was started with, if any.
    """
    if listens in ("localhost", "127.0.0.1", "::1"):
        return None
    return listens if listens and listens not in ("0.0.0.0", "::") else machine_address()


def network_address() -> str | None:
    """The same for the server that runs."""
    return address_for_others(st.get_option("server.address"))


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
    """One line for each event, without ids of sessions and without typed text. A run of a fragment that is gone is no
    event: Streamlit ignores it, and would write what the browser calls it."""
    logging.setLogRecordFactory(_Line)
    found = logging.getLogger("streamlit.runtime.app_session")
    found.addFilter(lambda record: not str(record.msg).startswith("The fragment with id"))


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
    return getattr(get_script_run_ctx(suppress_warning=True), "is_history_navigation", False)


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


def active_session(name: str) -> AppSession | None:
    """The session of that id, as long as its page is open."""
    return SERVER.sessions.get(name)


def server_loop() -> asyncio.AbstractEventLoop | None:
    """The loop of the server, in whose thread all functions of this part are called but this one."""
    return SERVER.loop


def is_running(session: AppSession) -> bool:
    """Whether its script runs, or has messages that are not sent yet."""
    queue = getattr(session, "_browser_queue", None)
    return getattr(session, "_scriptrunner", None) is not None or (queue is not None and not queue.is_empty())


def any_running() -> bool:
    """Whether the script of any session runs."""
    return any(is_running(session) for session in SERVER.sessions.values())


def run_again(session: AppSession, kept: Iterable[str]) -> None:
    """Ask for a run with the values that the session's widgets have. kept: hashes of large messages that its browser
    has."""
    asked, known = ClientState(), getattr(session, "_client_state", None)
    if known is not None:
        asked.CopyFrom(known)
        asked.cached_message_hashes.extend(kept)
    session.request_rerun(asked if known is not None else None)


def move(session: AppSession, page: str, query: str) -> None:
    """Let the next run of `run_again` be of this page and address."""
    session._client_state.page_script_hash, session._client_state.query_string = page, query


def send(name: str, messages: Iterable[ForwardMsg]) -> bool:
    """Send messages to a session's browser; whether it is still there."""
    client = runtime.get_instance().get_client(name)
    if client is None:
        return False
    try:
        for message in messages:
            client.write_forward_msg(message)
    except SessionClientDisconnectedError:
        return False
    return True


def listen_to_sessions(sent: Callable[[AppSession, ForwardMsg], None]) -> None:
    """From now on, call `sent` with every message of a session to its browser. Without it, every member of a room gets
    the teacher's view by a run of its own."""

    def heard(enqueue: Callable[[AppSession, ForwardMsg], None]) -> Callable[[AppSession, ForwardMsg], None]:
        def enqueue_heard(session: AppSession, msg: ForwardMsg) -> None:
            sent(session, msg)
            enqueue(session, msg)

        return enqueue_heard

    replace(SESSION, "_enqueue_forward_msg", heard)


# -- drawing ----------------------------------------------------------------------------------------------------------


def bound_to_page(draw: Callable[[], None]) -> Callable[[], None]:
    """The same function, drawn as part of the page that runs now; app.py would draw different widgets."""
    page, as_part_of = "", getattr(get_script_run_ctx(), "run_with_active_hash", None)
    with contextlib.suppress(ImportError, AttributeError):
        from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

        page = ThreadState.get().active_script_hash

    def drawn() -> None:
        with as_part_of(page) if page and as_part_of is not None else contextlib.nullcontext():
            draw()

    return drawn
