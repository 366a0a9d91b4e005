#!/bin/sh
# After its last session is closed, not only disconnected, Streamlit keeps that session's session_state, with all that is
# in it, until another session has been served: a server that nobody visits holds the last visitor's objects for good.
#
# With: streamlit 1.67.0, Python 3.11; tried on 2026-11-28 on Linux.
#
# It matters to whoever keeps something large or private in session_state (a model, an uploaded file) and counts on the end
# of the session to free it. Clearing the session's state when the session ends frees it: pages/runtime/streamlit.py
# of this project does.
#
# Seen:
#
#     3 s after the only session was closed: kept
#     after the next session was closed: freed, kept
#
# Fails if Streamlit no longer does this.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv environment
environment/bin/pip install --quiet --disable-pip-version-check streamlit==1.67.0
cat >held.py <<'PYTHON'
class Held:
    """Something large."""


seen = []
PYTHON
cat >app.py <<'PYTHON'
import weakref

import held
import streamlit as st

if "large" not in st.session_state:
    st.session_state.large = held.Held()
    held.seen.append(weakref.ref(st.session_state.large))
PYTHON
cat >try.py <<'PYTHON'
import asyncio
import gc

import held
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import Runtime, RuntimeConfig
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager


class Client:
    """In place of a browser's websocket."""

    client_context = None

    def __init__(self):
        self.finished = asyncio.Event()

    def write_forward_msg(self, message):
        if message.WhichOneof("type") == "script_finished":
            self.finished.set()


async def visit(runtime):
    client = Client()
    session = runtime.connect_session(client, {})
    message = BackMsg()
    message.rerun_script.query_string = ""
    runtime.handle_backmsg(session, message)
    await asyncio.wait_for(client.finished.wait(), 60)
    await asyncio.sleep(0.5)
    runtime.close_session(session)


async def main():
    runtime = Runtime(RuntimeConfig("app.py", MemoryMediaFileStorage("/media"), MemoryUploadedFileManager("/upload")))
    await runtime.start()
    found = []
    for said in ("3 s after the only session was closed", "after the next session was closed"):
        await visit(runtime)
        await asyncio.sleep(3)
        gc.collect()
        found.append(", ".join("kept" if one() else "freed" for one in held.seen))
        print(f"{said}: {found[-1]}")
    runtime.stop()
    await runtime.stopped
    assert found == ["kept", "freed, kept"], "this finding is out of date"


asyncio.run(main())
PYTHON
environment/bin/python try.py
