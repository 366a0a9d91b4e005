"""The line before the workers, its limits, and that nothing is left of a worker however it ends."""

from __future__ import annotations

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

from tests.support.workshops import LONG, Fake, Start, ended, here, trains, until, workers
from transformer.live_training import workshop
from transformer.live_training.live_run import LiveRun
from transformer.live_training.workshop import MOST_PER_VIEWER, MOST_WAITING, WorkshopError

pytestmark = pytest.mark.slow  # starts processes


# -- a run that goes well ---------------------------------------------------------------------------------------------


def test_a_run_from_beginning_to_end(start: Start) -> None:
    shop = start()
    run = shop.begin(Fake(steps=7), here)
    assert run.stage in ("starting", "training", "done") and run.place == 0 and len(run.id) == 12
    ended(run)
    assert (run.stage, run.reason, run.error, run.result, run.step) == ("done", "steps", "", b"zip of 7", 7)
    assert run.opening is not None and run.opening.target_out == ("b", "</s>") and run.limit == 1e5
    assert [frame.step for frame in run.frames] == list(range(8))
    assert all(set(frame.weights) == {frame.step} for frame in run.frames) and run.frames[3].outputs == ("b", "x")
    assert shop.running == shop.waiting == 0 and not workers()


def test_two_thousand_pairs_reach_a_worker_that_starts_slowly(start: Start) -> None:
    """More than fits into a pipe: nobody may wait for it but the run's own thread."""
    shop = start(behaviour="slow")
    run = shop.begin(Fake(more="\N{SNOWMAN}" * 500_000), here)
    assert run.stage == "starting"
    ended(run)
    assert run.reason == "steps"


def test_the_workshop_does_not_keep_ended_runs(start: Start) -> None:
    """Nor what knew their viewer: a session's memory would stay with it."""

    class Session:
        def alive(self) -> bool:
            return True

    shop, session = start(most=2), Session()
    runs = [shop.begin(Fake(), session.alive) for _ in range(5)]
    held = [weakref.ref(run) for run in runs] + [weakref.ref(session)]
    ended(*runs)
    other = shop.begin(LONG, here)  # threads and processes go on
    del session
    gc.collect()
    assert held[-1]() is None
    del runs
    gc.collect()
    until(lambda: all(one() is None for one in held))
    assert other.stage != "done"


# -- the line ---------------------------------------------------------------------------------------------------------


def test_first_come_first_served(start: Start) -> None:
    shop = start(most=2)
    runs = [shop.begin(LONG, here) for _ in range(6)]
    assert [run.place for run in runs] == [0, 0, 1, 2, 3, 4]
    assert [run.stage for run in runs[2:]] == ["waiting"] * 4 and (shop.running, shop.waiting) == (2, 4)
    runs[4].stop()  # from the midst of the line
    assert (runs[4].stage, runs[4].reason, runs[4].place) == ("done", "stopped", 0)
    assert [run.place for run in runs] == [0, 0, 1, 2, 0, 3] and shop.waiting == 3
    for number, (leaving, following) in enumerate(((1, 2), (0, 3), (2, 5))):
        trains(runs[leaving])
        runs[leaving].stop()
        ended(runs[leaving])
        trains(runs[following])
        assert (runs[leaving].reason, runs[leaving].result) == ("stopped", b"zip")
        assert (shop.running, shop.waiting) == (2, 2 - number)
    assert [run.place for run in runs] == [0] * 6


def test_a_free_slot_means_no_wait_and_a_first_run_waits_less_than_a_second(start: Start) -> None:
    shop = start(seconds=50)
    assert shop.wait("a") == 0
    run = shop.begin(Fake(steps=100_000, pause=0.01), here, "a")
    trains(run)
    waiting = [shop.begin(LONG, here, "b") for _ in range(3)]
    until(lambda: run.seconds > 0.1 and shop.wait("c"))
    soon, late = shop.wait("c") or 0.0, shop.wait("a") or 0.0
    assert 0 < soon < late and waiting[0].place == 1
    first, second, third = (one.wait or 0.0 for one in waiting)
    assert 0 < first < second < third and run.left is not None and 0 < run.left < (run.total or 0.0)
    assert run.total is not None and run.total < 0.02 * 100_000  # its time is over after 50 s of a core, step 5,000


def test_a_full_queue_refuses_runs_with_a_message(start: Start) -> None:
    shop = start()
    for _ in range(1 + MOST_WAITING):
        shop.begin(LONG, here)
    with pytest.raises(
        WorkshopError, match=rf"^the queue is full, {MOST_WAITING} runs are waiting; try again in a few minutes$"
    ):
        shop.begin(LONG, here)
    assert (shop.running, shop.waiting) == (1, MOST_WAITING)


def test_the_runs_of_one_viewer_are_limited(start: Start) -> None:
    shop = start()
    runs = [shop.begin(LONG, here, viewer="a") for _ in range(MOST_PER_VIEWER)]
    with pytest.raises(
        WorkshopError, match=f"^you already have {MOST_PER_VIEWER} runs, the limit for one viewer; stop one"
    ):
        shop.begin(LONG, here, viewer="a")
    assert shop.begin(LONG, here, viewer="b").place == 1  # one of "a" trains already
    runs[2].stop()
    assert shop.begin(LONG, here, viewer="a").place == MOST_PER_VIEWER


def test_one_address_cannot_fill_the_queue(start: Start) -> None:
    """Second runs get a third of the queue, first runs half of it; a viewer of another address is the next."""
    shop = start()

    def begin(*viewers: int) -> None:
        for viewer in viewers:
            shop.begin(LONG, here, viewer, "192.0.2.1")

    begin(*range(1 + MOST_WAITING // 3))  # one trains
    with pytest.raises(
        WorkshopError, match=f"^{MOST_WAITING // 3} runs from your network address are waiting already; try"
    ):
        begin(0)
    begin(*range(1 + MOST_WAITING // 3, 1 + MOST_WAITING // 2))
    with pytest.raises(WorkshopError, match=f"^{MOST_WAITING // 2} runs from your network address"):
        begin(MOST_WAITING)
    assert shop.begin(LONG, here, "v", "192.0.2.2").place == 1
    assert shop.begin(LONG, here, "w").place == 2


def test_a_server_without_trainings_refuses_runs(start: Start) -> None:
    shop = start(most=0)
    shop.prepare()
    with pytest.raises(WorkshopError, match=r"^training is switched off on this server; .* headscope --trainings N$"):
        shop.begin(Fake(), here)
    assert not workers()


def test_a_closed_workshop_refuses_runs(start: Start) -> None:
    shop = start()
    runs = [shop.begin(LONG, here) for _ in range(3)]
    shop.prepare()
    shop.close()
    assert [run.reason for run in runs] == ["left"] * 3 and not workers()
    shop.prepare()
    with pytest.raises(WorkshopError, match="^the server is shutting down"):
        shop.begin(LONG, here)


# -- viewers who leave ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["starting", "training", "paused", "waiting"])
def test_a_viewer_who_leaves_gives_up_the_run(start: Start, stage: str) -> None:
    shop, there = start(behaviour="unread" if stage == "starting" else "well"), threading.Event()
    there.set()
    if stage == "waiting":
        first = shop.begin(LONG, here)
    run = shop.begin(LONG, there.is_set)
    behind = shop.begin(LONG, here)
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
        assert behind.place == 1 and not first.ended
    else:
        until(lambda: behind.stage == ("starting" if stage == "starting" else "training"))


def test_a_viewer_who_returns_in_time_keeps_the_run(start: Start) -> None:
    """Away for a moment, as a browser that lost its connection; and a question that fails is no answer."""
    shop, asked = start(gone=0.5), 0

    def alive() -> bool:
        nonlocal asked
        asked += 1
        if asked % 3 == 0:
            raise RuntimeError("no such session")
        return asked % 3 == 1

    run = shop.begin(LONG, alive)
    until(lambda: asked > 60)
    assert not run.ended


# -- limits -----------------------------------------------------------------------------------------------------------


def test_the_time_limit_is_the_workers(start: Start) -> None:
    run = start(seconds=0.25).begin(Fake(steps=90), here)
    ended(run)
    assert (run.stage, run.reason, run.result, run.limit) == ("done", "time", b"zip", 0.25) and run.step == 26


def test_a_worker_that_exceeds_the_limit_is_stopped_with_its_model(start: Start) -> None:
    run = start(seconds=50).begin(LONG, here)
    trains(run)
    run.limit = -1e6  # both bounds of the server's own are behind it
    ended(run)
    assert (run.stage, run.reason, run.result) == ("done", "time", b"zip")


@pytest.mark.parametrize("late", [True, False])
def test_a_worker_that_does_not_stop_is_ended(start: Start, late: bool) -> None:
    run = start(behaviour="deaf", stop=0.1).begin(Fake(steps=100, at=3), here)
    until(lambda: len(run.frames) == 3)
    if late:
        run.limit = -1e6
    else:
        run.stop()
    ended(run)
    assert (run.stage, run.reason, run.result) == ("done", "time" if late else "stopped", None)
    assert len(run.frames) == 3


def test_a_pause_holds_and_ends(start: Start) -> None:
    run = start(pause=0.4).begin(LONG, here)
    trains(run)
    assert 0.3 < run.pause_left <= 0.4
    run.pause()
    run.pause()
    assert run.stage == "paused"
    run.go_on()
    assert run.stage == "training"
    run.pause()
    until(lambda: run.stage == "training")  # by itself
    assert run.pause_left == 0
    run.pause()
    assert run.stage == "training"
    seen = len(run.frames)
    until(lambda: len(run.frames) > seen + 3)


def test_pauses_without_end_fill_no_pipe(start: Start) -> None:
    run = start(behaviour="deaf").begin(Fake(steps=10, at=3), here)
    until(lambda: len(run.frames) == 3)
    for _ in range(5000):
        run.pause()
        run.go_on()
    assert run.pause_left == 0 and run.stage == "training"
    run.stop()


# -- one that was started ahead ---------------------------------------------------------------------------------------


def test_a_worker_is_started_ahead_once_and_used(start: Start) -> None:
    shop = start(most=2)
    for _ in range(5):
        shop.prepare()
    until(lambda: shop._spare is not None)
    (ahead,) = workers()
    run = shop.begin(LONG, here)
    trains(run)
    assert run._worker is not None and run._worker.pid == ahead
    until(lambda: shop._spare is not None)  # somebody still has the page open
    assert len(workers()) == 2


def test_an_unused_worker_ends(start: Start) -> None:
    shop = start(unused=0.3)
    shop.prepare()
    until(lambda: shop._spare is not None)
    until(lambda: not workers() and shop._checker is None)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_dead_or_stopped_spare_worker_is_not_used(start: Start, how: signal.Signals) -> None:
    shop = start()
    shop.prepare()
    until(lambda: shop._spare is not None)
    spare = shop._spare
    assert spare is not None
    os.kill(spare.pid, how)
    until(lambda: not spare.alive() or spare.stopped())
    run = shop.begin(Fake(), here)
    ended(run)
    assert run.reason == "steps"


def test_a_waiting_viewer_has_a_spare_worker(start: Start) -> None:
    shop = start()
    first, second = shop.begin(LONG, here), shop.begin(LONG, here)
    trains(first)
    until(lambda: shop._spare is not None)
    spare = shop._spare
    assert spare is not None and len(workers()) == 2
    first.stop()
    trains(second)
    assert second._worker is spare
    until(lambda: len(workers()) == 1)


# -- at any moment ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 6))])
def test_anything_at_any_moment(start: Start, seed: int) -> None:
    """Two hundred things that people and the system do, in any order: every run ends as one of those that can be, none
    keeps a place, and (the fixture) nothing is left."""
    rng = random.Random(seed)
    shop = start(most=2, gone=0.05, pause=0.2, unused=0.1, look=0.01)
    runs: list[LiveRun] = []
    left: set[int] = set()

    def begin() -> None:
        number = len(runs)
        fake = Fake(steps=rng.choice((0, 1, 5, 100_000)), pause=rng.choice((0.0, 0.01)))
        runs.append(shop.begin(fake, lambda: number not in left))

    def kill() -> None:
        processes = list(workers())
        with contextlib.suppress(ProcessLookupError, IndexError):  # gone since it was listed; there is none
            os.kill(rng.choice(processes), rng.choice((signal.SIGTERM, signal.SIGKILL)))

    def leave() -> None:
        left.add(rng.randrange(len(runs)))

    def wait() -> None:
        time.sleep(rng.choice((0.0, 0.001, 0.01, 0.05)))

    begin()
    deeds: list[Callable[[], None]] = [begin, wait, wait, shop.prepare, leave]
    deeds += [lambda name=name: getattr(rng.choice(runs), name)() for name in ("pause", "go_on", "stop")]  # type: ignore[misc]
    deeds += [kill] if os.name == "posix" else []
    for _ in range(200):
        rng.choice(deeds)()
        assert shop.running <= 2 and len(workers()) <= 3
        assert sorted(run.place for run in runs if run.stage == "waiting") == list(range(1, shop.waiting + 1))
    left.update(range(len(runs)))
    ended(*runs)
    assert {run.reason for run in runs} <= {"steps", "stopped", "left", "died"}
    assert all(run.result is None or run.reason in ("steps", "stopped") for run in runs)
    until(lambda: shop.running == 0 and shop.waiting == 0)


# -- the one of the process -------------------------------------------------------------------------------------------


def test_a_process_has_one_workshop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workshop, "_shared", [])
    monkeypatch.setenv("HEADSCOPE_TRAININGS", "3")
    monkeypatch.setenv("HEADSCOPE_TRAINING_SECONDS", "45")
    shop = workshop.shared()
    try:
        assert shop is workshop.shared() and (shop.most, shop.seconds) == (3, 45)
    finally:
        shop.close()


@pytest.mark.parametrize("text", ["", "-1", "many", "1e9", "٣", "99999", "2.5"])
def test_invalid_settings_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_TRAININGS", text)
    monkeypatch.setenv("HEADSCOPE_TRAINING_SECONDS", text if text != "99999" else "0")
    assert workshop.trainings() == (os.cpu_count() or 2) and workshop.training_seconds() == workshop.TIME_LIMIT
