"""A viewer without a browser: speaks Streamlit's protocol over a websocket, as the page's own script does."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode

import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Common_pb2 import StringArray
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from transformer.view.state import View

PATIENCE = 60.0  # seconds a rerun may take
WELL = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
INTERNAL = "$$STREAMLIT_INTERNAL_KEY"  # before the id of what carries a component's events
WIDGETS = ("radio", "button", "button_group", "selectbox", "number_input", "text_input")
REMEMBERED = 2  # runs that the page keeps a large message for, so that it need not travel again


class ViewerError(RuntimeError):
    """The server answered something a viewer would see as an error."""


def key_of(widget: str) -> str:
    """The key the app gave a widget: Streamlit's id is $$ID-hash-key."""
    return widget.split("-", 2)[-1]


@dataclass(frozen=True)
class Run:
    """One rerun, seen from outside: milliseconds from asking to `script finished`, and bytes received until then."""

    milliseconds: float
    received: int


def waits(milliseconds: Sequence[float]) -> tuple[float, float, float]:
    """The median, the value that 95% do not exceed, and the longest."""
    middle, high, longest = np.percentile(milliseconds, (50, 95, 100), method="inverted_cdf").tolist()
    return middle, high, longest


class Viewer:
    """One page, connected by `open`. Its texts and the state of its picture are those of a person's browser.

    name: of the page, as in its address; "" is the explorer's. patience: seconds a rerun may take. settings: of the
    websocket, such as `additional_headers`.
    """

    def __init__(self, host: str, name: str = "", patience: float = PATIENCE) -> None:
        self.host, self.name, self.patience = host, name, patience
        self.settings: dict[str, Any] = {"subprotocols": [Subprotocol("streamlit")]}
        self.query = ""
        self.page = ""
        self.ids: dict[str, str] = {}  # a component's name or a widget's key -> the id of this run
        self.seen: set[str] = set()  # of these, what the last run drew
        self.options: dict[str, list[str]] = {}  # a widget's key -> what can be chosen in it
        self.menus: set[str] = set()  # keys of the widgets that are menus
        self.labels: dict[str, str] = {}  # a text field's key -> its label
        self.states: dict[str, dict[str, Any]] = {}
        self.runs = 0
        self.large: dict[str, tuple[ForwardMsg, int]] = {}  # hash -> a large message, and the run that last used it
        self.numbers = b""  # the exact numbers that came last
        self.fragments: dict[str, str] = {}  # a component's name -> the fragment that draws it, if one does
        self.feeds: dict[str, bytes] = {}  # a component's name -> the bytes that came last for it
        self.data: dict[str, str] = {}  # a component's name -> the JSON that came last for it
        self.socket: ClientConnection | None = None

    async def open(self, **params: str) -> Run:
        """Follow a link."""
        await self.connect(**params)
        return await self._rerun()

    async def connect(self, **params: str) -> None:
        """The socket of a link, nothing asked for yet."""
        self.query = urlencode(params)
        await self.reconnect()

    async def reconnect(self) -> None:
        """A new socket for the page as it is."""
        self.socket = await connect(
            f"ws://{self.host}/_stcore/stream", max_size=None, compression=None, **self.settings
        )

    async def close(self) -> None:
        if self.socket is not None:
            await self.socket.close()

    async def vanish(self) -> None:
        """A browser that is gone without a word."""
        if self.socket is not None:
            if not self.socket.transport.is_closing():
                self.socket.transport.abort()
            await self.socket.wait_closed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def pick(self, view: View) -> Run:
        """A click in the picture: the view's new state goes to the server."""
        value = {**view.to_browser(), "revision": 0}  # nothing that a viewer does here makes the server count on
        run = await self.report("headscope.explorer", "view", value)
        head = json.dumps({"kind": view.kind, "layer": view.layer, "head": view.head}, separators=(",", ":"))
        if head[1:-1].encode() not in self.numbers:
            raise ViewerError(f"asked for {head}, other numbers came: {self.numbers[8:200]!r}")
        return run

    async def type(self, **texts: str) -> Run:
        """Enter in the field of that name."""
        for name, text in texts.items():
            self.states[name] = {"string_value": text}
        return await self._rerun()

    async def report(self, component: str, name: str, value: Mapping[str, Any]) -> Run:
        """A component's new state goes to the server."""
        self.states[component] = {"json_value": json.dumps({name: value})}
        return await self._rerun()

    async def choose(self, widget: str, number: int) -> Run:
        """A click on one of a widget's options, in a row of buttons or in a menu; number: from 0, in a circle."""
        options = self.options[widget]
        text = options[number % len(options)]
        menu = widget in self.menus
        self.states[widget] = {"string_value": text} if menu else {"string_array_value": StringArray(data=[text])}
        return await self._rerun()

    async def enter(self, field: str, number: float) -> Run:
        """A number in the field of that key."""
        self.states[field] = {"double_value": number}
        return await self._rerun()

    async def press(self, button: str) -> Run:
        """A click on a button, which counts for one run."""
        self.states[button] = {"trigger_value": True}
        try:
            return await self._rerun()
        finally:
            del self.states[button]

    async def trigger(self, component: str, event: str, value: Mapping[str, Any]) -> Run:
        """An event of a component, which counts for one run: of its fragment, if it has one."""
        inside = f"{INTERNAL}_{self.ids[component]}__events"
        self.ids[inside] = inside
        self.states[inside] = {"json_trigger_value": json.dumps([{"event": event, "value": value}])}
        try:
            return await self._rerun(self.fragments.get(component, ""))
        finally:
            del self.states[inside], self.ids[inside]

    async def refresh(self) -> Run:
        """A run without any change."""
        return await self._rerun()

    def _asking(self, fragment: str = "") -> bytes:
        """What a browser sends for a run of the page, or of one fragment of it."""
        state = ClientState(
            query_string=self.query, page_script_hash=self.page, page_name="" if self.page else self.name,
            fragment_id=fragment,
        )  # fmt: skip
        for name, value in self.states.items():
            if name in self.ids:
                state.widget_states.widgets.add(id=self.ids[name], **value)
        state.cached_message_hashes.extend(self.large.keys())
        state.context_info.url = f"http://{self.host}/"
        return BackMsg(rerun_script=state).SerializeToString()

    async def ask(self, **texts: str) -> None:
        """Enter in the fields of those names, without waiting for what comes of it, or reading it."""
        assert self.socket is not None
        for name, text in texts.items():
            self.states[name] = {"string_value": text}
        await self.socket.send(self._asking())

    async def _rerun(self, fragment: str = "") -> Run:
        """Ask for a run, and read what the server sends until its end."""
        assert self.socket is not None
        message, start = self._asking(fragment), time.perf_counter()
        await self.socket.send(message)
        return await self._read(start)

    async def listen(self) -> Run:
        """A run that the server starts by itself."""
        return await self._read(time.perf_counter())

    async def _read(self, start: float) -> Run:
        """What the server sends, to the end of a run."""
        assert self.socket is not None
        received = 0
        async with asyncio.timeout(self.patience):
            while True:
                data = await self.socket.recv()
                received += len(data)
                if self._take(ForwardMsg.FromString(data)):
                    milliseconds = (time.perf_counter() - start) * 1e3
                    self.runs += 1
                    self.large = {h: (m, run) for h, (m, run) in self.large.items() if self.runs - run <= REMEMBERED}
                    return Run(milliseconds, received)

    async def hear(self) -> None:
        """One message that the server sends by itself."""
        assert self.socket is not None
        async with asyncio.timeout(self.patience):
            self._take(ForwardMsg.FromString(await self.socket.recv()))

    def _take(self, message: ForwardMsg) -> bool:
        """Do with a message what the page does. True: the rerun is over."""
        if message.WhichOneof("type") == "ref_hash":
            message = self.large[message.ref_hash][0]
        if message.metadata.cacheable:
            self.large[message.hash] = (message, self.runs)
        kind = message.WhichOneof("type")
        if kind == "new_session":
            if not message.metadata.run.fragment_ids:
                self.seen.clear()
        elif kind == "navigation":
            self.page = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._draw(message.delta)
        elif kind == "script_finished":
            if message.script_finished not in (*WELL, ForwardMsg.FINISHED_EARLY_FOR_RERUN):
                raise ViewerError(
                    f"the script ended with {ForwardMsg.ScriptFinishedStatus.Name(message.script_finished)}"
                )
            return message.script_finished in WELL
        return False

    def _draw(self, delta: Delta) -> None:
        """Remember a component or a widget that the page draws."""
        sort = delta.new_element.WhichOneof("type")
        if sort not in (*WIDGETS, "bidi_component", "exception", "html"):
            return
        drawn: Any = getattr(delta.new_element, sort)
        if sort == "exception":
            raise ViewerError(f"{drawn.type}: {drawn.message}")
        if sort == "html":
            if "hs-message hs-error" in drawn.body:
                raise ViewerError(drawn.body)
            return
        name = drawn.component_name if sort == "bidi_component" else key_of(drawn.id)
        self.ids[name] = drawn.id
        self.seen.add(name)
        if sort == "bidi_component":
            self.fragments[name], self.feeds[name], self.data[name] = delta.fragment_id, drawn.bytes, drawn.json
            self.numbers = drawn.bytes if name == "headscope.feed" else self.numbers
        elif sort == "text_input":
            self.labels[name] = drawn.label
            if drawn.set_value or name not in self.states:
                self.states[name] = {"string_value": drawn.value if drawn.set_value else drawn.default}
        elif sort not in ("button", "radio") and drawn.set_value:  # Python's choice, which the browser takes over
            self.states.pop(name, None)
        if sort in ("radio", "selectbox", "button_group"):
            self.options[name] = [one if isinstance(one, str) else one.content for one in drawn.options]
            self.menus |= {name} if sort == "selectbox" else set()
