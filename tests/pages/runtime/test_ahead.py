"""Work done before anybody asks for it."""

from __future__ import annotations

from collections.abc import Callable

from pages.runtime.ahead import MOST_VIEWERS, Ahead
from pages.runtime.queue import TurnQueue
from tests.pages.runtime.test_queue import begin, until


def note(done: list[str], name: str) -> Callable[[], None]:
    return lambda: done.append(name)


def test_viewers_take_turns_and_an_error_ends_only_its_own_piece() -> None:
    queue, done = TurnQueue(1), list[str]()
    ahead = Ahead(queue, lambda _viewer: True, lambda: 1)
    with queue.turn():
        ahead.expect("a", [note(done, "a1"), lambda: 1 / 0, note(done, "a3")])
        ahead.expect("b", [note(done, "b1"), note(done, "b2")])
        until(lambda: queue.waiting == 1)
        assert not done
    until(lambda: len(done) == 4)
    assert done == ["a1", "b1", "a3", "b2"]  # after a1 came the error


def test_who_asks_for_something_now_goes_first() -> None:
    queue, done = TurnQueue(1), list[str]()
    ahead = Ahead(queue, lambda _viewer: True, lambda: 1)
    with queue.turn():
        ahead.expect("a", [note(done, "a1")])
        until(lambda: queue.waiting == 1)

        def click() -> None:
            with queue.turn():
                done.append("click")

        thread = begin(click)
        until(lambda: queue.waiting == 2)
    thread.join()
    until(lambda: len(done) == 2)
    assert done == ["click", "a1"]


def test_what_nobody_needs_any_more_is_left_out() -> None:
    queue, done, there = TurnQueue(1), list[str](), {"a", "b"}
    ahead = Ahead(queue, lambda viewer: viewer in there, lambda: 2)
    with queue.turn():
        ahead.expect("a", [note(done, "old"), note(done, "old")])
        until(lambda: queue.waiting == 1)
        ahead.expect("b", [note(done, "gone"), note(done, "gone")])
        ahead.expect("a", [note(done, "new")])
        there.discard("b")
    until(lambda: done == ["new"] and not ahead._running)
    assert not ahead._expected
    ahead.expect("a", [note(done, "later")])  # its thread had ended
    until(lambda: done == ["new", "later"])


def test_nothing_is_done_ahead_for_a_class_or_for_nobody() -> None:
    there, done = [0], list[str]()
    ahead = Ahead(TurnQueue(1), lambda _viewer: True, lambda: there[0])
    ahead.expect("a", [note(done, "for a test of a script")])
    there[0] = MOST_VIEWERS + 1
    ahead.expect("a", [note(done, "for many")])
    there[0] = MOST_VIEWERS
    ahead.expect("a", [note(done, "for few")])
    until(lambda: bool(done) and not ahead._running)
    assert done == ["for few"]
