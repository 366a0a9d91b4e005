"""Values that no page of ours sends harm nobody but their sender, and the log stays without texts."""

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

from tests.attack.client import ID, MARK, Attacker, run
from tests.support.server import start, stop

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="ends a group of processes")]
TYPED = re.compile(r"tomorrow|Never in a log")


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
        ("training_steps", {"string_value": MARK}),
        ("training_preset", {"int_value": 7}),
        ("checkpoint", {"string_array_value": StringArray(data=[MARK])}),
        ("headscope.training", {"json_value": MARK}),
        ("headscope.training", {"json_value": '{"ask": 1e999}'}),
    ],
)
def test_a_value_that_its_widget_cannot_have_harms_nobody_else(
    serving: tuple[str, Path], widget: str, value: dict[str, object]
) -> None:
    """Streamlit may show its sender an error; the log has no typed text, and other sessions do not notice."""
    host, log = serving

    async def attack() -> None:
        async with Attacker(host, "training") as attacker, Attacker(host, "training") as other:
            await attacker.open(checkpoint="reverse")
            await other.open(checkpoint="reverse")
            drawn, before = set(other.seen), len(log.read_text())
            await attacker.set(widget, **value)
            await other.refresh()
            assert not other.errors and other.seen == drawn
            assert not TYPED.search(log.read_text()[before:])
            await attacker.reload(checkpoint="reverse")
            assert not attacker.errors and attacker.seen == drawn

    run(attack())


def test_a_whole_number_is_taken_as_browsers_send_it(serving: tuple[str, Path]) -> None:
    """As `int_value`, though Streamlit's number fields say that they take a `double_value`."""
    host, log = serving

    async def attack() -> None:
        async with Attacker(host, "training") as attacker:
            await attacker.open(checkpoint="reverse")
            before = len(log.read_text())
            await attacker.set("training_steps", int_value=77)
            assert not attacker.errors and "steps=77" in attacker.query
            assert log.read_text()[before:] == ""

    run(attack())


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
