"""The web server of the app: Streamlit behind `Gate`, run by uvicorn. Uses public parts of the three alone."""

import os
import socket
import sys
from pathlib import Path
from typing import Any

import streamlit as st
import uvicorn
from starlette.middleware import Middleware

from pages.frame.styles import first_style
from pages.runtime import engine_files, followers, operator
from pages.runtime.gate import Gate
from pages.runtime.streamlit import gather_events, look_for_no_tables, look_up_single_values, shorten_log
from transformer.operator_key import opens
from transformer.texts import _

# Seconds after which a thread that computes lets another one go on. A pass of a model lets go at every product of
# matrices and asks again; with Python's own 0.005 it would wait so long each time that others click.
SWITCH = 0.001
MOST_BYTES = 25_000_000  # of a message from a browser; Streamlit refuses larger ones after it has read them
PING = 30  # seconds between two pings of a websocket, and until one without an answer ends
TRUSTED = "127.0.0.1,::1,::ffff:127.0.0.1"  # a proxy on this machine; the last one, for a server that listens on "::"


def settings() -> dict[str, Any]:
    """Parameters of uvicorn. A visitor's address is the one that a proxy forwards, if the proxy is trusted."""
    return {
        "forwarded_allow_ips": os.environ.get("FORWARDED_ALLOW_IPS", TRUSTED),
        "ws": "websockets-sansio",
        "ws_max_size": MOST_BYTES,
        "ws_ping_interval": st.get_option("server.websocketPingInterval") or PING,
        "ws_ping_timeout": st.get_option("server.websocketPingInterval") or PING,
        "ws_per_message_deflate": st.get_option("server.enableWebsocketCompression"),
        "ssl_certfile": st.get_option("server.sslCertFile"),
        "ssl_keyfile": st.get_option("server.sslKeyFile"),
        "access_log": False,
        "log_level": "warning",
    }


def application(script: Path) -> st.App:
    """Streamlit's app with the files of the engine, behind the gate."""
    gate = Middleware(Gate, style=first_style(), opens=opens, metrics=operator.metrics, hold=followers.FOLLOWERS.hold)
    return st.App(script, routes=engine_files.routes(), middleware=[gate])


def run(script: Path, listening: socket.socket, host: str) -> int:
    """Serve until somebody ends it. Returns the exit status.

    script: beside it, Streamlit looks for .streamlit/config.toml. host: as a browser of this machine names it.
    """
    address, port = listening.getsockname()[:2]
    os.environ["STREAMLIT_SERVER_PORT"] = str(port)
    os.environ["STREAMLIT_SERVER_ADDRESS"] = address
    app = application(script)  # first: options are read once, and only it tells where
    shorten_log()
    look_for_no_tables()
    look_up_single_values()
    gather_events()
    followers.prepare()
    sys.setswitchinterval(SWITCH)
    server = uvicorn.Server(uvicorn.Config(app, **settings()))
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    url = f"{scheme}://{host}:{port}/{st.get_option('server.baseUrlPath').strip('/')}".rstrip("/")
    print("\n  " + _("Open in your browser: {address}", address=url) + "\n", flush=True)
    server.run(sockets=[listening])
    return 0 if server.started else 3
