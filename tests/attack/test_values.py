"""Values that no page of ours sends: one sentence, the session goes on, and the log stays short and without texts."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import StringArray
from websockets.exceptions import ConnectionClosedError
from websockets.typing import Subprotocol

from pages.registry import pages
from tests.attack.client import Attacker, run
from tests.attack.values import DEEP, ID, MARK, TYPED, Report, attack_page
from tests.support.server import start, stop

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="ends a group of processes")]
REFUSED = "A value that this page sent was not understood and is ignored. Everything else is as it was."
LINE = re.compile(r"Refused a value of kind \w+ for the widget [\w.]+")


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Host and log of a running app."""
    log = tmp_path_factory.mktemp("values") / "log.txt"
    process, address = start(log, HEADSCOPE_TRAININGS="0")
    yield address.removeprefix("http://"), log
    stop(process)


@pytest.mark.parametrize(
    "widget, value",
    [
        ("training_steps", {"double_value": math.nan}),
        ("training_steps", {"double_value": math.inf}),
        ("training_steps", {"string_value": MARK}),
        ("training_preset", {"string_array_value": StringArray()}),
        ("training_preset", {"int_value": 7}),
        ("training_scaled", {"bytes_value": MARK.encode()}),
        ("checkpoint", {"string_array_value": StringArray(data=[MARK])}),
        ("headscope.training", {"json_value": '{"ask": 1e999}'}),
        ("headscope.training", {"json_value": MARK}),
        ("headscope.training", {"json_value": '{"ask": ' + DEEP + "}"}),
    ],
)
def test_a_value_that_its_widget_cannot_have_is_one_sentence(
    serving: tuple[str, Path], widget: str, value: dict[str, object]
) -> None:
    host, log = serving

    async def attack() -> None:
        async with Attacker(host, "training") as attacker:
            await attacker.open(checkpoint="reverse")
            drawn, before = set(attacker.seen), len(log.read_text())
            await attacker.set(widget, **value)
            assert not attacker.errors and attacker.seen == drawn
            if value != {"string_array_value": StringArray()}:  # nothing chosen: the choice stays
                assert ("warning", REFUSED) in attacker.boxes
                lines = log.read_text()[before:].strip().splitlines()
                assert len(lines) == 1 and LINE.search(lines[0]), lines
            attacker.states.pop(widget, None)
            await attacker.refresh()
            assert not attacker.errors and REFUSED not in attacker.said and attacker.seen == drawn

    run(attack())


PAGES = [page.name for page in pages()]


def attacked(serving: tuple[str, Path], page: str, every: int, first: int = 0, most: int | None = None) -> Report:
    """What was sent to a page; none of it did harm."""
    host, log = serving
    report = Report(log)
    run(attack_page(host, page, report, every, first, most))
    assert not report.wrong, report.wrong[:20]
    text = log.read_text()
    assert "Traceback" not in text and not TYPED.search(text) and not ID.search(text), text[-3000:]
    return report


def test_a_whole_number_is_taken_as_browsers_send_it(serving: tuple[str, Path]) -> None:
    """As `int_value`, though Streamlit's number fields say that they take a `double_value`."""
    host, log = serving

    async def attack() -> None:
        async with Attacker(host, "training") as attacker:
            await attacker.open(checkpoint="reverse")
            before = len(log.read_text())
            await attacker.set("training_steps", int_value=77)
            assert not attacker.errors and REFUSED not in attacker.said and "steps=77" in attacker.query
            assert log.read_text()[before:] == ""

    run(attack())


@pytest.mark.parametrize("page", PAGES)
def test_no_value_breaks_a_page_or_reaches_the_log(serving: tuple[str, Path], page: str) -> None:
    """One value in 101, for the first part of the page."""
    kinds = {kind for _, kind in attacked(serving, page, every=101, first=PAGES.index(page), most=1).counts}
    assert {"parameters", "before their widgets"} <= kinds and len(kinds) > 3


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_no_value_of_many_breaks_a_page_or_reaches_the_log(serving: tuple[str, Path], page: str) -> None:
    assert attacked(serving, page, every=3).sent > 500


def test_the_log_has_no_session_in_full_and_no_text_of_an_error(serving: tuple[str, Path]) -> None:
    """A second connection to an open session, messages that are none, and one that has no handler."""
    host, log = serving

    async def attack() -> str:
        async with Attacker(host) as attacker, Attacker(host) as second:
            await attacker.open(source=MARK)
            before = len(log.read_text())
            # After "streamlit" and any word, the id of an open session asks for that session.
            second.settings["subprotocols"] = [Subprotocol(name) for name in ("streamlit", "x", attacker.session)]
            await second.open(source=MARK)
            assert second.session == attacker.session
            await second.send(BackMsg())
            await second.refresh()
            await second.send(MARK.encode())
            with pytest.raises(ConnectionClosedError):
                await second.refresh()
            return log.read_text()[before:]

    text = run(attack())
    assert "is already connected" in text and not ID.search(text), text
    assert MARK not in text and "Traceback" not in text, text
