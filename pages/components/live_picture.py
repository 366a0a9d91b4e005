"""What pictures are sent, and what those report that a browser with the engine draws by itself
(frontend/src/live/view.js)."""

from collections.abc import Mapping
from typing import Any

from pages.frame.frame import PageFrame
from pages.frame.state import current_state
from pages.runtime.session import reported_since
from transformer.view.languages import browser_texts


def for_browser(entry: str) -> dict[str, Any]:
    """What every picture is sent: whether the viewer has big text, and its texts. entry: the folder of its script in
    frontend/src."""
    state = current_state()
    return {"big": state is not None and state.view.big, "texts": browser_texts(entry)}


def chosen(key: str, frame: PageFrame) -> Mapping[str, Any]:
    """What a person chose in the picture of this key since Python's last change."""
    return reported_since(frame.state.revision, key, "state")


def sent(frame: PageFrame, entry: str, state: Mapping[str, Any], numbers: Mapping[str, Any] | None) -> dict[str, Any]:
    """The data of a picture. entry: the folder of its script in frontend/src; state: what is chosen; numbers: what is
    drawn, None if the browser computes it."""
    return {
        "model": frame.model.name,
        "state": state,
        "revision": frame.state.revision,
        "numbers": numbers,
        **for_browser(entry),
    }
