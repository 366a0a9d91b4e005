"""Whole pages, run as scripts: hostile links, hostile typing, hostile reports of the browser, damaged checkpoints."""

import contextlib
import functools
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.frame.state import Session
from pages.registry import pages
from tests.fuzz import folders, links
from tests.fuzz.common import JSON, TYPED, kept_folder
from tests.support.app import kept
from transformer.live_training import training_queue

PAGES = tuple(page.name for page in pages())
GOOD = "mine"
NONE = training_queue.TrainingQueue(0, 60)  # lets nobody train: no process is started


@contextlib.contextmanager
def surroundings(folder: Path) -> Iterator[None]:
    """The environment in which the app finds the checkpoints of a folder before its own, and trains nothing."""
    found = {"HEADSCOPE_CHECKPOINTS": str(folder), "HEADSCOPE_MAX_TOKENS": "24"}
    with mock.patch.dict(os.environ, found), mock.patch.object(training_queue, "_shared", [NONE]):
        for name in ("HEADSCOPE_CHECKPOINT", "HEADSCOPE_DEVICE"):
            os.environ.pop(name, None)
        yield


@functools.cache
def good() -> Path:
    """A folder with one good checkpoint; it goes when the process ends."""
    folder = kept_folder()
    folders.write(folder / GOOD, dict(folders.base()))
    return folder


def messages(app: AppTest) -> list[str]:
    """The boxes of the page, as HTML."""
    return [one.proto.body for one in app.get("html") if 'class="hs-message' in one.proto.body]


def check(app: AppTest) -> None:
    """No traceback, whatever else is on the page."""
    assert not app.exception, [f"{one.message}\n{''.join(one.stack_trace)}"[-3_000:] for one in app.exception]
    for kind in ("html", "markdown", "caption", "error"):
        for one in app.get(kind):
            said = str(getattr(one.proto, "body", ""))
            assert "Traceback (most recent" not in said, said[:500]
    for said in messages(app):
        assert said.count("<") == 2, f"markup of a text stands in a message: {said[:400]}"


def type_or_choose(app: AppTest, data: st.DataObject) -> None:
    """Something typed, chosen, or reported by a browser that is none."""
    state = kept(app, Session).state
    kind = data.draw(st.sampled_from(("type", "choose", "number", "report")))
    if kind == "type" and app.text_input:
        data.draw(st.sampled_from(app.text_input)).set_value(links.sent(data.draw(TYPED)))
    elif kind == "choose" and (boxes := [box for box in app.selectbox if box.options]):
        box = data.draw(st.sampled_from(boxes))
        box.select_index(data.draw(st.integers(0, len(box.options) - 1)))
    elif kind == "number" and app.number_input:
        number = data.draw(st.sampled_from((0, 1, -1, 5, 10**6, 2**53)))
        data.draw(st.sampled_from(app.number_input)).set_value(number)
    elif state is not None:
        key, part = data.draw(st.sampled_from((("explorer", "view"), ("lab", "lab"), ("anatomy", "anatomy"))))
        report = data.draw(links.REPORTS)
        if isinstance(report, dict):
            report |= {"revision": state.revision, "switches": data.draw(JSON)}
        app.session_state[key] = {part: report}
