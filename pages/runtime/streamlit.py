"""Every workaround for Streamlit on the Python side, and every use of what it keeps to itself.

tests/pages/runtime/test_streamlit.py fails where a newer Streamlit makes one of them wrong or needless.

Not worked around: opened at the address of a page, /lab say, Streamlit's browser side looks for its server at
/lab/_stcore/health and /lab/_stcore/host-config first, which gives two 404s in the console, and then at the root. It
cannot know whether "lab" is a page or the folder that the whole app is served under.
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
from streamlit import net_util, runtime
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

OPEN_FILES = "/dev/fd"  # Linux, macOS, BSD; Windows has no such list, and keeps its way of sending


# -- the server -------------------------------------------------------------------------------------------------------


def prepare_server() -> None:
    """Call before the server starts.

    A folder `pages` beside app.py makes Streamlit take the app for one of its older kind until app.py has run once: the
    first visitor of a page would see a dialog "Page not found".

    A websocket from another origin would make Streamlit ask a web service for the machine's public address, and
    everybody wait for the answer. With an address known to it, which no origin equals, it asks nobody.
    """
    PagesManager.uses_pages_directory = False
    net_util._external_ip = ""


def send_at_once() -> None:
    """Switch Nagle's algorithm off on every TCP socket of this process; connections accepted later inherit it.

    asyncio does so itself for the sockets it makes, but Streamlit makes its own, with protocol number 0, which asyncio
    does not take for TCP. Left on, the second of two small messages waits until the browser acknowledges the first,
    and a browser delays that: measured on Linux, 40 ms of every click.
    """
    if not os.path.isdir(OPEN_FILES):
        return
    for name in os.listdir(OPEN_FILES):
        with contextlib.suppress(OSError):  # closed since it was listed
            descriptor = int(name)
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                with socket.socket(fileno=os.dup(descriptor)) as copy:
                    if copy.family in (socket.AF_INET, socket.AF_INET6) and copy.type == socket.SOCK_STREAM:
                        copy.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@cache
def shorten_garbage_collection() -> None:
    """Call once a process, when all that lives on has been imported: make collections of garbage short.

    They stop every viewer. With torch loaded one takes 140 ms unless what lives on is frozen; nothing that comes later
    may be: what is frozen is never collected, neither the session of a viewer who is here when another model is opened
    nor a model that makes room for it. Streamlit's own collection after every run, a quarter of a click's time, is
    switched off (.streamlit/config.toml): Python collects by itself once enough has changed.
    """
    gc.collect()
    gc.freeze()


# -- a viewer's session -----------------------------------------------------------------------------------------------


def session_id() -> str:
    """The session whose script runs in this thread; "" outside of one."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context is not None else ""


def is_connected(session: str) -> bool:
    """Whether the browser of a session is still there: on another page of the app, yes; with a closed tab, no."""
    return not runtime.exists() or runtime.get_instance().is_active_session(session)


@st.fragment(run_every=timedelta(days=1))
def rerun_after_reconnect() -> None:
    """Nothing, once a day; but a page with such a fragment asks for a run as soon as it is connected again.

    Without one Streamlit's page waits for the next click. If its server died and another answers now, that one has no
    session: the click would meet a state fresh from the link, and be lost.
    """


# -- drawing ----------------------------------------------------------------------------------------------------------


def load_plotly() -> None:
    """Make the browser fetch plotly: a small chart of Streamlit's own, out of sight. Once a run, as early as can be."""
    with st.container(key="hs-plotly"):
        st.plotly_chart(
            {"data": [{"type": "scatter", "x": [0], "y": [0]}], "layout": {"height": 20}},
            key="hs-plotly-chart",
            height=20,
        )


def bound_to_page(draw: Callable[[], None]) -> Callable[[], None]:
    """The same, drawn as part of the page that runs now: a widget that app.py draws itself is another widget."""
    context, page = get_script_run_ctx(), ThreadState.get().active_script_hash

    def drawn() -> None:
        if context is None:
            draw()
        else:
            with context.run_with_active_hash(page):
                draw()

    return drawn
