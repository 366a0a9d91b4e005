"""Every workaround for Streamlit on the Python side, and every use of its private parts.

tests/pages/runtime/test_streamlit.py fails if a newer Streamlit breaks one of them or makes it unnecessary.

Not worked around: opened at the address of a page, such as /lab, Streamlit's browser code first looks for its server at
/lab/_stcore/health and /lab/_stcore/host-config, which gives two 404s in the console, and then at the root. It cannot
know whether "lab" is a page or the folder that the whole app is served under.
"""

from __future__ import annotations

import contextlib
import gc
import os
import socket
import stat
from collections.abc import Callable
from datetime import timedelta
from functools import cache

import streamlit as st
from streamlit import config, net_util, runtime
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

OPEN_FILES = "/dev/fd"  # Linux, macOS, BSD; Windows has no such list and is left as it is


# -- the server -------------------------------------------------------------------------------------------------------


def prepare_server() -> None:
    """Call before the server starts.

    Because of the folder `pages` beside app.py, Streamlit takes the app for an old-style multipage app until app.py has
    run once: the first visitor of a page would see a dialog "Page not found".

    For a websocket from another origin, Streamlit would ask a web service for the machine's public address while
    everybody waits. With an address set, which no origin equals, it asks nobody.
    """
    PagesManager.uses_pages_directory = False
    net_util._external_ip = ""


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


# -- a viewer's session -----------------------------------------------------------------------------------------------


def session_id() -> str:
    """The session whose script runs in this thread; "" outside of a session."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context is not None else ""


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


# -- drawing ----------------------------------------------------------------------------------------------------------


def load_plotly() -> None:
    """Make the browser fetch plotly, with a small hidden chart of Streamlit's own. Call once per run, as early as
    possible."""
    with st.container(key="hs-plotly"):
        st.plotly_chart(
            {"data": [{"type": "scatter", "x": [0], "y": [0]}], "layout": {"height": 20}},
            key="hs-plotly-chart",
            height=20,
        )


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
