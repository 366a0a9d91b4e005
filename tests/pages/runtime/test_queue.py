"""The queue before the model."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from streamlit import runtime
from streamlit.runtime.scriptrunner import StopException

from pages.runtime import queue, shared
from pages.runtime.queue import MODEL_QUEUE, TurnQueue, stop_if_gone
from pages.runtime.shared import SharedCache
from tests.support.build import tiny_pretrained
from transformer.tracing.trace import Trace


class Gone(BaseException):
    """A run that was ended; Streamlit's own are no Exception either."""


def nobody_left() -> None:
    """Who waits is still there."""


def begin(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.001)


def queue_up(
    queue: TurnQueue, names: str, work: Callable[[str], None], look: dict[str, Callable[[], None]]
) -> list[Any]:
    """A thread a name, each in the queue before the next comes."""
    threads = []
    for place, name in enumerate(names, 1):

        def run(name: str = name) -> None:
            try:
                with queue.turn(look.get(name, nobody_left)):
                    work(name)
            except Gone:
                pass

        threads.append(begin(run))
        until(lambda place=place: queue.waiting == place)  # type: ignore[misc]
    return threads


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "LOOK", 0.01)


def test_turns_come_in_the_order_of_asking_and_none_is_lost() -> None:
    queue, served, inside, most = TurnQueue(1), [], [], []

    def work(name: str) -> None:
        inside.append(name)
        most.append(len(inside))
        served.append(name)
        inside.remove(name)

    with queue.turn(nobody_left):
        threads = queue_up(queue, "abcdefghij", work, {})
        assert served == []
    for thread in threads:
        thread.join(20)
    assert "".join(served) == "abcdefghij" and max(most) == 1 and queue.waiting == 0


def test_as_many_are_let_in_as_there_is_room_for() -> None:
    queue, together, inside = TurnQueue(3), threading.Barrier(3, timeout=20), []

    def work() -> None:
        with queue.turn(nobody_left):
            inside.append(together.wait())

    threads = [begin(work) for _ in range(3)]
    for thread in threads:
        thread.join(20)
    assert sorted(inside) == [0, 1, 2]


def test_who_left_gives_up_the_place_and_is_not_served() -> None:
    queue, served, left = TurnQueue(1), [], threading.Event()

    def look() -> None:
        if left.is_set():
            raise Gone

    with queue.turn(nobody_left):
        threads = queue_up(queue, "abc", served.append, {"b": look})
        left.set()
        until(lambda: queue.waiting == 2)  # while somebody else still works
    for thread in threads:
        thread.join(20)
    assert served == ["a", "c"] and queue.waiting == 0


def test_who_left_just_before_their_turn_hands_it_on() -> None:
    queue, served = TurnQueue(1), []

    def look() -> None:
        raise Gone

    queue.LOOK = 30.0  # nobody looks while they wait (the fixture puts it back)
    with queue.turn(nobody_left):
        threads = queue_up(queue, "ab", served.append, {"a": look})
    for thread in threads:
        thread.join(20)
    assert served == ["b"]
    with pytest.raises(Gone), queue.turn(look):
        served.append("at once")
    with queue.turn(nobody_left):
        assert served == ["b"]


def test_work_that_fails_hands_the_turn_on_and_a_turn_is_not_waited_for_twice() -> None:
    queue = TurnQueue(1)
    with pytest.raises(ZeroDivisionError), queue.turn(nobody_left):
        _ = 1 // 0
    with queue.turn(nobody_left), queue.turn(nobody_left):
        assert queue.waiting == 0


def test_the_runs_of_who_left_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Server:
        here = True

        def is_active_session(self, session: str) -> bool:
            assert session == "one"
            return self.here

    server = Server()
    stop_if_gone()  # without Streamlit
    monkeypatch.setattr(queue, "session_id", lambda: "one")
    stop_if_gone()  # without a server
    monkeypatch.setattr(runtime, "exists", lambda: True)
    monkeypatch.setattr(runtime, "get_instance", lambda: server)
    stop_if_gone()
    server.here = False
    ended: list[bool] = []
    monkeypatch.setattr(queue.st, "stop", lambda: (_ for _ in ()).throw(StopException()))
    with pytest.raises(StopException):
        stop_if_gone()
    with pytest.raises(StopException), MODEL_QUEUE.turn():
        ended.append(True)
    assert not ended and MODEL_QUEUE.waiting == 0


def test_what_two_ask_for_at_once_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    queue, kept, made = TurnQueue(1), SharedCache[Trace](2**30), []
    monkeypatch.setattr(shared, "MODEL_QUEUE", queue)
    model = tiny_pretrained()

    def make() -> Trace:
        made.append(1)
        return model.trace("ka", "lo")

    found: list[Trace] = []
    with queue.turn(nobody_left):
        threads = [begin(lambda: found.append(kept.get("ka", make, queued=True))) for _ in range(2)]
        until(lambda: queue.waiting == 2)
    for thread in threads:
        thread.join(20)
    assert len(found) == 2 and found[0] is found[1] and len(made) == 1
