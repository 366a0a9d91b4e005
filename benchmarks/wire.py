"""What travels between a browser's page and the app, message by message, as Chromium reports it."""

from __future__ import annotations

import base64
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import CDPSession, Page
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg


@dataclass
class Run:
    """One run of the page's script. began, ended: seconds, of the request and of `script finished`; received: bytes."""

    began: float
    ended: float = 0.0
    received: int = 0

    @property
    def milliseconds(self) -> float:
        return (self.ended - self.began) * 1e3


@dataclass
class Wire:
    """Records from `listen` on.

    scripts: bytes of the components' scripts and styles; packs: bytes of their data; other: of all other messages, and
    of what these are wrapped in; files: of all that was fetched, which is Streamlit's own app; runs: as they began.
    """

    scripts: int = 0
    packs: Counter[str] = field(default_factory=Counter)  # component -> bytes
    other: int = 0
    files: int = 0
    runs: list[Run] = field(default_factory=list)
    session: CDPSession | None = None

    @property
    def received(self) -> int:
        """What came through the websocket."""
        return self.scripts + self.packs.total() + self.other

    def listen(self, page: Page) -> Wire:
        self.session = page.context.new_cdp_session(page)
        self.session.on("Network.loadingFinished", lambda event: self._fetched(int(event["encodedDataLength"])))
        self.session.on("Network.webSocketFrameSent", lambda event: self.asked(event["timestamp"]))
        self.session.on("Network.webSocketFrameReceived", self._received)
        self.session.send("Network.enable")
        return self

    def stop(self) -> Wire:
        assert self.session is not None
        self.session.detach()
        return self

    def _fetched(self, size: int) -> None:
        self.files += size

    def _received(self, event: dict[str, Any]) -> None:
        frame = event["response"]
        data = base64.b64decode(frame["payloadData"]) if frame["opcode"] == 2 else frame["payloadData"].encode()
        self.take(data, event["timestamp"])

    def asked(self, when: float) -> None:
        """The page asked for a run at `when` seconds."""
        self.runs.append(Run(when))

    def take(self, data: bytes, when: float) -> None:
        """A message of the app that arrived at `when` seconds."""
        message = ForwardMsg.FromString(data)
        scripts, pack = 0, 0
        if message.WhichOneof("type") == "delta" and message.delta.WhichOneof("type") == "new_element":
            component = message.delta.new_element.bidi_component
            scripts = len(component.js_content.encode()) + len(component.css_content.encode())
            pack = len(component.bytes)
            if pack:
                self.packs[component.component_name.rpartition(".")[2]] += pack
        self.scripts += scripts
        self.other += len(data) - scripts - pack
        if self.runs:
            self.runs[-1].received += len(data)
            if message.WhichOneof("type") == "script_finished":
                self.runs[-1].ended = when
