"""A viewer without a browser: speaks Streamlit's protocol over a websocket, as the page's own script does."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from transformer.view.state import View

PATIENCE = 60  # seconds a rerun may take
REMEMBERED = 2  # runs that the page keeps a large message for, so that it need not travel again


class ViewerError(RuntimeError):
    """The server answered something a viewer would see as an error."""


@dataclass(frozen=True)
class Run:
    """One rerun, seen from outside: milliseconds from asking to `script finished`, and what travelled until then."""

    milliseconds: float
    received: int
    sent: int


class Viewer:
    """One page, connected by `open`. Its texts and the state of its picture are those of a person's browser."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.query = ""
        self.page = ""
        self.ids: dict[str, str] = {}
        self.states: dict[str, dict[str, Any]] = {}
        self.runs = 0
        self.large: dict[str, tuple[ForwardMsg, int]] = {}  # hash -> a large message, and the run that last used it
        self.numbers = b""  # the exact numbers that came last
        self.socket: ClientConnection | None = None

    async def open(self, **params: str) -> Run:
        """Follow a link."""
        self.query = urlencode(params)
        self.socket = await connect(
            f"ws://{self.host}/_stcore/stream", subprotocols=["streamlit"], max_size=None, compression=None
        )
        return await self._rerun()

    async def close(self) -> None:
        if self.socket is not None:
            await self.socket.close()

    async def pick(self, view: View) -> Run:
        """A click in the picture: the view's new state goes to the server."""
        value = {**view.to_browser(), "revision": 0}  # nothing that a viewer does here makes the server count on
        self.states["headscope.explorer"] = {"json_value": json.dumps({"view": value})}
        run = await self._rerun()
        head = json.dumps({"kind": view.kind, "layer": view.layer, "head": view.head}, separators=(",", ":"))
        if head[1:-1].encode() not in self.numbers:
            raise ViewerError(f"asked for {head}, other numbers came: {self.numbers[8:200]!r}")
        return run

    async def type(self, **texts: str) -> Run:
        """Enter in the field of that name."""
        for name, text in texts.items():
            self.states[name] = {"string_value": text}
        return await self._rerun()

    async def _rerun(self) -> Run:
        assert self.socket is not None
        state = ClientState(query_string=self.query, page_script_hash=self.page)
        for name, value in self.states.items():
            if name in self.ids:
                state.widget_states.widgets.add(id=self.ids[name], **value)
        state.cached_message_hashes.extend(self.large.keys())
        state.context_info.url = f"http://{self.host}/"
        message = BackMsg(rerun_script=state).SerializeToString()
        start = time.perf_counter()
        await self.socket.send(message)
        received = 0
        async with asyncio.timeout(PATIENCE):
            while True:
                data = await self.socket.recv()
                received += len(data)
                if self._take(ForwardMsg.FromString(data)):
                    milliseconds = (time.perf_counter() - start) * 1e3
                    self.runs += 1
                    self.large = {h: (m, run) for h, (m, run) in self.large.items() if self.runs - run <= REMEMBERED}
                    return Run(milliseconds, received, len(message))

    def _take(self, message: ForwardMsg) -> bool:
        """Do with a message what the page does. True: the rerun is over."""
        if message.WhichOneof("type") == "ref_hash":
            message = self.large[message.ref_hash][0]
        if message.metadata.cacheable:
            self.large[message.hash] = (message, self.runs)
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.page = message.new_session.page_script_hash
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            if element.WhichOneof("type") == "exception":
                raise ViewerError(f"{element.exception.type}: {element.exception.message}")
            if element.WhichOneof("type") == "bidi_component":
                self.ids[element.bidi_component.component_name] = element.bidi_component.id
                if element.bidi_component.component_name == "headscope.feed":
                    self.numbers = element.bidi_component.bytes
            elif element.WhichOneof("type") == "text_input":
                field = element.text_input
                name = field.id.rsplit("-", 1)[-1]  # Streamlit ends an id with the key the app gave
                self.ids[name] = field.id
                if field.set_value or name not in self.states:
                    self.states[name] = {"string_value": field.value if field.set_value else field.default}
        elif kind == "script_finished":
            if message.script_finished not in (
                ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_EARLY_FOR_RERUN
            ):  # fmt: skip
                raise ViewerError(
                    f"the script ended with {ForwardMsg.ScriptFinishedStatus.Name(message.script_finished)}"
                )
            return message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
        return False
