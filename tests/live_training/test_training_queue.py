"""The queue of trainings: turns, limits, viewers who leave, and that no worker is left however a run ends."""

import contextlib
import gc
import os
import random
import signal
import threading
import time
import weakref
from collections.abc import Callable

import pytest

from tests.support.training_queues import LONG, Fake, Start, ended, trains, until, watched, workers
from transformer.live_training import training_queue
from transformer.live_training.live_run import LiveRun
from transformer.live_training.training_queue import MOST_PER_VIEWER, MOST_WAITING, QueueError, starts, turns

# -- turns, by hand ---------------------------------------------------------------------------------------------------


def owners(text: str) -> list[tuple[object, object]]:
    """ "a@x b@y" -> runs of the viewers a and b at the addresses x and y; "a": at an address that nobody else has."""
    return [(word.partition("@")[0], word.partition("@")[2] or object()) for word in text.split()]


CASES = {
    "arrival, if all are equal": ("a b c", "", "a b c"),
    "every first run before any second": ("a a b a b c", "", "a b c a b a"),
    "a running run counts as a first": ("a b", "a", "b a"),
    "addresses take turns": ("a@x b@x c@x d@y e@z", "", "a@x d@y e@z b@x c@x"),
    "an address whose run trains waits": ("a@x b@x c@y", "z@x", "c@y a@x b@x"),
    "a newcomer goes before the second of every address": ("a@x b@x c@y d@y e@z", "f@x g@y", "e@z a@x c@y b@x d@y"),
    "no second run before a first, whatever the address": ("a@x a@x b@y b@y c@y", "", "a@x b@y c@y a@x b@y"),
    "one viewer at two addresses is one viewer": ("a@x a@y b@x", "", "a@x b@x a@y"),
    "viewers without an address do not share one": ("a b c@x d@x e", "", "a b c@x e d@x"),
}


@pytest.mark.parametrize("case", CASES)
def test_turns(case: str) -> None:
    waiting, running, expected = CASES[case]
    assert [waiting.split()[index] for index in turns(owners(waiting), owners(running))] == expected.split()


def test_waiting_times() -> None:
    """Two train for 10 and 30 more seconds; those that follow take 40: at 10, 30, 50, 70, 90."""
    assert starts([30, 10], 40, 5) == [10, 30, 50, 70, 90]
    assert starts([30, 10], 40, 0) == [] and starts([5], 7, 3) == [5, 12, 19]
    assert starts([], 7, 1) == [0.0]  # nothing runs


# -- with processes ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_from_beginning_to_end(start: Start) -> None:
    """Its experiment fits into no pipe, and its worker starts slowly: nobody waits for it but its own thread."""
    queue = start(behaviour="slow")
    run = queue.submit(Fake(steps=7, more="\N{SNOWMAN}" * 500_000), watched)
    assert run.stage == "starting" and run.place == 0 and len(run.id) == 12
    ended(run)
    assert (run.stage, run.reason, run.error, run.result, run.step) == ("done", "steps", "", b"zip of 7", 7)
    assert run.opening is not None and run.opening.target_out == ("b", "</s>") and run.limit == 1e5
    assert [frame.step for frame in run.frames] == list(range(8))
    assert all(set(frame.weights) == {frame.step} for frame in run.frames) and run.frames[3].outputs == ("b", "x")
    assert queue.running == queue.waiting == 0 and not workers()


@pytest.mark.slow
def test_the_queue_does_not_keep_ended_runs(start: Start) -> None:
    """Nor what knew their viewer: a session's memory would stay with it."""

    class Session:
        def there(self) -> bool:
            return True

    queue, session = start(most=2), Session()
    runs = [queue.submit(Fake(), session.there) for _ in range(5)]
    references = [weakref.ref(run) for run in runs] + [weakref.ref(session)]
    ended(*runs)
    other = queue.submit(LONG, watched)  # threads and processes go on
    del session
    gc.collect()
    assert references[-1]() is None
    del runs
    until(lambda: gc.collect() >= 0 and all(one() is None for one in references))
    assert other.stage != "done"


@pytest.mark.slow
def test_first_come_first_served(start: Start) -> None:
    queue = start(most=2)
    runs = [queue.submit(LONG, watched) for _ in range(6)]
    assert [run.place for run in runs] == [0, 0, 1, 2, 3, 4]
    assert [run.stage for run in runs[2:]] == ["waiting"] * 4 and (queue.running, queue.waiting) == (2, 4)
    runs[4].stop()  # in the middle of the queue
    assert (runs[4].stage, runs[4].reason, runs[4].place) == ("done", "stopped", 0) and queue.waiting == 3
    until(lambda: [run.place for run in runs] == [0, 0, 1, 2, 0, 3])
    for number, (leaving, following) in enumerate(((1, 2), (0, 3), (2, 5))):
        trains(runs[leaving])
        runs[leaving].stop()
        ended(runs[leaving])
        trains(runs[following])
        assert (runs[leaving].reason, runs[leaving].result) == ("stopped", b"zip")
        assert (queue.running, queue.waiting) == (2, 2 - number)
    assert [run.place for run in runs] == [0] * 6


@pytest.mark.slow
def test_a_free_process_means_no_wait_and_a_first_run_waits_less_than_a_second(start: Start) -> None:
    queue = start(seconds=50)
    assert queue.expected_wait("a") == 0
    run = queue.submit(Fake(steps=100_000, pause=0.01), watched, "a")
    trains(run)
    waiting = [queue.submit(LONG, watched, "b") for _ in range(3)]
    until(lambda: run.seconds > 0.1 and waiting[2].wait)
    soon, late = queue.expected_wait("c") or 0.0, queue.expected_wait("a") or 0.0
    assert 0 < soon < late and waiting[0].place == 1
    first, second, third = (one.wait or 0.0 for one in waiting)
    so_far, total = run.duration() or (0.0, 0.0)
    assert 0 < first < second < third and 0 < so_far < total
    assert total < 0.02 * 100_000  # its time is over after 50 s of a core, step 5,000


@pytest.mark.slow
def test_a_full_queue_refuses_runs_with_a_message(start: Start) -> None:
    queue = start()
    for _ in range(1 + MOST_WAITING):
        queue.submit(LONG, watched)
    with pytest.raises(
        QueueError, match=rf"^the queue is full, {MOST_WAITING} runs are waiting; try again in a few minutes$"
    ):
        queue.submit(LONG, watched)
    assert (queue.running, queue.waiting) == (1, MOST_WAITING)


@pytest.mark.slow
def test_the_runs_of_one_viewer_are_limited(start: Start) -> None:
    queue = start()
    runs = [queue.submit(LONG, watched, viewer="a") for _ in range(MOST_PER_VIEWER)]
    with pytest.raises(
        QueueError, match=f"^you already have {MOST_PER_VIEWER} runs, the limit for one viewer; stop one"
    ):
        queue.submit(LONG, watched, viewer="a")
    assert queue.submit(LONG, watched, viewer="b").place == 1  # one of "a" trains already
    runs[2].stop()
    assert queue.submit(LONG, watched, viewer="a").place == MOST_PER_VIEWER


@pytest.mark.slow
def test_one_address_cannot_fill_the_queue(start: Start) -> None:
    """Second runs get a third of the queue, first runs half of it; a viewer of another address is the next, and its
    address gets half of the rest."""
    queue = start()

    def submit(address: str, *viewers: int) -> None:
        for viewer in viewers:
            queue.submit(LONG, watched, f"{viewer}@{address}", address)

    submit("x", *range(1 + MOST_WAITING // 3))  # one trains
    for viewer, half in ((0, MOST_WAITING // 3), (MOST_WAITING, MOST_WAITING // 2)):
        submit("x", *range(1 + queue.waiting, 1 + half))
        with pytest.raises(QueueError, match=f"^{half} runs from your network address are waiting already; try"):
            submit("x", viewer)
    assert queue.submit(LONG, watched, "v", "y").place == 1
    submit("y", *range(MOST_WAITING // 4))
    with pytest.raises(QueueError, match=f"^{1 + MOST_WAITING // 4} runs from your network address"):
        submit("y", MOST_WAITING)
    assert queue.submit(LONG, watched, "w").place == 2


@pytest.mark.slow
def test_a_queue_without_trainings_or_that_is_closed_refuses_runs(start: Start) -> None:
    queue = start(most=0)
    queue.prepare()
    with pytest.raises(QueueError, match=r"^training is switched off on this server; .* headscope --trainings N$"):
        queue.submit(Fake(), watched)
    assert not workers()
    queue = start()
    runs = [queue.submit(LONG, watched) for _ in range(3)]
    queue.prepare()
    queue.close()
    assert not workers()
    ended(*runs)
    assert [run.reason for run in runs] == ["left"] * 3
    queue.prepare()
    with pytest.raises(QueueError, match="^the server is shutting down"):
        queue.submit(LONG, watched)


def test_a_run_whose_thread_cannot_be_started_is_refused(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def start_thread(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    queue = start()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start_thread)
        with pytest.raises(QueueError, match=r"^the machine is busy \(can't start new thread\); try again"):
            queue.submit(LONG, watched)
    assert (queue.running, queue.waiting) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["starting", "training", "paused", "waiting"])
def test_a_viewer_who_leaves_gives_up_the_run(start: Start, stage: str) -> None:
    queue, there = start(behaviour="unread" if stage == "starting" else "well"), threading.Event()
    there.set()
    if stage == "waiting":
        first = queue.submit(LONG, watched)
    run = queue.submit(LONG, there.is_set)
    behind = queue.submit(LONG, watched)
    if stage == "starting":
        until(lambda: workers())
    elif stage != "waiting":
        trains(run)
    if stage == "paused":
        run.pause()
    assert run.stage == stage
    there.clear()
    ended(run)
    assert (run.stage, run.reason, run.error, run.result) == ("done", "left", "", None)
    if stage == "waiting":
        until(lambda: behind.place == 1)
        assert not first.ended
    else:
        until(lambda: behind.stage == ("starting" if stage == "starting" else "training"))


@pytest.mark.slow
def test_a_viewer_who_returns_in_time_keeps_the_run(start: Start) -> None:
    """Away for a moment, as a browser that lost its connection; and a question that fails is no answer."""
    queue, asked = start(unwatched=0.5), 0

    def asks() -> bool:
        nonlocal asked
        asked += 1
        if asked % 3 == 0:
            raise RuntimeError("no such session")
        return asked % 3 == 1

    run = queue.submit(LONG, asks)
    until(lambda: asked > 60)
    assert not run.ended


@pytest.mark.slow
def test_the_time_limit_is_the_workers(start: Start) -> None:
    run = start(seconds=0.25).submit(Fake(steps=90), watched)
    ended(run)
    assert (run.stage, run.reason, run.result, run.limit) == ("done", "time", b"zip", 0.25) and run.step == 26


@pytest.mark.slow
def test_a_pause_holds_and_ends(start: Start) -> None:
    """Any number of them: a short one counts as a second, so that the commands fit into a pipe that nobody reads."""
    run = start(pauses=1.6).submit(LONG, watched)
    trains(run)
    assert run.pause_left == 1.6
    run.pause()
    run.pause()
    assert run.stage == "paused"
    run.go_on()
    assert run.stage == "training" and run.pause_left == pytest.approx(0.6)
    run.pause()
    until(lambda: run.stage == "training")  # by itself
    assert run.pause_left == 0
    for _ in range(5_000):
        run.pause()
        run.go_on()
    assert run.stage == "training"
    seen = len(run.frames)
    until(lambda: len(run.frames) > seen + 3)
    run.stop()
    run.pause()  # too late
    assert run.stage != "paused"
    ended(run)
    assert (run.reason, run.result) == ("stopped", b"zip")


# -- the worker that was started ahead --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_worker_is_started_ahead_once_and_used(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """While somebody has the page open, or a run waits."""
    monkeypatch.setattr(training_queue, "SPARE_EVERY", 0.0)
    queue = start(spare=0.5)
    for _ in range(5):
        queue.prepare()
    until(lambda: queue._spare is not None)
    (ahead,) = workers()
    first = queue.submit(LONG, watched)
    trains(first)
    assert first._worker is not None and first._worker.pid == ahead
    second = queue.submit(LONG, watched)
    until(lambda: queue._spare is not None)
    spare = queue._spare
    assert len(workers()) == 2
    first.stop()
    trains(second)
    assert second._worker is spare
    queue.prepare()
    until(lambda: queue._spare is not None)
    until(lambda: len(workers()) == 1)  # nobody used it
    second.stop()
    until(lambda: not workers() and queue._checker is None)


@pytest.mark.slow
def test_a_dead_spare_worker_is_not_used_and_another_one_starts_later(start: Start) -> None:
    queue = start(most=2)
    queue.prepare()
    until(lambda: queue._spare is not None)
    spare = queue._spare
    assert spare is not None
    os.kill(spare.pid, signal.SIGKILL)
    until(lambda: not spare.alive())
    run = queue.submit(Fake(), watched)
    ended(run)
    assert run.reason == "steps" and not workers()  # not at once: it could die again


# -- at any moment ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 6))])
def test_anything_at_any_moment(start: Start, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred things that people and the system do, in any order: every run ends as one of those that can be, none
    keeps a place, and (the fixture) nothing is left."""
    rng = random.Random(seed)
    queue = start(most=2, unwatched=0.05, pauses=2, spare=0.1)
    monkeypatch.setattr(training_queue, "SPARE_EVERY", 0.0)
    runs: list[LiveRun] = []
    left: set[int] = set()

    def submit() -> None:
        number = len(runs)
        fake = Fake(steps=rng.choice((0, 1, 5, 100_000)), pause=rng.choice((0.0, 0.01)))
        runs.append(queue.submit(fake, lambda: number not in left))

    def kill() -> None:
        processes = list(workers())
        with contextlib.suppress(ProcessLookupError, IndexError):  # gone since it was listed; there is none
            os.kill(rng.choice(processes), rng.choice((signal.SIGTERM, signal.SIGKILL)))

    def leave() -> None:
        left.add(rng.randrange(len(runs)))

    def wait() -> None:
        time.sleep(rng.choice((0.0, 0.001, 0.01, 0.05)))

    submit()
    deeds: list[Callable[[], None]] = [submit, wait, wait, queue.prepare, leave]
    deeds += [lambda name=name: getattr(rng.choice(runs), name)() for name in ("pause", "go_on", "stop")]  # type: ignore[misc]
    deeds += [kill] if os.name == "posix" else []
    for _ in range(200):
        rng.choice(deeds)()
        assert queue.running <= 2 and len(workers()) <= 3
        assert queue.waiting == sum(run.stage == "waiting" for run in runs)
    left.update(range(len(runs)))
    ended(*runs)
    assert {run.reason for run in runs} <= {"steps", "stopped", "left", "died"}
    assert all(run.result is None or run.reason in ("steps", "stopped") for run in runs)
    until(lambda: queue.running == 0 and queue.waiting == 0)


# -- the queue of the process -----------------------------------------------------------------------------------------


def test_a_process_has_one_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_queue, "_shared", [])
    monkeypatch.setenv("HEADSCOPE_TRAININGS", "3")
    monkeypatch.setenv("HEADSCOPE_TRAINING_SECONDS", "45")
    queue = training_queue.shared()
    try:
        assert queue is training_queue.shared() and (queue.most, queue.seconds) == (3, 45)
    finally:
        queue.close()


@pytest.mark.parametrize("text", ["", "-1", "many", "1e9", "٣", "99999", "2.5"])
def test_invalid_settings_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_TRAININGS", text)
    monkeypatch.setenv("HEADSCOPE_TRAINING_SECONDS", text if text != "99999" else "0")
    assert training_queue.trainings() == (os.cpu_count() or 2)
    assert training_queue.training_seconds() == training_queue.TIME_LIMIT
