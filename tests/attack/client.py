"""An attacker without a browser: a viewer who sends what no page sends, and notes what comes back instead of failing.

    async with Attacker("localhost:8501", "training") as attacker:
        await attacker.open()
        await attacker.set("training_steps", double_value=math.nan)   # any field of Streamlit's WidgetState
        await attacker.trigger("headscope.training_file", "file", {"name": "a.zip", "data": "..."})
        attacker.boxes, attacker.errors

`Viewer` has the rest: `press`, `choose`, `type`, `report`, `ask`, `vanish`. Run coroutines with `run`.
"""

import asyncio
import html
import re
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.support.viewer import WELL, Run, Viewer, ViewerError, key_of

Answer = TypeVar("Answer")
BOX = re.compile(r'<div class="hs-message hs-(\w+)" role="status">(.*?)</div>', re.DOTALL)
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")  # of a session
MARK = "Never in a log: tomorrow I sing."  # a sentence that somebody typed
WIDGET = "$$ID-"  # before the id of every widget


def run(asked: Coroutine[Any, Any, Answer]) -> Answer:
    """`asyncio.run` in a thread of its own: in this one Playwright, once used, has a loop of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, asked).result()


class Attacker(Viewer):
    """session: its id in Streamlit. boxes: (kind, sentence) of every message box of the last run; errors: Streamlit's
    error boxes in it."""

    def __init__(self, host: str, name: str = "", patience: float = 60.0) -> None:
        super().__init__(host, name, patience)
        self.session = ""
        self.boxes: list[tuple[str, str]] = []
        self.errors: list[str] = []

    @property
    def said(self) -> str:
        """The sentences of all boxes of the last run, one a line."""
        return "\n".join(sentence for _, sentence in self.boxes)

    async def set(self, widget: str, **value: Any) -> Run:
        """Send any value for a widget. value: one field of WidgetState; it is sent again with every later run."""
        self.states[widget] = value
        return await self.refresh()

    async def reload(self, **params: str) -> Run:
        """Another session of the same page."""
        await self.close()
        for known in (self.ids, self.states, self.large, self.fragments, self.seen):
            known.clear()
        self.page = ""
        return await self.open(**params)

    async def send(self, message: BackMsg | bytes) -> None:
        """Any message, or bytes that are none, without waiting for an answer."""
        assert self.socket is not None
        await self.socket.send(message if isinstance(message, bytes) else message.SerializeToString())

    def _note_widget(self, widget: str) -> None:
        self.ids[key_of(widget)] = widget
        self.seen.add(key_of(widget))

    def _take(self, message: ForwardMsg) -> bool:
        if message.WhichOneof("type") == "ref_hash":
            message = self.large[message.ref_hash][0]
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.session = message.new_session.initialize.session_id or self.session
            self.boxes, self.errors = [], []
        elif kind == "session_event" and message.session_event.script_compilation_exception.message:
            self.errors.append(message.session_event.script_compilation_exception.message)
        elif kind == "script_finished":
            return message.script_finished in (*WELL, ForwardMsg.FINISHED_WITH_COMPILE_ERROR)
        elif kind == "delta":
            new, block = message.delta.new_element, message.delta.add_block
            element = new.WhichOneof("type") or ""
            if element == "html":
                self.boxes += [(box[1], html.unescape(box[2])) for box in BOX.finditer(new.html.body)]
            elif element == "exception":
                self.errors.append(f"{new.exception.type}: {new.exception.message}")
            elif element == "bidi_component":  # several figures have the same name
                self._note_widget(new.bidi_component.id)
                self.fragments[key_of(new.bidi_component.id)] = message.delta.fragment_id
            for there in (getattr(new, element, None), block.expandable, block.popover):
                if element != "bidi_component" and getattr(there, "id", "").startswith(WIDGET):
                    self._note_widget(there.id)
        try:
            return super()._take(message)
        except ViewerError:  # noted above
            return False
