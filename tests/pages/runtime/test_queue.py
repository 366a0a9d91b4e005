"""The queue for passes of a model."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from streamlit import runtime
from streamlit.runtime.scriptrunner import StopException

from pages.runtime import queue, shared
from pages.runtime.queue import (
    HALF_LIFE,
    MODEL_QUEUE,
    MOST_DELAY,
    MOST_VIEWERS,
    RecentUse,
    TurnQueue,
    let_give_way,
    stop_if_gone,
)
from pages.runtime.shared import SharedCache
from tests.support.build import tiny_pretrained
from transformer.probing.importance import all_heads, without
from transformer.tracing.trace import Trace


class Gone(BaseException):
    """The run was ended; Streamlit's exceptions for this are not subclasses of Exception either."""


def nobody_left() -> None:
    """All waiting viewers are still there."""


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
    """One thread per name, each in the queue before the next one starts."""
    threads = []
    for count, name in enumerate(names, 1):

        def run(name: str = name) -> None:
            try:
                with queue.turn(look.get(name, nobody_left)):
                    work(name)
            except Gone:
                pass

        threads.append(begin(run))
        until(lambda place=count: queue.waiting == place)  # type: ignore[misc]
    return threads


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "CHECK_EVERY", 0.01)


def test_turns_are_in_order_and_complete() -> None:
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


def test_who_had_much_lately_lets_those_pass_who_had_little(monkeypatch: pytest.MonkeyPatch) -> None:
    names = threading.local()
    monkeypatch.setattr(queue, "session_id", lambda: getattr(names, "own", ""))
    turns, served = TurnQueue(1), []
    turns.recent_use.add("much", 10 * MOST_DELAY)
    turns.recent_use.add("some", 5.0)

    def ask(name: str, delay: float) -> None:
        names.own = name
        with turns.turn(nobody_left, delay):
            served.append(name)

    with turns.turn(nobody_left):
        threads = []
        for place, (name, delay) in enumerate(
            [("much", 0.0), ("some", 0.0), ("new", 0.0), ("long", MOST_DELAY + 2)], 1
        ):
            threads.append(begin(lambda name=name, delay=delay: ask(name, delay)))  # type: ignore[misc]
            until(lambda place=place: turns.waiting == place)  # type: ignore[misc]
    for thread in threads:
        thread.join(20)
    assert served == ["new", "some", "much", "long"]  # never later than by MOST_DELAY
    assert turns.recent_use.of("new") > 0 == turns.recent_use.of("nobody")


def test_use_halves_and_is_bounded() -> None:
    now = [100.0]
    use = RecentUse(lambda: now[0])
    use.add("a", 8.0)
    now[0] += HALF_LIFE
    use.add("a", 1.0)
    use.add("", 5.0)
    assert (use.of("a"), use.of(""), use.of("b")) == (5.0, 0.0, 0.0)
    for number in range(2 * MOST_VIEWERS):
        use.add(f"viewer {number}", 0.001)
    assert len(use._used) <= MOST_VIEWERS and use.of("a") == 5.0


def test_the_queue_lets_in_only_its_number_of_threads() -> None:
    queue, together, inside = TurnQueue(3), threading.Barrier(3, timeout=20), []

    def work() -> None:
        with queue.turn(nobody_left):
            inside.append(together.wait())

    threads = [begin(work) for _ in range(3)]
    for thread in threads:
        thread.join(20)
    assert sorted(inside) == [0, 1, 2]


def test_a_viewer_who_left_loses_the_turn_in_the_queue() -> None:
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


def test_a_viewer_who_leaves_right_before_the_turn_passes_it_on() -> None:
    queue, served = TurnQueue(1), []

    def look() -> None:
        raise Gone

    queue.CHECK_EVERY = 30.0  # nobody looks while they wait (the fixture puts it back)
    with queue.turn(nobody_left):
        threads = queue_up(queue, "ab", served.append, {"a": look})
    for thread in threads:
        thread.join(20)
    assert served == ["b"]
    with pytest.raises(Gone), queue.turn(look):
        served.append("at once")
    with queue.turn(nobody_left):
        assert served == ["b"]


def test_failed_work_passes_the_turn_on_and_nested_turns_do_not_wait() -> None:
    queue = TurnQueue(1)
    with pytest.raises(ZeroDivisionError), queue.turn(nobody_left):
        _ = 1 // 0
    with queue.turn(nobody_left), queue.turn(nobody_left):
        assert queue.waiting == 0


def test_runs_end_when_their_viewer_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_two_calls_at_once_make_a_value_once(monkeypatch: pytest.MonkeyPatch) -> None:
    queue, cache_, made = TurnQueue(1), SharedCache[Trace]("traces"), []
    monkeypatch.setattr(shared, "MODEL_QUEUE", queue)
    model = tiny_pretrained()

    def make() -> Trace:
        made.append(1)
        return model.trace("ka", "lo")

    results: list[Trace] = []
    with queue.turn(nobody_left):
        threads = [begin(lambda: results.append(cache_.get("ka", make, queued=True))) for _ in range(2)]
        until(lambda: queue.waiting == 2)
    for thread in threads:
        thread.join(20)
    assert len(results) == 2 and results[0] is results[1] and len(made) == 1


def test_short_work_passes_long_work_within_limits() -> None:
    """A long text waits for short ones that come within its delay, not for later ones."""
    queue, served = TurnQueue(1), []

    def wait(name: str, delay: float) -> threading.Thread:
        def run() -> None:
            with queue.turn(nobody_left, delay):
                served.append(name)

        count = queue.waiting
        thread = begin(run)
        until(lambda: queue.waiting == count + 1)
        return thread

    with queue.turn(nobody_left):
        threads = [wait("long", 100.0), wait("short", 0.0), wait("longer", 200.0), wait("late", 150.0)]
    for thread in threads:
        thread.join(20)
    assert served == ["short", "long", "late", "longer"]


def test_long_work_lets_short_work_pass_between_its_steps_and_goes_on() -> None:
    queue, order = TurnQueue(1), []

    def short(name: str) -> None:
        with queue.turn(nobody_left):
            order.append(name)

    def step(name: str) -> None:
        """Of work that holds the turn, with somebody who comes during it."""
        threads.append(begin(lambda: short(name)))
        until(lambda: queue.waiting == 1)
        queue.give_way()
        order.append(f"after {name}")

    threads: list[threading.Thread] = []
    with queue.turn(nobody_left):
        step("early")  # the work has taken less than SLACK
        turn = queue._turn()
        assert turn is not None
        turn.since -= MOST_DELAY  # as if it had taken long
        queue.give_way()
        step("late")
        turn.used = 0.0
        with queue.turn(nobody_left):  # a turn inside the turn gives way as well
            turn.since -= MOST_DELAY
            step("nested")
    for thread in threads:
        thread.join(20)
    assert order == ["after early", "early", "late", "after late", "nested", "after nested"]
    assert queue.waiting == queue.running == 0
    queue.give_way()  # nothing happens without a turn


def test_work_of_a_viewer_who_leaves_ends_where_it_gives_way() -> None:
    queue, here = TurnQueue(1), [True]

    def look() -> None:
        if not here[0]:
            raise Gone

    def short() -> None:
        with queue.turn(nobody_left):
            pass

    with pytest.raises(Gone), queue.turn(look, background=True):
        other = begin(short)
        until(lambda: queue.waiting == 1)
        here[0] = False
        queue.give_way()
    other.join(20)
    assert queue.running == queue.waiting == 0


def test_who_needs_what_a_thread_that_gave_way_makes_waits_without_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    queue, values = TurnQueue(1), SharedCache[str]("test")
    monkeypatch.setattr(shared, "MODEL_QUEUE", queue)
    found: list[str] = []

    def ask(last: bool) -> None:
        with queue.turn(nobody_left, background=last):
            found.append(values.get("key", make))

    def make() -> str:
        threads.append(begin(lambda: ask(False)))
        until(lambda: queue.waiting == 1)
        queue.give_way()  # the other one gets the turn, and needs this value
        return "value"

    threads: list[threading.Thread] = []
    threads.append(begin(lambda: ask(True)))
    until(lambda: len(found) == 2)
    for thread in threads:
        thread.join(20)
    assert found == ["value", "value"] and queue.running == queue.waiting == 0


def test_a_pass_of_an_opened_model_gives_way_before_each_sub_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    model, ways = tiny_pretrained(), []
    before = model.trace("ka lo", "lo ka")
    monkeypatch.setattr(MODEL_QUEUE, "give_way", lambda: ways.append(1))
    let_give_way(model.model)
    after = model.trace("ka lo", "lo ka")
    config = model.config
    assert len(ways) == 2 * config.encoder_layers + 3 * config.decoder_layers
    assert torch.equal(before.logits, after.logits)
    first = all_heads(config)[0]
    ways.clear()
    without(model, [first]).trace("ka lo", "lo ka")  # a model made from it does so too
    assert len(ways) == 2 * config.encoder_layers + 3 * config.decoder_layers
