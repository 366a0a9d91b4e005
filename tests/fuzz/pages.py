"""Whole pages, run as scripts: hostile links, hostile typing, hostile reports of the browser, damaged checkpoints."""

from __future__ import annotations

import contextlib
import functools
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from streamlit.testing.v1 import AppTest

from pages.registry import pages
from pages.runtime.shared import clear_caches
from tests.fuzz import folders, links
from tests.fuzz.common import anything, kept_folder, text
from tests.fuzz.folders import CARD
from tests.support.app import address, app_test, checkpoints
from transformer.checkpoints.folder import CONFIG, RECORDING
from transformer.live_training import workshop

PAGES = tuple(page.name for page in pages())
GOOD = "mine"
NONE = workshop.Workshop(0, 60)  # lets nobody train: no process is started


@contextlib.contextmanager
def surroundings(folder: Path) -> Iterator[None]:
    """The environment in which the app finds the checkpoints of a folder before its own, and trains nothing."""
    found = {"HEADSCOPE_CHECKPOINTS": str(folder), "HEADSCOPE_MAX_TOKENS": "24"}
    with mock.patch.dict(os.environ, found), mock.patch.object(workshop, "_shared", [NONE]):
        for name in ("HEADSCOPE_CHECKPOINT", "HEADSCOPE_DEVICE"):
            os.environ.pop(name, None)
        yield


@functools.cache
def good() -> Path:
    """A folder with one good checkpoint; it goes when the process ends."""
    folder = kept_folder()
    folders.write(folder / GOOD, dict(folders.base()))
    return folder


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


def _sent(said: str) -> str:
    """As it arrives: neither an address nor a message of a browser can hold half a character. JSON can."""
    return said.encode("utf-8", "replace").decode()


def _type(rng: random.Random, app: AppTest) -> None:
    """Something typed, chosen, or reported by a browser that is none."""
    state = app.session_state["headscope"] if "headscope" in app.session_state else None  # noqa: SIM401, it has no get
    kind = rng.randrange(4)
    if kind == 0 and app.text_input:
        rng.choice(app.text_input).set_value(_sent(text(rng)))
    elif kind == 1 and app.selectbox:
        box = rng.choice(app.selectbox)
        if box.options:
            box.select_index(rng.randrange(len(box.options)))
    elif kind == 2 and app.number_input:
        rng.choice(app.number_input).set_value(rng.choice((0, 1, -1, 5, 10**6, 2**53)))
    elif state is not None:
        key, part = rng.choice((("explorer", "view"), ("lab", "lab"), ("anatomy", "anatomy")))
        names = ("kind", "layer", "head", "cell", "switches", "zoom", "place", "step", "row", "col", "t", "threshold")
        values: dict[str, Any] = {name: anything(rng) for name in rng.sample(names, rng.randint(0, 6))}
        values["revision"] = state.revision
        app.session_state[key] = {part: values if rng.random() < 0.9 else anything(rng)}


def case(seed: int) -> None:
    """A page with a hostile link; then something is typed into it; and its own link opens the same again."""
    rng = random.Random(f"pages {seed}")
    page = rng.choice(PAGES)
    asked = {_sent(name): _sent(one)[:3_000] for name, one in links.params(rng, page).items()}
    if rng.random() < 0.6:  # a sentence that can be traced: what is below it is drawn too
        asked["source"] = rng.choice(("ka lo mi", "ti vu <b>zen</b>", "é 12 ﬁ"))
        asked["target"] = rng.choice(("", "mi nu", "</s> ka"))
    with surroundings(good()):
        app = opened(page, asked).run()
        check(app)
        if rng.random() < 0.4:
            _type(rng, app)
            check(app.run())
        if rng.random() < 0.3:
            found = address(app)
            again = opened(page, found).run()
            check(again)
            assert address(again) == found, (address(again), found)


def damaged_case(seed: int) -> None:
    """Beside a good checkpoint a damaged one: its page says what is wrong, and that of the good one does not mind."""
    rng = random.Random(f"damaged {seed}")
    with folders.damaged(seed) as (folder, mark, changed):
        folders.write(folder.parent / GOOD, dict(folders.base()))
        page = rng.choice(PAGES)
        with surroundings(folder.parent):
            app = opened(rng.choice(("model", page)), {"checkpoint": folder.name}).run()
            check(app)
            there = (folder / CONFIG).is_file()
            assert not there or folder.name in checkpoints(app)
            if set(changed) <= {CARD, RECORDING} or not there:
                assert "cannot be opened" not in " ".join(messages(app))
            other = opened(page, {"checkpoint": GOOD, "source": "ka lo"}).run()
            check(other)
            assert "cannot be opened" not in " ".join(messages(other))
        assert not mark.exists(), "code of a checkpoint was run"
    if seed % 50 == 0:
        clear_caches()
