"""Training together: a room shares one run for each experiment, which its starter or the teacher steers."""

import gc
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.frame import room
from pages.runtime import rooms as runtime_rooms
from pages.training import runs, sharing
from pages.training.runs import RECORDED
from tests.fuzz.folders import base
from tests.pages.training.test_page import PAIRS, command, press
from tests.support.app import address, checkpoints, kept, messages, open_link, switch_page
from tests.support.fake_queue import FakeQueue, Run
from transformer.checkpoints.archive import zipped
from transformer.live_training.frames import Frame
from transformer.live_training.presets import PRESETS
from transformer.rooms import Rooms

BASE = PRESETS["reverse"]
FRAME = Frame(0, 0.0, 0.0, None, 4.0, 0.0, 0.0, (), (), b"")
YOU_WATCH = "Your room trains this already: you watch that run."
NOT_YOURS = "Only the one who started this run, or the teacher, can pause or stop it."


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Sessions whose tab is closed; every page of a test is a session of its own."""
    closed: set[str] = set()
    monkeypatch.setattr(runs, "session_id", lambda: st.session_state.setdefault("who", secrets.token_hex(4)))
    monkeypatch.setattr(sharing, "is_connected", lambda session: session not in closed)
    return closed


@pytest.fixture
def code(gone: set[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """Of a room without a teacher's page."""
    monkeypatch.setenv("HEADSCOPE_ROOMS", str(tmp_path / "rooms.sqlite"))
    monkeypatch.setattr(room.WATCH, "sit", lambda *_: None)
    runtime_rooms.rooms.cache_clear()
    yield rooms().open()[0]
    rooms().close()
    runtime_rooms.rooms.cache_clear()


def rooms() -> Rooms:
    return runtime_rooms.rooms()


def student(code: str, **params: str) -> AppTest:
    app = open_link("training", room=code, **params)
    assert not messages(app)
    return app


def teacher() -> AppTest:
    app = press(open_link("lessons"), "hs-room-open")
    return switch_page(app, "training").run()


def watches(app: AppTest) -> list[Run]:
    return [entry.run for entry in kept(app, runs.Runs).watched]


def test_a_class_that_presses_train_has_one_run_for_each_experiment(code: str, queue: FakeQueue) -> None:
    members = [press(student(code)) for _ in range(5)]
    (run,) = queue.runs
    assert [watches(app) for app in members] == [[run]] * 5
    assert [YOU_WATCH in messages(app) for app in members] == [False, True, True, True, True]
    other = press(student(code, heads="2"))
    assert [one.experiment for one in queue.runs] == [BASE, replace(BASE, heads=2)] and not messages(other)
    press(other.number_input("training_heads").set_value(4).run())
    assert watches(other) == [queue.runs[1], run] and YOU_WATCH in messages(other)
    run.frames.append(FRAME)
    for app in members:
        app.run()
    weighed = [key for cache, key in RECORDED.accountant.cache_keys(RECORDED)]
    assert len(weighed) == 2  # a run counts once, whoever watches it


def test_only_its_starter_pauses_and_stops_a_run(code: str, queue: FakeQueue, gone: set[str]) -> None:
    first, second, third = (press(student(code)) for _ in range(3))
    (run,) = queue.runs
    for do in ("pause", "go", "stop"):
        assert NOT_YOURS in messages(command(second, run, do)) and run.told == []
    assert not messages(command(first, run, "pause")) and run.told == ["pause"]
    command(first, run, "remove")  # others watch it
    assert watches(first) == [] and run.told == ["pause"]
    assert not messages(command(second, run, "go")) and run.told == ["pause", "go"]  # the next one steers
    gone.add(second.session_state["who"])
    assert not messages(command(third, run, "stop")) and run.told == ["pause", "go", "stop"]
    press(first)
    assert NOT_YOURS in messages(command(first, run, "stop"))
    command(third, run, "remove")
    assert run.told == ["pause", "go", "stop"]
    command(first, run, "remove")  # nobody watches it any more
    assert run.told == ["pause", "go", "stop", "stop"]


def test_a_run_lives_as_long_as_anybody_watches_it(code: str, gone: set[str]) -> None:
    apps = [press(student(code)) for _ in range(2)]
    (audience,) = {entry.audience for app in apps for entry in kept(app, runs.Runs).watched}
    gone.add(apps[0].session_state["who"])
    assert audience.is_watched()
    gone.add(apps[1].session_state["who"])
    assert not audience.is_watched()


def test_what_the_room_has_trained_is_there_for_all(code: str, queue: FakeQueue) -> None:
    first = press(student(code))
    (run,) = queue.runs
    run.frames.append(FRAME)
    run.end(zipped(base(), "x"))
    second = press(student(code))
    assert watches(second) == [run] and "Your room has trained this already: here is that run." in messages(second)
    assert "mine/reverse" in checkpoints(second.run()) and "mine/reverse" in checkpoints(first.run())
    press(second)  # again: with the next seed, and again one run for both
    press(first)
    assert [one.experiment.seed for one in queue.runs] == [1, 2] and watches(first) == watches(second) == queue.runs


@pytest.mark.parametrize("reason, frames", [("stopped", [FRAME]), ("steps", [])])
def test_a_run_that_shows_less_is_not_shared(code: str, queue: FakeQueue, reason: str, frames: list[Frame]) -> None:
    """One that was stopped, or whose frames the server could not keep."""
    press(student(code))
    queue.runs[0].frames += frames
    queue.runs[0].end(None, reason)
    assert not messages(press(student(code))) and len(queue.runs) == 2


def test_without_a_room_and_in_another_room_everybody_has_runs_of_his_own(code: str, queue: FakeQueue) -> None:
    other = rooms().open()[0]
    apps = [press(open_link("training")), press(open_link("training")), press(student(code))]
    apps.append(press(student(other)))
    assert len(queue.runs) == 4 and not any(messages(app) for app in apps)
    command(apps[1], queue.runs[1], "stop")
    assert [run.told for run in queue.runs] == [[], ["stop"], [], []]


def test_the_teacher_steers_and_those_who_follow_watch(code: str, queue: FakeQueue) -> None:
    app = teacher()
    here = address(app)["room"]
    starter = press(student(here))
    (run,) = queue.runs
    assert watches(student(here)) == []  # a student's run is not the class's
    press(app)
    assert watches(app) == [run] and YOU_WATCH in messages(app)
    assert not messages(command(app, run, "pause")) and run.told == ["pause"]
    assert not messages(command(starter, run, "go")) and run.told == ["pause", "go"]
    follower, stranger = student(here), student(code)
    assert watches(follower) == [run] and watches(stranger) == []
    assert NOT_YOURS in messages(command(follower, run, "stop"))
    command(follower, run, "remove")
    assert watches(follower.run()) == [] and run.told == ["pause", "go"]
    follower.toggle(key="hs-room-follow").set_value(False).run()
    press(app.number_input("training_seed").set_value(9).run())
    assert watches(follower.run()) == []  # looks around
    follower.toggle(key="hs-room-follow").set_value(True).run()
    assert watches(follower) == [queue.runs[1]]


def test_own_pairs_of_the_teacher_reach_nobody(code: str, queue: FakeQueue) -> None:
    app = teacher()
    app.selectbox("training_more").set_value("own").run()
    app.text_area("training_pairs").set_value(PAIRS).run()
    press(app)
    assert len(queue.runs) == 1 and watches(student(address(app)["room"])) == []


def test_a_run_that_nobody_watches_any_more_is_not_kept(code: str, queue: FakeQueue) -> None:
    app = press(student(code))
    queue.runs.clear()
    assert (code, BASE) in sharing._SHARED
    command(app, watches(app)[0], "remove")
    gc.collect()
    assert (code, BASE) not in sharing._SHARED
