"""When a worker counts as hanging, with a clock of the test."""

from __future__ import annotations

from typing import Any

import pytest

from transformer.live_training.idle import Activity, Idle
from transformer.live_training.live_run import Patience


class Watched:
    """An `Idle` that looks every quarter of a second."""

    def __init__(self) -> None:
        self.idle, self.now, self.used, self.heard, self.step = Idle(), 100.0, 3.0, 100.0, 0
        self.look("R")

    def look(self, state: str, may_sleep: bool = False) -> None:
        self.idle.look(self.now, Activity(state, self.used), self.step, self.heard, may_sleep)

    def passes(
        self, seconds: float, state: str, *, load: float = 0.0, beats: bool = False, may_sleep: bool = False
    ) -> None:
        """load: share of a core it uses; beats: it sends messages."""
        for _ in range(int(seconds / 0.25)):
            self.now += 0.25
            self.used += load * 0.25
            self.heard = self.now if beats else self.heard
            self.look(state, may_sleep)


def test_a_stopped_worker_loses_its_place_within_ten_seconds() -> None:
    for beats in (False, True):
        watched = Watched()
        watched.passes(8.0, "T", beats=beats)
        assert watched.idle.asleep == 8.0
    patience = Patience()
    assert patience.asleep + 2 * patience.look < 10 and patience.mute + 2 * patience.look < 10


@pytest.mark.parametrize(
    ("seconds", "state", "how", "asleep", "computed"),
    [
        (60, "R", {}, 0, 0),  # it gets no core
        (60, "D", {}, 0, 0),  # it waits for a disk
        (8, "S", {"load": 0.02, "beats": True}, 8, 0),  # its main thread waits for ever, and its pulse goes on
        (60, "S", {"load": 0.5}, 0, 30),  # asleep at every look, and yet half of the time at work
        (60, "S", {"may_sleep": True}, 0, 0),  # it pauses
        (2, "T", {"may_sleep": True}, 2, 0),  # it was stopped in a pause
        (60, "R", {"load": 1.0, "beats": True}, 0, 0),
        (20, "R", {"load": 0.25}, 0, 5),  # it computes without a message: seconds of a core
    ],
)
def test_what_counts_as_sleep_and_as_computing_without_a_message(
    seconds: float, state: str, how: dict[str, Any], asleep: float, computed: float
) -> None:
    watched = Watched()
    watched.passes(seconds, state, **how)
    assert (watched.idle.asleep, watched.idle.computed) == (asleep, computed)


def test_a_step_work_and_a_message_begin_the_count_again() -> None:
    watched = Watched()
    watched.passes(5, "S")
    watched.step += 1
    watched.passes(1, "S")
    assert watched.idle.asleep == 0.75
    watched.passes(0.25, "R")
    assert watched.idle.asleep == 0
    watched.passes(20, "R", load=0.25)
    watched.passes(0.25, "R", beats=True)
    assert watched.idle.computed == 0


def test_a_server_that_slept_itself_blames_nobody() -> None:
    """A minute between two looks: at most a second of it counts, and messages may lie unread."""
    watched = Watched()
    watched.passes(3, "S")
    watched.now, watched.used = watched.now + 60, watched.used + 30
    watched.look("R")
    assert watched.idle.asleep == 0 and watched.idle.computed == 0
    watched.now += 60
    watched.look("S")
    assert watched.idle.asleep == 1
