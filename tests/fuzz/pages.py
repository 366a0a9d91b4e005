"""Whole pages, run as scripts beside the checkpoints of one folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from streamlit.testing.v1 import AppTest

from pages.registry import pages
from tests.support.app import app_test
from transformer.live_training import workshop

PAGES = tuple(page.name for page in pages())
NONE = workshop.Workshop(0, 60)  # lets nobody train: no process is started


@contextlib.contextmanager
def surroundings(folder: Path) -> Iterator[None]:
    """The environment in which the app finds the checkpoints of a folder before its own, and trains nothing."""
    found = {"HEADSCOPE_CHECKPOINTS": str(folder), "HEADSCOPE_MAX_TOKENS": "24"}
    with mock.patch.dict(os.environ, found), mock.patch.object(workshop, "_shared", [NONE]):
        for name in ("HEADSCOPE_CHECKPOINT", "HEADSCOPE_DEVICE"):
            os.environ.pop(name, None)
        yield


def opened(page: str, asked: dict[str, str]) -> AppTest:
    """A page as a link opens it; not yet run."""
    return app_test(page, **asked)


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
