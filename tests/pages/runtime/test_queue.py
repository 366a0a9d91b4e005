"""The queue for passes of a model."""

import threading
import time
from collections.abc import Callable

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


def joined(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def queue_up(
    queue: TurnQueue, names: str, work: Callable[[str], None], look: dict[str, Callable[[], None]]
) -> list[threading.Thread]:
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
    joined(threads)
    assert "".join(served) == "abcdefghij" and max(most) == 1 and queue.waiting == 0


def test_short_work_and_who_had_little_lately_pass_others_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    names = threading.local()
    monkeypatch.setattr(queue, "session_id", lambda: getattr(names, "own", ""))

    def served(turns: TurnQueue, asked: list[tuple[str, float]]) -> list[str]:
        """The order in which viewers are served who ask for work of some delay one after the other."""
        order: list[str] = []

        def ask(name: str, delay: float) -> None:
            names.own = name
            with turns.turn(nobody_left, delay):
                order.append(name)

        with turns.turn(nobody_left):
            threads = []
            for place, (name, delay) in enumerate(asked, 1):
                threads.append(begin(lambda name=name, delay=delay: ask(name, delay)))  # type: ignore[misc]
                until(lambda place=place: turns.waiting == place)  # type: ignore[misc]
        joined(threads)
        return order

    turns = TurnQueue(1)
    turns.recent_use.add("much", 10 * MOST_DELAY)
    turns.recent_use.add("some", 5.0)
    asked = [("much", 0.0), ("some", 0.0), ("new", 0.0), ("long", MOST_DELAY + 2)]
    assert served(turns, asked) == ["new", "some", "much", "long"]  # never later than by MOST_DELAY
    assert turns.recent_use.of("new") > 0 == turns.recent_use.of("nobody")
    # A long text waits for short ones that come within its delay, not for later ones.
    asked = [("long", 100.0), ("short", 0.0), ("longer", 200.0), ("late", 150.0)]
    assert served(TurnQueue(1), asked) == ["short", "long", "late", "longer"]


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
    joined(threads)
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
    joined(threads)
    assert served == ["a", "c"] and queue.waiting == 0


def test_a_turn_that_is_not_used_is_passed_on() -> None:
    queue, served = TurnQueue(1), []

    def look() -> None:
        raise Gone

    queue.CHECK_EVERY = 30.0  # nobody looks while they wait (the fixture puts it back)
    with queue.turn(nobody_left):
        threads = queue_up(queue, "ab", served.append, {"a": look})
    joined(threads)
    with pytest.raises(Gone), queue.turn(look):  # the viewer leaves right before the turn
        served.append("at once")
    with pytest.raises(ZeroDivisionError), queue.turn(nobody_left):
        _ = 1 // 0
    with queue.turn(nobody_left), queue.turn(nobody_left):  # a nested turn does not wait
        assert queue.waiting == 0 and served == ["b"]


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
    joined(threads)
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
    joined(threads)
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
